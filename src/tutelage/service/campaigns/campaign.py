"""A campaign in memory: what it has observed, what its teacher has published, and the step between the two.

A step is what one request brings: all its new pulls are observed, in order; then the teacher is consulted, at
most once, if its quota is met; then all are revealed, in order, each under the directive that now holds.  A
request with one pull of every client is a round of the paper, and a campaign driven so reveals the simulator's
rewards bit for bit.

This module knows no disk and no request.  A failed step leaves the object in an undefined state: load the
campaign again.

Shapes: M clients, K arms, J cuts.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.rule_memory import OFF_TARGET, RuleArrays, RuleMemory, state_size
from tutelage.rules import KEEP, NO_ROUNDING, SET_KIND, Rule, cost, make_rule_arrays, reveal, round_reveal
from tutelage.seeding import rounding_key, teacher_generator
from tutelage.service.campaigns.evidence import CollectedEvidence
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher
from tutelage.teachers.checks import ask, ask_directive, ask_report, ask_segments
from tutelage.text import format_exact


@dataclass(frozen=True)
class RewardScale:
    """The range [low, high] of rewards in the sender's units, and its map to [0, 1].

    Raises ``InputError`` for an invalid range.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        span = f"{format_exact(self.low)} to {format_exact(self.high)}"
        if not (math.isfinite(self.low) and math.isfinite(self.high - self.low)):
            raise InputError(f"Invalid range of rewards {span}: both ends must be finite.")
        if not self.low < self.high:
            raise InputError(f"Invalid range of rewards {span}: low must be less than high.")

    def to_unit(self, reward: float) -> float:
        """Map a reward of the sender to [0, 1]."""
        return min(1.0, max(0.0, (reward - self.low) / (self.high - self.low)))

    def to_units(self, rewards: Sequence[float]) -> Sequence[float]:
        """Map rewards of the sender, all within [low, high], to [0, 1]."""
        if (self.low, self.high) == (0.0, 1.0):
            return rewards
        return [self.to_unit(reward) for reward in rewards]

    def to_sender(self, value: float) -> float:
        """Map a reward in [0, 1] to the sender's units, within [low, high].

        Not for a reward that its rule kept: that is exactly the number that was sent.
        """
        return min(self.high, max(self.low, self.low * (1.0 - value) + self.high * value))


class ClientMemory:
    """One client's pulls, observed and revealed sums of each arm, rule state, and cost in units of [0, 1].

    These are the simulator's rule memory as lists, which are changed in a third of the time of arrays.
    """

    __slots__ = ("cost", "memory", "observed", "pulls", "revealed", "rule_state")

    def __init__(self, num_arms: int, cost: float = 0.0) -> None:
        self.pulls, self.observed, self.revealed = [0] * num_arms, [0.0] * num_arms, [0.0] * num_arms
        self.rule_state = [0.0] * state_size(num_arms)
        self.cost = cost
        self.memory = RuleMemory(self.pulls, self.observed, self.revealed, self.rule_state)  # type: ignore[arg-type]

    def reveal(self, rule_arrays: RuleArrays, arm: int, reward: float, place: tuple[int, int] | None = None) -> float:
        """Count a pull and return the reward to reveal for it, both in [0, 1].

        ``place`` is the pull's client and its number among the client's pulls, for a binary reveal.
        """
        self.pulls[arm] += 1
        self.observed[arm] += reward
        value = float(reveal(rule_arrays, self.memory, arm, reward, 0.0))
        if place is not None:
            value = round_reveal(value, rule_arrays.rounding_key, *place)
        self.cost += cost(reward, value)
        self.revealed[arm] += value
        return value


@dataclass(frozen=True)
class CampaignSetup:
    """What never changes in a campaign: its teacher and problem, the scale of its rewards, the seed.

    With ``binary_reveals`` only the ends of the scale are revealed.  Random numbers are those of the simulation's
    ``run`` with this seed.
    """

    teacher: Teacher
    problem: Problem
    scale: RewardScale
    seed: int = 0
    binary_reveals: bool = False
    run: int = 0


