"""A client on its own, for tests of policies."""

import numpy as np

from tutelage.engine.kernels import compiled
from tutelage.engine.memory import Shown, new_memory, show
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner
from tutelage.seeding import POLICY, client_generator, client_streams


class Client:
    """One client on its own: chooses, is shown a reward, learns; interpreted or compiled."""

    def __init__(self, spec, num_arms, seed=0, *, compile_it=False, spare=0):
        self.policy = POLICIES.parse(spec)
        size = self.policy.state_size(num_arms) + spare
        self.memory = new_memory(num_arms, 0, size, client_streams(seed, 0, 1))
        self.shown = Shown(*(getattr(self.memory, name)[0] for name in Shown._fields))
        self.learner = Learner(self.shown.counts, self.shown.means, self.memory.states[0])
        self.parameters = np.array([*self.policy.parameters(), 0.0])
        wrap = compiled if compile_it else _as_it_is
        self.choose, self.learn, self.show = wrap(self.policy.choose), wrap(self.policy.learn), wrap(show)
        self.stream = self.memory.streams[0, POLICY] if compile_it else client_generator(seed, 0, 0, POLICY)
        if not compile_it:  # a policy may write its state and nothing else
            self.learner = self.learner._replace(
                counts=_read_only(self.learner.counts), means=_read_only(self.learner.means)
            )
            self.parameters.flags.writeable = False

    def pick(self, round):
        """The arm of a round."""
        return self.choose(round, self.learner, self.parameters, self.stream)

    def take(self, arm, reward):
        """A revealed reward."""
        self.show(self.shown, arm, reward)
        self.learn(arm, reward, self.learner, self.parameters, self.stream)

    def play(self, rounds, reward_of):
        """The arms of this many rounds from the start; ``reward_of(arm)`` is what the client is shown."""
        arms = []
        for round in range(1, rounds + 1):
            arm = self.pick(round)
            assert arm in range(len(self.shown.counts))
            self.take(arm, reward_of(arm))
            arms.append(arm)
        return arms


def _as_it_is(function):
    return function


def _read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def words_of(generator):
    """The four SFC64 words of a generator."""
    return generator.bit_generator.state["state"]["state"].tolist()


def choices(spec, num_arms, histories, trials=20_000):
    """How often each arm is chosen next, again and again from where these rewards have led."""
    client = Client(spec, num_arms)
    for step in range(max(len(rewards) for rewards in histories)):
        for arm, rewards in enumerate(histories):
            if step < len(rewards):
                client.take(arm, rewards[step])
    round = sum(len(rewards) for rewards in histories) + 1
    before, counts = client.memory.states.copy(), [0] * num_arms
    for _ in range(trials):
        counts[client.pick(round)] += 1
        client.memory.states[:] = before
    return counts
