"""One run: every client under one teacher, client after client, in compiled code.

Between two consultations clients do not depend on each other.  So the engine is client-major: a compiled call
takes one client through as many rounds as the directive surely holds, instead of stepping all clients
round by round.  In the round of a consultation all pulls must be observed before any is revealed; a client
is therefore stopped on a *pending* pull, observed but not revealed, which is revealed under the directive
that the consultation gives.  tests/reference.py is the round-by-round transcription that this equals, draw
for draw; ``advance.py`` is the compiled loop.
"""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import Draw
from tutelage.engine.advance import (
    STOP_AT_ALL,
    STOP_AT_ANY,
    STOP_AT_LAST,
    Acting,
    Record,
    Trace,
    acts,
    kernel_for,
    quota_kernels,
)
from tutelage.engine.kernels import compiled
from tutelage.engine.memory import NOT_YET, new_memory
from tutelage.errors import InputError
from tutelage.instances.base import Instance, Phase
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.results import problem_of
from tutelage.rules import OFF_TARGET, make_rule_arrays
from tutelage.seeding import ACTIVITY, client_streams, teacher_generator
from tutelage.teachers.base import Directive, Evidence, Report, Teacher
from tutelage.teachers.checks import ask, ask_directive, ask_report, ask_segments

_SLICE = 1 << 21  # rounds in one compiled call, so that a long run can be cancelled
# Where consultations follow each other closely, compiled calls are so short that runs in several threads
# would hand the interpreter to and fro all the time, and take longer than one by one: they take turns.
_TURN = threading.Lock()
_LEAST_STRETCH = 32  # rounds worth a compiled call when the next event cannot be foreseen


@dataclass(frozen=True)
class Event:
    """A consultation, or a client's exclusion: the round, and what the directive published in it says."""

    round: int
    active_arms: tuple[int, ...]
    target: int | None


@dataclass(frozen=True, eq=False)
class RunOutcome:
    """What one run gives.  ``pulls`` is [M, C, K], ``costs`` [M, C], both as of each checkpoint.

    ``target`` and ``decided_in`` are the target that held at the end and the round in which it was
    decided (0 for one known from the start), None where there is none.  ``trace`` has rounds only if it was
    asked for.
    """

    pulls: NDArray[np.integer[Any]]
    costs: NDArray[np.float64]
    events: tuple[Event, ...]
    target: int | None
    decided_in: int | None
    report: Report
    trace: Trace


class Cancelled(Exception):
    """The run was told to stop."""


def simulate_run(
    instance: Instance,
    policies: Sequence[Policy],
    teacher: Teacher,
    *,
    horizon: int,
    seed: int,
    run: int,
    checkpoints: NDArray[np.int64],
    exclude: Mapping[int, int] | None = None,
    exclude_after: float | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    trace: bool = False,
) -> RunOutcome:
    """Play one run to its horizon.

    ``policies`` has one entry a client; ``checkpoints`` are rounds 1 .. T, increasing.  ``exclude`` maps
    clients to the round after which each is excluded; with ``exclude_after`` a client is also excluded once it
    has been silent for more than that many of its usual gaps (:func:`first_silence`).  ``cancel``, once set,
    ends the run soon with :class:`Cancelled`.  ``progress`` is told now and then which share of the run has
    been played.  ``trace`` keeps every pull, M x T of them.
    """
    traced = _new_trace(instance.num_clients, horizon if trace else 0)
    exclude = dict(exclude or {})
    if exclude_after is not None:
        for client, round in silences(instance, seed, run, horizon, exclude_after).items():
            exclude[client] = min(round, exclude.get(client, round))
    return _Run(
        instance, policies, teacher, horizon, seed, run, checkpoints, exclude, cancel, progress, traced
    ).play()