@dataclass(frozen=True, eq=False)
class Decision:
    """What a teacher received (evidence, or the excluded client), its state after it, and what it published.

    ``span`` is when a consultation began and ended, in nanoseconds since 1970.
    """

    evidence: Evidence | None
    excluded: int | None
    state: Any
    directive: Directive
    span: tuple[int, int] | None = None


class Assignment(NamedTuple):
    """Where a client's pulls are answered: at an edge, or at the leader if ``edge`` is empty.

    The ``fence`` grows each time that the client is assigned.  ``position`` is that of the edge's ledger at its
    last report, 0 before the first.
    """

    edge: str
    fence: int
    position: int = 0


class Step(NamedTuple):
    """The answers to the pulls of a step, in their order, and the decision that was made in it, if any.

    ``numbers`` are the pulls so far of each pull's client and arm, itself included; ``revealed`` is in the
    sender's units; ``directives`` are 1 + the consultations before, 0 for pulls beyond the horizon.
    """

    numbers: list[int]
    revealed: list[float]
    directives: list[int]
    decision: Decision | None


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
        self.consultations = self.restarts = self.windows = 0
        self.rounding_key = rounding_key(setup.seed, setup.run) if setup.binary_reveals else NO_ROUNDING
        self.left_out: set[int] = set()  # clients whose next step the present window leaves out
        self.collected = CollectedEvidence(problem, self.cuts)
        self.clients = [ClientMemory(problem.num_arms) for _ in range(problem.num_clients)]
        self.assignments: dict[int, Assignment] = {}  # of clients that were ever at an edge
        self.target: int | None = None
        self.state = ask(setup.teacher, "begin", problem, teacher_generator(setup.seed, setup.run))
        self.publish()

    @property
    def round(self) -> int:
        """The largest number of pulls that a client has made, at most the horizon."""
        return min(max(self.rounds), self.setup.problem.horizon)

    @property
    def beyond_horizon(self) -> int:
        """The number of pulls after their client's last round, which are not evidence."""
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
        """Return the teacher's report."""
        return ask_report(self.setup.teacher, self.state)

    def step(
        self, clients: Sequence[int], arms: Sequence[int], rewards: Sequence[float], bypassed: Sequence[bool]
    ) -> Step:
        """Observe these pulls, consult the teacher if that is due, and reveal the rewards.

        Clients and arms are numbers, rewards in the sender's units.  ``bypassed`` marks pulls whose client
        has been shown the reward itself.

        Pulls beyond the horizon are revealed as observed, or with binary reveals rounded.  A bypassed pull is
        counted with the reward that its client has been shown.

        A window has no bypassed pulls, and of each client none of the first step in which it has others: they may
        have been made before the consultation that began the window.
        """
        horizon, observe = self.setup.problem.horizon, self.collected.observe
        rounds, counts = self.rounds, self.counts
        unit = self.setup.scale.to_units(rewards)
        numbers: list[int] = []
        places: list[tuple[int, int] | None] = []  # of binary reveals
        is_binary = self.setup.binary_reveals
        is_evidence: list[bool] = []
        left_out, has_windows = self.left_out, self.windows > 0
        for client, arm, reward, was_bypassed in zip(clients, arms, unit, bypassed, strict=True):
            round = rounds[client] = rounds[client] + 1
            number = counts[client][arm] = counts[client][arm] + 1
            numbers.append(number)
            places.append((client, round) if is_binary and not was_bypassed else None)
            is_evidence.append(round <= horizon)
            if round <= horizon and not (has_windows and (was_bypassed or client in left_out)):
                observe(client, arm, reward)
        if left_out:
            left_out.difference_update(client for client, late in zip(clients, bypassed, strict=True) if not late)
        decision = None
        if any(is_evidence):  # after the horizon the last directive holds
            pulls = zip(is_evidence, clients, arms, unit, strict=True)
            decision = self.consult((client, arm, reward) for observed, client, arm, reward in pulls if observed)
        revealed: list[float] = []
        memories, to_sender = self.clients, self.setup.scale.to_sender
        rules, keeping_rules = self.rule_arrays, self.keeping_rule_arrays
        shown = bypassed
        directives = [1 + self.consultations] * len(numbers)
        if not all(is_evidence):
            shown = [late or not known for late, known in zip(bypassed, is_evidence, strict=True)]
            directives = [directives[0] if known else 0 for known in is_evidence]
        each = zip(clients, arms, rewards, unit, shown, places, strict=True)
        for client, arm, sent, reward, is_shown, place in each:
            applied = keeping_rules if is_shown else rules
            value = memories[client].reveal(applied, arm, reward, place)
            is_kept = value == reward and applied.kinds[arm] != SET_KIND
            revealed.append(sent if is_kept else to_sender(value))
        return Step(numbers, revealed, directives, decision)

    def consult(self, recent: Iterable[tuple[int, int, float]] = ()) -> Decision | None:
        """Consult the teacher if its quota is met; ``recent`` is this step's evidence, as of :meth:`publish`."""
        if not self.collected.is_due():
            return None
        started = time.time_ns()
        evidence = self.collected.take()
        self.state = ask(self.setup.teacher, "advance", self.state, evidence)
        self.consultations += 1
        self.publish(recent)
        return Decision(evidence, None, self.state, self.directive, (started, time.time_ns()))

    def exclude(self, client: int) -> Decision:
        """Continue as if this client had never been evidence; it is still taught.  Raises ``InputError``."""
        if why := self.find_exclusion_fault(client):
            raise InputError(f"Client {client} {why}.")
        self.state = ask(self.setup.teacher, "exclude", self.state, client)
        self.excluded.append(client)
        self.collected.exclude(client)
        self.publish()
        return Decision(None, client, self.state, self.directive)

    def find_exclusion_fault(self, client: int) -> str | None:
        """Return why a client cannot be excluded, as the rest of a sentence; None if it can."""
        if client in self.excluded:
            return "is already excluded"
        if len(self.excluded) == len(self.clients) - 1:
            return "is the last client that is not excluded, and must stay"
        return None

    def correct(self, client: int, arm: int, reward: float, revealed: float, number: int) -> None:
        """Take back an adjustment that never reached its client, which saw ``reward`` instead of ``revealed``.

        ``number`` is the pull's among those of its client and arm: a pull from before the last restart of the
        evidence is no longer in the sums, so only its cost is corrected.
        """
        scale, memory = self.setup.scale, self.clients[client]
        observed, shown = scale.to_unit(reward), scale.to_unit(revealed)
        if number > self.counts[client][arm] - memory.pulls[arm]:
            memory.revealed[arm] += observed - shown
        memory.cost -= cost(observed, shown)

    def publish(self, recent: Iterable[tuple[int, int, float]] = ()) -> None:
        """Ask for the directive of the state; ``recent`` is this step's evidence, with which it may start over."""
        directive = ask_directive(self.setup.teacher, self.setup.problem, self.state)
        if directive.restarts > self.restarts:
            self.restarts = directive.restarts
            self.collected.clear()
            self.clients = [ClientMemory(self.setup.problem.num_arms, client.cost) for client in self.clients]
            for number, arm, reward in recent:
                self.collected.observe(number, arm, reward)
        if directive.windows > self.windows:
            self.windows = directive.windows
            self.collected.clear()
            self.left_out = set(range(len(self.clients)))
        self.directive: Directive = directive
        self.rule_arrays = _make_rule_lists(directive.rules, directive, self.rounding_key)
        kept = (KEEP,) * self.setup.problem.num_arms
        self.keeping_rule_arrays = _make_rule_lists(kept, directive, self.rounding_key)
        self.collected.await_quota(directive.quota)
        if directive.target != self.target:
            self.target = directive.target
            for client in self.clients:
                client.rule_state[OFF_TARGET] = 0.0


def _make_rule_lists(rules: tuple[Rule, ...], directive: Directive, key: NDArray[np.uint64]) -> RuleArrays:
    """Rules as arrays, with lists where possible, which are read in a third of the time."""
    arrays = make_rule_arrays(rules, directive.active_arms, directive.leading_arm, directive.target, key)
    return arrays._replace(kinds=arrays.kinds.tolist(), active=arrays.active.tolist())
