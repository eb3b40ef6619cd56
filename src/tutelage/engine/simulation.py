"""One run: every client under one teacher, client after client, in compiled code.

Between two consultations clients do not depend on each other.  So a compiled call takes one client through
as many rounds as the directive is sure to hold, instead of stepping all clients round by round.  In the
round of a consultation all pulls must be observed before any is revealed; a client therefore stops with its
pull *pending*, observed but not revealed, and the pull is revealed under the directive that the consultation
gives.  tests/reference.py plays the same game round by round, and the two agree draw for draw; ``compiled_loop.py``
is the compiled loop.
"""

import contextlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.engine import agent_group
from tutelage.engine.agent_group import AgentGroup, Cancelled, open_agents
from tutelage.engine.compiled_loop import (
    STOP_AT_ALL,
    STOP_AT_ANY,
    STOP_AT_LAST,
    ActivityArrays,
    RoundRecord,
    quota_kernels,
)
from tutelage.engine.leaping import new_prospect, new_stretch
from tutelage.engine.memory import NOT_REACHED, new_memory
from tutelage.engine.policy_groups import PolicyGroups, group_clients, policy_chose_no_arm, raise_code_error
from tutelage.engine.routine_consultations import RoutineConsultations, open_routine
from tutelage.engine.scheduled_changes import ScheduledChange, schedule_changes
from tutelage.engine.stream_seeds import compute_client_streams
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.rule_memory import OFF_TARGET
from tutelage.rules import NO_ROUNDING, make_rule_arrays
from tutelage.run_outcome import PullTrace, RunEvent, RunOutcome, count_messages
from tutelage.seeding import rounding_key, shock_key, teacher_generator
from tutelage.teachers.base import Directive, Evidence
from tutelage.teachers.checks import ask, ask_directive, ask_report, ask_segments

_SLICE = 1 << 21  # most rounds in one compiled call, so that a long run can be cancelled
# Where consultations follow each other closely, compiled calls are so short that runs in several threads
# would pass the interpreter back and forth and take longer than one by one: they take turns.
_INTERPRETER_TURN = threading.Lock()
_LEAST_STRETCH = 32  # rounds worth a compiled call when the next consultation cannot be foreseen


def simulate_run(
    request: SimulationRequest,
    teacher: int,
    run: int,
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    trace: bool = False,
) -> RunOutcome:
    """Play one run of a request under one of its teachers; runs and teachers are counted from 0.

    Once ``cancel`` is set, the run soon ends with :class:`Cancelled`.  ``progress`` is called from time to
    time with the share of the run that has been played.  ``trace`` records every pull, M x T of them.
    """
    with open_agents(request, run, cancel) as agents:
        return _Simulation(request, teacher, run, cancel, progress, agents, trace=trace).play()


