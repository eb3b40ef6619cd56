"""A campaign in memory: what it has seen, what its teacher has published, and the step from one to the next.

A step is what one request brings: all its new pulls are observed, in order; then the teacher is consulted if
its quota is met, at most once; then all are revealed, in order, each under the directive that now holds.  A
request with one pull of every client is a round of the paper, and a campaign driven so gives the lab's
rewards bit for bit.

Nothing here knows of disks or requests.  What a step changes is lost with the object: whoever stores a
campaign loads it anew when that fails.

Shapes: M clients, K arms, J cuts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.rules import KEEP, OFF_TARGET, SET_KIND, cost
from tutelage.seeding import teacher_generator
from tutelage.service.campaigns.client_memory import (
    ClientMemory,
    StoredClient,
    plain_rule_arrays,
    restored_client,
)
from tutelage.service.campaigns.evidence import Collected, StoredEvidence
from tutelage.service.campaigns.scale import RewardScale
from tutelage.teachers.base import (
    Directive,
    Evidence,
    Problem,
    Report,
    Teacher,
    decode_state,
    encode_state,
)
from tutelage.teachers.checks import ask, ask_directive, ask_report, ask_segments


@dataclass(frozen=True)
class CampaignSetup:
    """What a campaign is and stays: its teacher and problem, the scale of its rewards, the teacher's seed."""

    teacher: Teacher
    problem: Problem
    scale: RewardScale
    seed: int = 0


class Pull(NamedTuple):
    """A client's pull of an arm, both by number, with the reward in the sender's units.

    ``bypassed``: the client has been shown that reward itself, as nobody could wait for an answer.  This and
    an answer are named tuples and no dataclasses, as they are made in a third of the time.
    """

    client: int
    arm: int
    reward: float
    bypassed: bool = False


class Answer(NamedTuple):
    """The reward to show, in the sender's units.

    ``directive`` is 1 + the consultations before; ``number`` the pulls of this arm by this client, this one
    included.
    """

    reward: float
    directive: int
    number: int


@dataclass(frozen=True, eq=False)
class Decision:
    """What a teacher was told, evidence or who excluded, its state after it, and what it published."""

    evidence: Evidence | None
    excluded: int | None
    state: Any
    directive: Directive


@dataclass(frozen=True, eq=False)
class Step:
    """The answers to the pulls of a step, in their order, and the decision that was made in it, if any."""

    answers: tuple[Answer, ...]
    decision: Decision | None


class StoredState(msgspec.Struct):
    """A campaign as bytes.  What follows from its setup is left out, and what its teacher has published."""

    rounds: list[int]
    pulls: bytes
    excluded: list[int]
    consultations: int
    restarts: int
    state: str
    target: int | None
    collected: StoredEvidence
    clients: list[StoredClient]