class _Run:
    """The event loop's working state; :func:`simulate_run` is its only user."""

    def __init__(
        self,
        instance: Instance,
        policies: Sequence[Policy],
        teacher: Teacher,
        horizon: int,
        seed: int,
        run: int,
        checkpoints: NDArray[np.int64],
        exclude: Mapping[int, int],
        cancel: threading.Event | None,
        progress: Callable[[float], None] | None,
        trace: Trace,
    ) -> None:
        self.teacher, self.horizon, self.trace = teacher, horizon, trace
        self.cancel, self.progress = cancel, progress
        self.problem = problem_of(instance, horizon, teacher)
        self.rewards = instance.reward_arrays()
        self.acting = Acting(*instance.conditions.arrays(instance.num_clients))
        self.policies = policies
        self.groups, self.parameters, state_size = _group(policies, instance.rewards.draw, self.problem.num_arms)
        self.cuts = np.array(ask_segments(teacher, self.problem), dtype=np.int64)
        num_clients, num_arms = self.problem.num_clients, self.problem.num_arms
        streams = client_streams(seed, run, num_clients)
        self.memory, self.before = (
            new_memory(num_arms, self.cuts.size, state_size, streams) for _ in range(2)
        )
        self.memory.waits[:] = self.acting.delays
        self.record = _new_record(num_clients, num_arms, checkpoints, horizon)
        self.delivered, self.nothing = np.zeros(num_arms, dtype=np.int64), np.zeros((0, num_clients))
        self.everybody = np.ones(num_clients, dtype=np.bool_)
        self.no_quota = (0,) * num_arms
        self.counted = self.everybody.copy()  # whose pulls are evidence: all but the excluded
        self.gone: list[int] = []
        self.pauses = _pauses(instance, exclude, horizon)
        self.restarts = 0
        self.told: tuple[Any, ...] = ()
        self.events: list[Event] = []
        self.target: int | None = None
        self.decided_in: int | None = None
        self.state = ask(teacher, "begin", self.problem, teacher_generator(seed, run))
        self._publish(0)

    def play(self) -> RunOutcome:
        while True:
            pause = self.pauses[0].round if self.pauses else self.horizon
            self._consult_until(pause)
            self._advance(pause, self.everybody)  # nothing is pulled: what is pending is revealed
            if not self.pauses:
                break
            self._change(self.pauses.pop(0))
        return RunOutcome(
            pulls=self.record.pulls,
            costs=self.record.costs,
            events=tuple(self.events),
            target=self.target,
            decided_in=self.decided_in,
            report=ask_report(self.teacher, self.state),
            trace=self.trace,
        )

    def _consult_until(self, pause: int) -> None:
        """Bring all clients to the round ``pause``, asking the teacher as often as it wants."""
        with contextlib.ExitStack() as turn:
            taken = False
            while True:
                brief = self.directive.quota is not None and self.directive.quota.mode == "any"
                if brief and not taken:
                    turn.enter_context(_TURN)
                elif taken and not brief:
                    turn.close()
                taken = brief
                event = self._next_event(pause)
                if event is None:
                    return
                self.state = ask(self.teacher, "advance", self.state, self._evidence())
                self._publish(event)
                if event == pause:
                    return

    def _change(self, pause: "_Pause") -> None:
        """What happens between two rounds: the means shift, or a client is excluded (never the last one)."""
        if pause.phase is not None:
            local_means = np.ascontiguousarray(pause.phase.local_means)
            self.rewards = self.rewards._replace(
                local_means=local_means, global_means=pause.phase.global_means
            )
        elif self.counted.sum() > 1:
            self.counted[pause.client] = False
            self.gone.append(pause.client)
            self.state = ask(self.teacher, "exclude", self.state, pause.client)
            self._publish(pause.round)

    def _publish(self, round: int) -> None:
        """Take the teacher's directive; ``round`` is the round in which it says this."""
        directive = ask_directive(self.teacher, self.problem, self.state)
        told = (directive.rules, directive.active_arms, directive.leading_arm, directive.target)
        if told != self.told:  # most often only the quota is new
            self.told, self.rule_arrays = told, make_rule_arrays(*told)
        self.directive: Directive = directive
        if directive.restarts > self.restarts:
            self.restarts = directive.restarts
            self.memory.begin_anew(self.cuts)
            self.delivered = np.zeros_like(self.delivered)
        self.quota = np.array(directive.quota.counts if directive.quota else self.no_quota, dtype=np.int64)
        self.memory.reached[...] = NOT_YET
        self.memory.reached[self.memory.counted >= self.quota] = 0
        if round > 0:
            self.events.append(Event(round, directive.active_arms, directive.target))
        if directive.target != self.target:  # a exclusion may withdraw a decision or change it
            self.target = directive.target
            self.memory.kept[:, OFF_TARGET] = 0.0
            self.decided_in = None if directive.target is None else round

    def _next_event(self, last: int) -> int | None:
        """Bring all clients, pending, to the round in which the quota is met; None if not up to ``last``."""
        quota = self.directive.quota
        if quota is None or self._now() >= last:
            self._advance(last, self.everybody)
            return None
        if quota.mode == "any":
            return self._next_any(last)
        self._advance(last, self.counted, STOP_AT_ALL)
        event = int(self.memory.rounds[self.counted].max())
        self._advance(event, self.memory.rounds < event)
        return event if bool(self._met()[self.counted].all()) else None

    def _next_any(self, last: int) -> int | None:
        """The same for a quota that any one listed arm meets.

        A kernel finds the round by itself, if it has all clients.  Else a stretch is tried that is longer
        than surely needed, and played again from a copy of the memory up to the event if there was one
        within it.
        """
        least_missing, first_met = quota_kernels()
        listed = int(np.count_nonzero(self.quota))
        alone = len(self.groups) == 1
        while (now := self._now()) < last:
            if alone:
                self._advance(min(last, now + _SLICE), self.everybody, STOP_AT_ANY)
                end = self._now()
            else:
                sure = max(1, least_missing(self.memory.counted, self.quota, self.counted))
                end = min(last, now + max(sure * listed, _LEAST_STRETCH))
                if end > now + sure:
                    self.before.copy_from(self.memory)
                self._advance(end, self.everybody)
            event = max(first_met(self.memory.reached, self.quota, self.counted), now + 1)
            if event < end:
                self.memory.copy_from(self.before)
                self._advance(event, self.everybody)
            if event <= end:
                return int(event)
        return None

    def _now(self) -> int:
        """The round in which all clients stand."""
        return int(self.memory.rounds[0])

    def _met(self) -> NDArray[np.bool_]:
        """Which clients [M] have all listed pulls."""
        met: NDArray[np.bool_] = np.all(self.memory.counted >= self.quota, axis=1)
        return met

    def _advance(self, last: int, whom: NDArray[np.bool_], stop: int = STOP_AT_LAST) -> None:
        """Take these clients to ``last``, or to where ``stop`` says, in slices."""
        memory = self.memory
        for kernel, members in self.groups:
            waiting = members[whom[members]]
            while waiting.size:
                end = min(last, int(memory.rounds[waiting].min()) + _SLICE)
                self._play(kernel, waiting, end, stop)
                if self.cancel is not None and self.cancel.is_set():
                    raise Cancelled
                if self.progress is not None:
                    self.progress(float(memory.rounds.mean()) / self.horizon)
                if end == last:
                    break
                if stop == STOP_AT_ALL:
                    waiting = waiting[~self._met()[waiting]]

    def _play(self, kernel: Any, clients: NDArray[np.int64], last: int, stop: int) -> None:
        try:
            kernel(
                self.memory,
                self.record,
                self.trace,
                self.rewards,
                self.acting,
                self.rule_arrays,
                self.cuts,
                self.quota,
                self.counted,
                clients,
                self.parameters,
                last,
                stop,
            )
        except IndexError as error:
            policy = POLICIES.spec(self.policies[clients[0]])
            if str(error):  # a foreign policy's kernel, compiled with bounds checked
                raise InputError(f"The policy {policy} went beyond an array: {error}.") from None
            raise InputError(
                f"The policy {policy} chose an arm that there is none of: choose() must give 0 to "
                f"{self.problem.num_arms - 1}."
            ) from None

    def _evidence(self) -> Evidence:
        """The segments that all counted clients have completed since the last consultation."""
        completed = self.memory.segments.min(axis=0, initial=NOT_YET, where=self.counted[:, None])
        sums = []
        for arm, (first, end) in enumerate(zip(self.delivered.tolist(), completed.tolist(), strict=True)):
            new = self.memory.segment_sums[:, arm, first:end].T.copy() if first < end else self.nothing
            if self.gone:
                new[:, self.gone] = 0.0
            sums.append(new)
        self.delivered = completed
        return Evidence(tuple(sums))


