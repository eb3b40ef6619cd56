"""Whether an agent can be taught, and by which teacher: measured on the agent alone.

Nothing here uses an instance or another client: the agent is shown constants, as a teacher that learns shows them,
and then a target that is worth something among arms that are not, as a teacher that has decided does.  What is
measured are the quantities of the theorems: eta, how evenly it pulls arms that all show one constant (Shi et al.,
Definition uniform_exploration), and iota, its pulls of other arms after such a history (warm_start_pulls).

Half of the runs give the curves, the other half how often an independent run lies outside of them anywhere, with a
Clopper-Pearson limit.  The theorems need the curves beyond what was measured: eta and iota are taken to go on as
straight lines, which :class:`AgentCheck` says wherever it gives a bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.agents import AgentMaker
from tutelage.agents.agent_policy import AgentPolicy
from tutelage.agents.base import Agent, describe_choice, read_arm
from tutelage.code_errors import describe_code_error
from tutelage.engine.agent_group import seeded_globally
from tutelage.errors import InputError
from tutelage.inference import interval_of_share
from tutelage.measurement.agent_verdicts import AgentMeasures, AgentVerdict, History, Sharing, judge
from tutelage.seeding import REWARDS, agent_seed, client_generator
from tutelage.theory import arguments
from tutelage.theory.setting import TheorySetting

_HISTORY = 20  # constants of each arm before the others become worthless
_WINDOW = 1500  # rounds after it in which pulls of other arms are counted
_READING_ROUNDS = 300


@dataclass(frozen=True, eq=False)
class AgentCheck:
    """What was measured on an agent, and a verdict for each teacher.

    ``measures`` has the figures, ``verdicts`` the answer for each teacher in a federation as in ``setting``.
    """

    agent: str
    setting: TheorySetting
    measures: AgentMeasures
    verdicts: tuple[AgentVerdict, ...]

    def summary(self) -> dict[str, Any]:
        """Return the figures and verdicts as plain values."""
        return {
            "agent": self.agent,
            "horizon": self.setting.horizon,
            **self.measures.summary(),
            "teachers": [vars(each) for each in self.verdicts],
        }


@dataclass
class _Player:
    """Makes agents and plays them; ``num_arms`` is K."""

    policy: AgentPolicy
    num_arms: int
    seed: int
    refused: str = field(default="", init=False)

    def play(self, run: int, phases: Sequence[tuple[int, Callable[[int], float]]], arms: int = 0) -> NDArray[np.int64]:
        """Return the arms of all rounds; each phase has a number of rounds and the reward of an arm."""
        seed, chosen, num_arms = agent_seed(self.seed, run, 0), [], arms or self.num_arms
        with seeded_globally(seed):
            agent: Agent = self.policy.make_agent(num_arms, seed)
            for rounds, reward_of in phases:
                for _ in range(rounds):
                    selected = agent.select()
                    arm = read_arm(selected, num_arms)
                    if arm < 0:
                        raise InputError(f"The agent {self.policy.make} {describe_choice(selected, num_arms)}.")
                    agent.update(arm, reward_of(arm))
                    chosen.append(arm)
        return np.array(chosen)


def check_agent(
    make: str | AgentMaker,
    *,
    arms: int = 5,
    rounds: int = 300,
    runs: int = 20,
    gamma: float = 0.5,
    clients: int = 5,
    gap: float = 0.2,
    best_mean: float = 0.7,
    horizon: int = 50_000,
    seed: int = 0,
) -> AgentCheck:
    """Measure whether an agent can be taught, and by which teacher.

    ``make`` is a maker, or its name ``package.module:function``, or the SPEC of a policy.  The agent plays ``arms``
    arms for ``rounds`` rounds in each of ``runs`` runs under each constant.  The bounds are those of ``clients`` such
    agents with arms of these means: ``best_mean``, and ``gap`` below it.

    Raises ``InputError`` for numbers out of range, and where the agent fails on rewards of 0 and 1.
    """
    arms, clients = arguments.whole("number of arms", arms, 2), arguments.whole("number of clients", clients, 1)
    rounds, runs = arguments.whole("number of rounds", rounds, 10 * arms), arguments.whole("number of runs", runs, 2)
    gamma, gap = arguments.real("gamma", gamma), arguments.real("gap", gap, arguments.LEAST_GAP)
    best_mean = arguments.real("mean of the best arm", best_mean, gap)
    horizon = arguments.rounds("horizon", horizon)
    policy = AgentPolicy(make) if isinstance(make, str) else AgentPolicy.of(make)
    player = _Player(policy, arms, seed)
    means = np.full((clients, arms), best_mean - gap)
    means[:, 0] = best_mean
    gaps = np.full(arms, gap)
    gaps[0] = 0.0
    setting = TheorySetting(means, (1.0 / clients,) * clients, gaps, 0, horizon)
    measures = _measure(player, rounds, runs, gamma, best_mean)
    return AgentCheck(policy.make, setting, measures, judge(measures, setting))


def _measure(player: _Player, rounds: int, runs: int, gamma: float, best_mean: float) -> AgentMeasures:
    try:
        zeros, ones = (_share(player, constant, rounds, runs) for constant in (0.0, 1.0))
    except InputError:
        raise
    except Exception as error:
        reason = describe_code_error(error, player.policy.function)
        raise InputError(f"The agent {player.policy.make} failed: {reason}.") from error
    reading = _read_fraction(player, runs)
    takes_fractions = not reading.startswith("refused")
    sharings = [zeros, ones]
    if takes_fractions and 0.0 < gamma < 1.0:
        sharings.insert(1, _share(player, gamma, rounds, runs))
    histories = tuple(_lead(player, each.constant, best_mean, max(1, runs // 2)) for each in sharings)
    first, again = (player.play(0, [(rounds, lambda arm: 0.0)]) for _ in range(2))
    return AgentMeasures(tuple(sharings), histories, reading, bool(np.array_equal(first, again)))


def _share(player: _Player, constant: float, rounds: int, runs: int) -> Sharing:
    """Show one constant on all arms, and count pulls after each tau."""
    chosen = np.array([player.play(run, [(rounds, lambda arm: constant)]) for run in range(runs)])
    counts = np.cumsum(chosen[:, :, None] == np.arange(player.num_arms), axis=1)
    has_one_order = bool((chosen == chosen[0]).all())
    return Sharing(constant, counts.min(axis=2), counts.max(axis=2), counts[:, -1], has_one_order)


def _lead(player: _Player, constant: float, best_mean: float, runs: int) -> History:
    """Show a constant, then 0 on all arms but arm 0, whose rewards are 0 and 1; count pulls of the others."""
    each, together, late, curves = [], [], [], []
    history = _HISTORY * player.num_arms
    for run in range(runs):
        rewards = client_generator(player.seed, run, 0, REWARDS)

        def reward_of(arm: int, rewards: np.random.Generator = rewards) -> float:
            return float(arm == 0 and rewards.random() < best_mean)

        chosen = player.play(run, [(history, lambda arm: constant), (_WINDOW, reward_of)])[history:]
        counts = np.bincount(chosen, minlength=player.num_arms)[1:]
        each.append(counts.max() / _HISTORY)
        together.append(counts.sum() / _HISTORY)
        curves.append(np.cumsum(chosen != 0))
        late.append(np.count_nonzero(chosen[-_WINDOW // 4 :]) / (_WINDOW // 4))
    return History(constant, np.array(each), np.array(together), np.array(late), np.array(curves), _HISTORY)


def _half_against(mean: float, at: int, rewards: np.random.Generator) -> Callable[[int], float]:
    """Return the reward of an arm: 0.5 of one, and 0 or 1 with this mean of the others."""
    return lambda arm: 0.5 if arm == at else float(rewards.random() < mean)


def _read_fraction(player: _Player, runs: int) -> str:
    """Return what the agent makes of a reward of 0.5, by its choice between it and arms of 0 and 1.

    Against an arm of mean 0.8 who reads 0.5 as it is prefers the other, and so does who reads it as 0; against an
    arm of mean 0.2 who reads it as it is prefers 0.5, and so does who reads it as 1.  The arms change places from run
    to run, so that an agent that prefers an index is not taken for one that reads.
    """
    preferred = []
    try:
        for mean in (0.8, 0.2):
            half = 0
            for run in range(runs):
                rewards = client_generator(player.seed, run, 0, REWARDS)
                reward_of = _half_against(mean, run % 2, rewards)
                chosen = player.play(run, [(_READING_ROUNDS, reward_of)], arms=2)
                half += int(np.count_nonzero(chosen[_READING_ROUNDS // 2 :] == run % 2) > _READING_ROUNDS // 4)
            low, high = interval_of_share(half, runs)
            preferred.append(1 if low > 0.5 else -1 if high < 0.5 else 0)
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a reward that it does not take
        return f"refused: {' '.join(str(error).split()) or type(error).__name__}"
    return {(-1, 1): "as it is", (1, 1): "as 1", (-1, -1): "as 0"}.get((preferred[0], preferred[1]), "unclear")