class _Simulation:
    """The working state of one run; :func:`simulate_run` is its only user."""

    def __init__(
        self,
        request: SimulationRequest,
        teacher: int,
        run: int,
        cancel: threading.Event | None,
        progress: Callable[[float], None] | None,
        agents: AgentGroup | None,
        *,
        trace: bool,
    ) -> None:
        self.request, self.place = request, (teacher, run)
        self.cancel, self.progress = cancel, progress
        self.teacher = request.teachers[teacher]
        self.problem = request.problem_for(self.teacher)
        num_clients, num_arms = self.problem.num_clients, self.problem.num_arms
        shared = _share_arrays(request)
        self.reward_arrays = shared.reward_arrays._replace(shock_key=read_only(shock_key(request.seed, run)))
        self.rounding_key = rounding_key(request.seed, run) if request.binary_reveals else NO_ROUNDING
        self.acting, self.policies = shared.acting, shared.policies
        self.agents, self.slice = agents, _SLICE if agents is None else agent_group.SLICE
        if agents is not None:
            self.policies = replace(self.policies, parameters=read_only(agents.fill(self.policies.parameters)))
        self.cuts = np.array(ask_segments(self.teacher, self.problem), dtype=np.int64)
        streams = compute_client_streams(request.seed, run, num_clients)
        self.memory = new_memory(num_arms, self.cuts.size, self.policies.state_size, streams)
        self.memory.remaining_delays[:] = self.acting.delays
        self.record = _new_record(request, shared.recorded_rounds)
        self.prospect, self.stretch = new_prospect(num_arms), new_stretch(num_arms)
        self.trace = _new_trace(num_clients, request.horizon if trace else 0)
        self.all_clients = np.ones(num_clients, dtype=np.bool_)
        self.is_evidence = self.all_clients.copy()
        self.excluded: list[int] = []
        self.changes = schedule_changes(request, run)
        self.delivered_segments = np.zeros(num_arms, dtype=np.int64)
        self.no_segments = np.zeros((0, num_clients))
        self.restarts = self.windows = self.num_consultations = 0
        self.published: tuple[Any, ...] = ()
        self.routine: RoutineConsultations | None = None
        self.events: list[RunEvent] = []
        self.target: int | None = None
        self.decided_in: int | None = None
        self.state = ask(self.teacher, "begin", self.problem, teacher_generator(request.seed, run))
        self._publish(0)

    def play(self) -> RunOutcome:
        """Play to the horizon."""
        while True:
            last = self.changes[0].round if self.changes else self.request.horizon
            self._consult_until(last)
            self._advance(last, self.all_clients)  # no client pulls: pending rewards are revealed
            if not self.changes:
                break
            self._apply(self.changes.pop(0))
        self._end_routine()
        teacher, run = self.place
        return RunOutcome(
            teacher=teacher,
            run=run,
            pulls=self.record.pulls,
            costs=self.record.costs,
            events=tuple(self.events),
            target=self.target,
            decided_in=self.decided_in,
            report=ask_report(self.teacher, self.state),
            noticed_in=self.memory.noticed_in[:, 0].copy(),
            messages=count_messages(self.problem.num_clients, 1 + len(self.events), self.num_consultations),
            trace=self.trace,
        )

    def _consult_until(self, last: int) -> None:
        """Bring all clients to the round ``last``, consulting the teacher whenever its quota is met."""
        with contextlib.ExitStack() as turn:
            has_turn = False
            while True:
                calls_are_short = self.directive.quota is not None and self.directive.quota.mode == "any"
                if calls_are_short and not has_turn:
                    turn.enter_context(_INTERPRETER_TURN)
                elif has_turn and not calls_are_short:
                    turn.close()
                has_turn = calls_are_short
                round = self._next_consultation(last)
                if round is None:
                    return
                self.num_consultations += 1
                if not self._consult_routinely(round):
                    self.state = ask(self.teacher, "advance", self.state, self._evidence())
                    self._publish(round)
                if round == last:
                    return

    def _apply(self, change: ScheduledChange) -> None:
        """Shift the means, or exclude a client unless it is the last one that is evidence."""
        if change.phase is not None:
            self.reward_arrays = self.reward_arrays._replace(
                local_means=read_only(np.ascontiguousarray(change.phase.local_means)),
                global_means=read_only(change.phase.global_means),
            )
        elif self.is_evidence.sum() > 1:
            self.is_evidence[change.client] = False
            self.excluded.append(change.client)
            self._end_routine()
            self.state = ask(self.teacher, "exclude", self.state, change.client)
            self._publish(change.round)

    def _publish(self, round: int) -> None:
        """Put the teacher's directive in force; ``round`` is the current round, 0 at the start."""
        directive = ask_directive(self.teacher, self.problem, self.state)
        published = (directive.rules, directive.active_arms, directive.leading_arm, directive.target)
        if published != self.published:  # most often only the quota is new
            self.published, self.rule_arrays = published, make_rule_arrays(*published, self.rounding_key)
        self.directive: Directive = directive
        memory = self.memory
        if directive.restarts > self.restarts:
            self.restarts = directive.restarts
            memory.restart_evidence(self.cuts)
            self.delivered_segments = np.zeros_like(self.delivered_segments)
        if directive.windows > self.windows:
            self.windows = directive.windows
            memory.begin_window()
            self.delivered_segments = np.zeros_like(self.delivered_segments)
        counts = directive.quota.counts if directive.quota else (0,) * self.problem.num_arms
        self.quota = np.array(counts, dtype=np.int64)
        memory.quota_rounds[...] = NOT_REACHED
        memory.quota_rounds[memory.evidence_pulls >= self.quota] = 0
        if round > 0:
            self.events.append(RunEvent(round, directive.active_arms, directive.target))
        if directive.target != self.target:  # an exclusion may withdraw a decision or change it
            self.target = directive.target
            memory.rule_states[:, OFF_TARGET] = 0.0
            self.decided_in = None if directive.target is None else round
        self.routine = open_routine(self.teacher, self.state, memory)

    def _consult_routinely(self, round: int) -> bool:
        """Consult the teacher in compiled code; False if that does not answer, and ``advance`` must."""
        if self.routine is None:
            return False
        leading_arm = self.routine.consult(self.is_evidence, self.delivered_segments, self.quota)
        if leading_arm is None:
            self._end_routine()
            return False
        directive = self.directive
        self.events.append(RunEvent(round, directive.active_arms, directive.target))
        if leading_arm != self.rule_arrays.leading_arm:
            self.rule_arrays = self.rule_arrays._replace(leading_arm=leading_arm)
            self.published = ()
        return True

    def _end_routine(self) -> None:
        """Let ``state`` be the teacher's state, which meanwhile only the routine's arrays had."""
        if self.routine is not None:
            self.state, self.routine = self.routine.restore(), None

    def _next_consultation(self, last: int) -> int | None:
        """Bring all clients, pulls pending, to the round in which the quota is met.

        None if it is not met up to ``last``; then all clients are in that round.
        """
        quota = self.directive.quota
        if quota is None or self._current_round() >= last:
            self._advance(last, self.all_clients)
            return None
        if quota.mode == "any":
            return self._next_any(last)
        self._advance(last, self.is_evidence, STOP_AT_ALL)
        round = int(self.memory.rounds[self.is_evidence].max())
        self._advance(round, self.memory.rounds < round)
        return round if bool(self._has_quota()[self.is_evidence].all()) else None

    def _next_any(self, last: int) -> int | None:
        """Do the same for a quota that any one listed arm meets.

        If one kernel plays all clients it finds the round by itself.  Otherwise a longer stretch than is
        safe is played; if the quota was met within it, it is played again from a copy of the memory up to
        that round.
        """
        least_missing, first_round_met = quota_kernels()
        num_listed = int(np.count_nonzero(self.quota))
        has_one_kernel = len(self.policies.groups) == 1
        memory, quota, is_evidence = self.memory, self.quota, self.is_evidence
        before = memory.block
        while (now := self._current_round()) < last:
            if has_one_kernel:
                self._advance(min(last, now + self.slice), self.all_clients, STOP_AT_ANY)
                end = self._current_round()
            else:
                safe_rounds = max(1, least_missing(memory.evidence_pulls, quota, is_evidence))
                stretch = max(safe_rounds * num_listed, _LEAST_STRETCH)
                end = min(last, now + (stretch if self.agents is None else safe_rounds))  # agents cannot go back
                if end > now + safe_rounds:
                    before = memory.block.copy()
                self._advance(end, self.all_clients)
            round = max(first_round_met(memory.quota_rounds, quota, is_evidence), now + 1)
            if round < end:
                np.copyto(memory.block, before)
                self._advance(round, self.all_clients)
            if round <= end:
                return int(round)
        return None

    def _current_round(self) -> int:
        """Return the round in which all clients are."""
        return int(self.memory.rounds[0])

    def _has_quota(self) -> NDArray[np.bool_]:
        """Return which clients [M] have the pulls of every listed arm."""
        has_quota: NDArray[np.bool_] = np.all(self.memory.evidence_pulls >= self.quota, axis=1)
        return has_quota

    def _advance(self, last: int, which: NDArray[np.bool_], stop: int = STOP_AT_LAST) -> None:
        """Take these clients to ``last``, or to where ``stop`` says, in slices.

        After a slice of which clients have leapt over most, the next one is twice as long.
        """
        rounds = self.memory.rounds
        for kernel, members in self.policies.groups:
            clients, slice = members[which[members]], self.slice
            while clients.size:
                end = min(last, int(rounds[clients].min()) + slice)
                before = self._count_stepped(clients) if end < last else 0
                self._call(kernel, clients, end, stop)
                if self.cancel is not None and self.cancel.is_set():
                    raise Cancelled
                if self.progress is not None:
                    self.progress(float(rounds.mean()) / self.request.horizon)
                if end == last:
                    break
                stepped = self._count_stepped(clients) - before
                slice = 2 * slice if stepped < clients.size * self.slice / 2 else self.slice
                if stop == STOP_AT_ALL:
                    clients = clients[~self._has_quota()[clients]]

    def _count_stepped(self, clients: NDArray[np.int64]) -> int:
        """Return how many rounds these clients have not leapt over."""
        return int((self.memory.rounds[clients] - self.memory.leapt_rounds[clients]).sum())

    def _call(self, kernel: Any, clients: NDArray[np.int64], last: int, stop: int) -> None:
        try:
            kernel(
                self.memory,
                self.record,
                self.trace,
                self.prospect,
                self.stretch,
                self.reward_arrays,
                self.acting,
                self.rule_arrays,
                self.cuts,
                self.quota,
                self.is_evidence,
                clients,
                self.policies.parameters,
                last,
                stop,
            )
        except Exception as error:  # noqa: BLE001
            if self.agents is not None:
                self.agents.check()
            policy, num_arms = self.request.policies[clients[0]], self.problem.num_arms
            if isinstance(error, IndexError) and not str(error):
                raise policy_chose_no_arm(policy, num_arms) from None
            raise_code_error(policy, self.request.instance.rewards, error, num_arms)
        if self.agents is not None:
            self.agents.check()

    def _evidence(self) -> Evidence:
        """Return the segments that all clients in evidence have completed since the last consultation."""
        completed = self.memory.completed_segments.min(axis=0, initial=NOT_REACHED, where=self.is_evidence[:, None])
        sums = []
        for arm, (first, end) in enumerate(zip(self.delivered_segments.tolist(), completed.tolist(), strict=True)):
            new = self.memory.segment_sums[:, arm, first:end].T.copy() if first < end else self.no_segments
            if self.excluded:
                new[:, self.excluded] = 0.0
            sums.append(read_only(new))
        self.delivered_segments = completed
        return Evidence(tuple(sums))