def _new_record(num_clients: int, num_arms: int, checkpoints: NDArray[np.int64], horizon: int) -> Record:
    whole = np.int32 if horizon < 2**31 else np.int64
    return Record(
        checkpoints=checkpoints,
        pulls=np.zeros((num_clients, checkpoints.size, num_arms), dtype=whole),
        costs=np.zeros((num_clients, checkpoints.size)),
    )


def _new_trace(num_clients: int, num_rounds: int) -> Trace:
    shape = (num_clients, num_rounds)
    return Trace(np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.zeros(shape))


@dataclass(frozen=True)
class _Pause:
    """Something that happens after a round: a phase of new means begins, or a client is excluded."""

    round: int
    phase: Phase | None = None
    client: int = -1


def _pauses(instance: Instance, exclude: Mapping[int, int], horizon: int) -> list[_Pause]:
    """All pauses within the horizon, in their order; of one round the new means first, then by client."""
    pauses = [_Pause(phase.after, phase) for phase in instance.phases[1:]]
    pauses += [_Pause(round, client=client) for client, round in sorted(exclude.items())]
    return sorted((pause for pause in pauses if pause.round < horizon), key=lambda pause: pause.round)


def silences(instance: Instance, seed: int, run: int, horizon: int, exclude_after: float) -> dict[int, int]:
    """The clients that fall silent, with the round after which that is plain.

    When a client acts depends on nothing but its own stream, so this can be known before the run.
    """
    streams = client_streams(seed, run, instance.num_clients)
    activity, delays, last_rounds = instance.conditions.arrays(instance.num_clients)
    watch = compiled(first_silence)
    found = {}
    for client in range(instance.num_clients):
        round = watch(
            horizon,
            float(exclude_after),
            activity[client],
            delays[client],
            last_rounds[client],
            streams[client, ACTIVITY],
        )
        if round > 0:
            found[client] = int(round)
    return found