class Campaign:
    """A campaign that takes steps."""

    def __init__(self, setup: CampaignSetup) -> None:
        self.setup = setup
        problem = setup.problem
        self.cuts = ask_segments(setup.teacher, problem)
        size = (problem.num_clients, problem.num_arms)
        self.rounds = [0] * problem.num_clients  # pulls of each client, those beyond the horizon too
        self.counts = [[0] * size[1] for _ in range(size[0])]  # of them, by arm
        self.excluded: list[int] = []
        self.consultations = self.restarts = 0
        self.collected = Collected(problem, self.cuts)
        self.clients = [ClientMemory(problem.num_arms) for _ in range(problem.num_clients)]
        self.target: int | None = None
        self.state = ask(setup.teacher, "begin", problem, teacher_generator(setup.seed, 0))
        self._publish(())

    @property
    def round(self) -> int:
        """The campaign's round: the most pulls that a client has made."""
        return max(self.rounds)

    @property
    def beyond_horizon(self) -> int:
        """The pulls behind their clients' last round, which are no evidence."""
        return sum(max(0, rounds - self.setup.problem.horizon) for rounds in self.rounds)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """All pulls of each client and arm, [M, K]; a copy."""
        return np.array(self.counts, dtype=np.int64)

    @property
    def cost(self) -> float:
        """The sum of all adjustments, in units of [0, 1], client by client."""
        return sum(client.cost for client in self.clients)

    def report(self) -> Report:
        """Where the teacher stands."""
        return ask_report(self.setup.teacher, self.state)

    def step(self, pulls: Sequence[Pull]) -> Step:
        """Observe these pulls, consult if that is due, and reveal them."""
        horizon, observe = self.setup.problem.horizon, self.collected.observe
        rounds, counts = self.rounds, self.counts
        unit = self.setup.scale.to_units([pull.reward for pull in pulls])
        numbers: list[int] = []
        observed: list[tuple[int, int, float]] = []
        for (client, arm, _, _), reward in zip(pulls, unit, strict=True):
            round = rounds[client] = rounds[client] + 1
            number = counts[client][arm] = counts[client][arm] + 1
            numbers.append(number)
            if round <= horizon:
                observe(client, arm, reward)
                observed.append((client, arm, reward))
        decision = None
        if observed and self.collected.is_due():  # behind the horizon the last directive holds
            evidence = self.collected.take()
            self.state = ask(self.setup.teacher, "advance", self.state, evidence)
            self.consultations += 1
            self._publish(observed)
            decision = Decision(evidence, None, self.state, self.directive)
        return Step(tuple(self._reveal(pulls, unit, numbers)), decision)

    def exclude(self, client: int) -> Decision:
        """Go on as if this client had never been evidence; it is still taught.  Raises ``InputError``."""
        if why := self.stays(client):
            raise InputError(f"Client {client} {why}.")
        self.state = ask(self.setup.teacher, "exclude", self.state, client)
        self.excluded.append(client)
        self.collected.exclude(client)
        self._publish(())
        return Decision(None, client, self.state, self.directive)

    def stays(self, client: int) -> str | None:
        """Why a client cannot be excluded, as the rest of a sentence; None if it can."""
        if client in self.excluded:
            return "has excluded already"
        if len(self.excluded) == len(self.clients) - 1:
            return "is the last one whose pulls count, and cannot be excluded"
        return None

    def correct(self, pull: Pull, shown: float, number: int) -> None:
        """Take back an adjustment that never reached its client: it was shown the reward, not ``shown``.

        ``number`` is the pull's among those of its client and arm: what was forgotten at a restart of the
        evidence cannot be corrected, but for its cost.
        """
        scale, client = self.setup.scale, self.clients[pull.client]
        observed, revealed = scale.to_unit(pull.reward), scale.to_unit(shown)
        if number > self.counts[pull.client][pull.arm] - client.pulls[pull.arm]:
            client.revealed[pull.arm] += observed - revealed
        client.cost -= cost(observed, revealed)

    def dump(self) -> bytes:
        """Everything that steps have made of this campaign; :func:`restored` reads it back."""
        return msgspec.msgpack.encode(
            StoredState(
                rounds=self.rounds,
                pulls=self.pulls.tobytes(),
                excluded=self.excluded,
                consultations=self.consultations,
                restarts=self.restarts,
                state=encode_state(self.state),
                target=self.target,
                collected=self.collected.dump(),
                clients=[client.dump() for client in self.clients],
            )
        )

    def publish_again(self) -> None:
        """Take the directive of the state that was put in place."""
        self._publish(())

    def _publish(self, recent: Sequence[tuple[int, int, float]]) -> None:
        """Take the directive; ``recent`` is this step's evidence, with which it may begin anew."""
        directive = ask_directive(self.setup.teacher, self.setup.problem, self.state)
        if directive.restarts > self.restarts:
            self.restarts = directive.restarts
            self.collected.begin_anew()
            self.clients = [ClientMemory(self.setup.problem.num_arms, client.cost) for client in self.clients]
            for number, arm, reward in recent:
                self.collected.observe(number, arm, reward)
        self.directive: Directive = directive
        told = (directive.active_arms, directive.leading_arm, directive.target)
        self.rule_arrays = plain_rule_arrays(directive.rules, *told)
        self.keeping_rule_arrays = plain_rule_arrays((KEEP,) * self.setup.problem.num_arms, *told)
        self.collected.await_quota(directive.quota)
        if directive.target != self.target:
            self.target = directive.target
            for client in self.clients:
                client.rule_state[OFF_TARGET] = 0.0

    def _reveal(
        self, pulls: Sequence[Pull], unit: Sequence[float], numbers: Sequence[int]
    ) -> Iterator[Answer]:
        """The answers to these pulls; ``unit`` are their rewards in [0, 1]."""
        directive, clients, to_sender = 1 + self.consultations, self.clients, self.setup.scale.to_sender
        for (client, arm, sent, bypassed), reward, number in zip(pulls, unit, numbers, strict=True):
            rule_arrays = self.keeping_rule_arrays if bypassed else self.rule_arrays
            value = clients[client].reveal(rule_arrays, arm, reward)
            is_kept = value == reward and rule_arrays.kinds[arm] != SET_KIND
            yield Answer(sent if is_kept else to_sender(value), directive, number)


def restored(setup: CampaignSetup, content: bytes) -> Campaign:
    """The campaign that :meth:`Campaign.dump` wrote."""
    kept = msgspec.msgpack.decode(content, type=StoredState)
    campaign = Campaign(setup)
    campaign.rounds, campaign.excluded = kept.rounds, kept.excluded
    size = (setup.problem.num_clients, setup.problem.num_arms)
    counts: list[list[int]] = np.frombuffer(kept.pulls, dtype=np.int64).reshape(size).tolist()
    campaign.counts = counts
    campaign.consultations, campaign.restarts, campaign.target = (
        kept.consultations,
        kept.restarts,
        kept.target,
    )
    campaign.state = decode_state(setup.teacher, kept.state)
    campaign.collected.load(kept.collected)
    campaign.clients = [restored_client(client) for client in kept.clients]
    campaign.publish_again()
    return campaign