@dataclass(frozen=True, eq=False)
class _SharedArrays:
    """What is the same in all runs of a request."""

    reward_arrays: RewardArrays
    acting: ActivityArrays
    policies: PolicyGroups
    recorded_rounds: NDArray[np.int64]


_SHARED: weakref.WeakKeyDictionary[SimulationRequest, _SharedArrays] = weakref.WeakKeyDictionary()


def _share_arrays(request: SimulationRequest) -> _SharedArrays:
    """Return the arrays that the runs of a request share, made at its first run in this process."""
    shared, instance = _SHARED.get(request), request.instance
    if shared is None:
        acting = ActivityArrays(*instance.conditions.arrays(instance.num_clients))
        policies = group_clients(request.policies, instance.rewards, instance.num_arms, request.engine)
        shared = _SharedArrays(instance.reward_arrays(), acting, policies, request.recorded_rounds)
        _SHARED[request] = shared
    return shared


def _new_record(request: SimulationRequest, rounds: NDArray[np.int64]) -> RoundRecord:
    shape = (request.instance.num_clients, rounds.size)
    pulls = np.zeros((*shape, request.instance.num_arms), dtype=request.count_type)
    return RoundRecord(rounds, pulls, np.zeros(shape))


def _new_trace(num_clients: int, num_rounds: int) -> PullTrace:
    shape = (num_clients, num_rounds)
    return PullTrace(np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.zeros(shape))