def first_silence(
    horizon: int, exclude_after: float, activity: float, delay: int, stops_after: int, stream: Any
) -> int:
    """The first round in which a client has been silent for more than ``exclude_after`` usual gaps; 0 if none.

    The usual gap is the number of rounds up to its latest pull over its pulls.  Before its second pull a
    client has none.
    """
    wait, turns, latest = delay, 0, 0
    for round in range(1, horizon + 1):
        if acts(round, wait, activity, stops_after, stream):
            wait, turns, latest = delay, turns + 1, round
        else:
            wait -= 1
            if turns > 1 and (round - latest) * turns > exclude_after * latest:
                return round
    return 0


def _group(
    policies: Sequence[Policy], draw: Draw, num_arms: int
) -> tuple[list[tuple[Any, NDArray[np.int64]]], NDArray[np.float64], int]:
    """The kernels with their clients, the parameters [M, ...] and the size of a client's policy state."""
    members: dict[Any, list[int]] = {}
    for client, policy in enumerate(policies):
        members.setdefault((policy.choose, policy.learn), []).append(client)
    width = max(1, *(len(policy.parameters()) for policy in policies))
    parameters = np.zeros((len(policies), width))
    for client, policy in enumerate(policies):
        told = policy.parameters()
        parameters[client, : len(told)] = told
    sizes = [policy.state_size(num_arms) for policy in policies]
    for policy, size in zip(policies, sizes, strict=True):
        if size < 0:
            raise InputError(f"The policy {POLICIES.spec(policy)} asks for {size} numbers of state.")
    groups = [(kernel_for(*functions, draw), np.array(clients)) for functions, clients in members.items()]
    return groups, parameters, max(sizes)
