"""The clients of one run and what they remember; compiled code advances them.

Between two consultations clients do not depend on each other.  So a compiled call takes one client through
as many rounds as the directive is sure to hold, instead of stepping all clients round by round.  In the
round of a consultation all pulls must be observed before any is revealed; a client therefore stops with its
pull *pending*, observed but not revealed, and the pull is revealed under the directive that the consultation
gives.

Clients of a call may be divided into shares, which threads play at the same time.  Shapes: M clients, K arms.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.engine import agent_group
from tutelage.engine.agent_group import AgentGroup, Cancelled
from tutelage.engine.client_shares import ClientCall, ClientThreads, PlayShare, is_worth_dividing, play_in_threads
from tutelage.engine.compiled_loop import (
    STOP_AFTER_LAST,
    STOP_AT_ALL,
    STOP_AT_ANY,
    STOP_AT_LAST,
    RoundRecord,
    quota_kernels,
)
from tutelage.engine.kernels import RepeatedCalls
from tutelage.engine.leaping import new_scratch
from tutelage.engine.memory import NOT_REACHED
from tutelage.engine.policy_groups import policy_chose_no_arm, raise_code_error
from tutelage.engine.routine_consultations import RoutineConsultations, open_routine
from tutelage.engine.workspace import is_kept, leave_workspace, new_trace, take_workspace
from tutelage.policies.base import Prospect, Stretch
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.rule_memory import OFF_TARGET, RuleArrays
from tutelage.rules import NO_ROUNDING, make_rule_arrays
from tutelage.run_outcome import PullTrace
from tutelage.seeding import rounding_key
from tutelage.teachers.base import Directive, Evidence, Teacher

SLICE = 1 << 21  # most rounds in one compiled call, so that a long run can be cancelled
_REPORT_EVERY = 0.1  # seconds, while the pieces of a call are played
_LEAST_STRETCH = 32  # rounds worth a compiled call when the next consultation cannot be foreseen


@dataclass(frozen=True)
class Player:
    """Who plays clients: the agents among them, helping threads, and who is notified of the progress.

    Once ``cancel`` is set, playing soon ends with ``Cancelled``; ``progress`` gets the share that has been played.
    """

    cancel: threading.Event | None = None
    progress: Callable[[float], None] | None = None
    agents: AgentGroup | None = None
    threads: ClientThreads | None = None


class DirectiveChange(NamedTuple):
    """What a new directive changes in what clients remember."""

    restarts: bool = False
    begins_window: bool = False
    has_new_target: bool = False


class ClientOutcome(NamedTuple):
    """What clients have at the end of a run: see ``RunOutcome`` and ``RunRecord``."""

    pulls: NDArray[np.integer[Any]]
    costs: NDArray[np.float64]
    noticed_in: NDArray[np.int64]
    piece_pulls: NDArray[np.int64]
    piece_costs: NDArray[np.float64]
    trace: PullTrace


_share_rule_arrays = functools.lru_cache(maxsize=256)(make_rule_arrays)  # kernels know arrays that they had before


class RunClients:
    """The clients of one run: all, or those whose numbers are in ``own``, which must begin a piece (run_record.py).

    Clients are numbered from the first one of ``own``, except in :meth:`exclude`.
    """

    def __init__(
        self,
        request: SimulationRequest,
        teacher: int,
        run: int,
        player: Player,
        *,
        own: slice | None = None,
        trace: bool = False,
    ) -> None:
        self.own = own = slice(0, request.instance.num_clients) if own is None else own
        num_clients, num_arms = own.stop - own.start, request.instance.num_arms
        self.request, self.teacher = request, teacher
        self.player, self.agents = player, player.agents
        self.threads = player.threads if player.agents is None else None
        self.reported_at = time.monotonic()
        self.workspace = workspace = take_workspace(request, teacher, own)
        workspace.begin(request, run, own.start)
        self.reward_arrays, self.acting, self.cuts = workspace.reward_arrays, workspace.acting, workspace.cuts
        self.rounding_key = rounding_key(request.seed, run) if request.binary_reveals else NO_ROUNDING
        self.policies, self.groups = workspace.policies, workspace.calls
        self.slice = SLICE if self.agents is None else agent_group.SLICE
        if self.agents is not None:
            self.policies = replace(self.policies, parameters=read_only(self.agents.fill(self.policies.parameters)))
        self.memory, self.quota = workspace.memory, workspace.quota
        self.can_go_back = self.agents is None and not request.sums_clients
        self.record = workspace.record
        self.prospect, self.stretch = workspace.prospect, workspace.stretch
        self.trace = new_trace(num_clients, request.horizon) if trace else workspace.no_trace
        self.all_clients, self.is_evidence = workspace.all_clients, workspace.is_evidence
        self.has_excluded = False
        self.delivered_segments = np.zeros(num_arms, dtype=np.int64)
        self.published: tuple[Any, ...] = ()
        self.completed_round = 0  # the latest one after which :meth:`advance` has nothing to do

    def publish(self, directive: Directive, change: DirectiveChange) -> None:
        """Put a directive in force."""
        published = (directive.rules, directive.active_arms, directive.leading_arm, directive.target)
        if published != self.published:  # most often only the quota is new
            self.published, self.rule_arrays = published, self._find_rule_arrays(directive)
        self.directive: Directive = directive
        memory = self.memory
        if change.restarts:
            memory.restart_evidence(self.cuts)
        if change.begins_window:
            memory.begin_window()
        if change.restarts or change.begins_window:
            self.delivered_segments = np.zeros_like(self.delivered_segments)
        counts = directive.quota.counts if directive.quota else (0,) * self.delivered_segments.size
        self.quota[...] = counts
        memory.quota_rounds[...] = NOT_REACHED
        memory.quota_rounds[memory.evidence_pulls >= self.quota] = 0
        if change.has_new_target:
            memory.rule_states[:, OFF_TARGET] = 0.0

    def shift(self, number: int) -> None:
        """Shift the means to those of a phase of the instance after the round in which all clients are."""
        phase = self.request.instance.phases[number]
        self.record.note_clients(self.memory, phase.after)
        self.reward_arrays = self.reward_arrays._replace(
            local_means=read_only(np.ascontiguousarray(phase.local_means[self.own])),
            global_means=read_only(phase.global_means),
        )

    def find_consultation(self, last: int) -> int | None:
        """Bring all clients, pulls pending, to the round in which the quota is met.

        None if it is not met up to ``last``; then all clients are in that round.
        """
        quota = self.directive.quota
        if quota is None and self.agents is None:
            self._advance(last, self.all_clients, STOP_AFTER_LAST)
            self.completed_round = last
            return None
        if quota is None or self._current_round() >= last:
            self.advance(last)
            return None
        if quota.mode == "any":
            return self._next_any(last)
        round = self.advance_to_quota(last)
        return round if self.level(round) else None

    def advance(self, last: int) -> None:
        """Bring all clients to the round ``last``; reveal what is pending."""
        if self.completed_round < last:
            self._advance(last, self.all_clients)

    def advance_to_quota(self, last: int) -> int:
        """Bring each client that is evidence to where it has the pulls of every listed arm; return the latest round."""
        self._advance(last, self.is_evidence if self.has_excluded else self.all_clients, STOP_AT_ALL)
        return int(self.memory.rounds[self.is_evidence].max(initial=0))

    def level(self, round: int) -> bool:
        """Bring all clients to the same round; return whether all that are evidence have the pulls of the quota."""
        self._advance(round, self.memory.rounds < round)
        return bool(self._has_quota()[self.is_evidence].all())

    def count_segments(self) -> NDArray[np.int64]:
        """Return how many segments of each arm [K] all clients that are evidence have completed."""
        completed = self.memory.completed_segments
        counts: NDArray[np.int64] = completed.min(axis=0, initial=NOT_REACHED, where=self.is_evidence[:, None])
        return counts

    def take_segments(self, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the sums of the segments before ``counts`` [K] that were not taken before: [segments, M] by arm."""
        sums = []
        for arm, (first, end) in enumerate(zip(self.delivered_segments.tolist(), counts.tolist(), strict=True)):
            new = self.memory.segment_sums[:, arm, first : max(first, end)].T.copy()
            new[:, ~self.is_evidence] = 0.0
            sums.append(new)
        self.delivered_segments = counts
        return sums

    def take_evidence(self) -> Evidence:
        """Return the segments that all clients in evidence have completed since the last consultation."""
        return Evidence(tuple(map(read_only, self.take_segments(self.count_segments()))))

    def open_routine(self, teacher: Teacher, state: Any) -> RoutineConsultations | None:
        """Return a teacher's routine consultations with these clients, None if it has none."""
        return open_routine(teacher, state, self.memory)

    def consult_routinely(self, routine: RoutineConsultations) -> bool:
        """Consult a teacher in compiled code and put its answer in force; False if it does not answer."""
        leading_arm = routine.consult(self.is_evidence, self.delivered_segments, self.quota)
        if leading_arm is None:
            return False
        if leading_arm != self.rule_arrays.leading_arm:
            self.rule_arrays = self.rule_arrays._replace(leading_arm=leading_arm)
            self.published = ()
        return True

    def exclude(self, client: int) -> None:
        """Leave a client of the run, numbered from its first one, out of the evidence if it is one of these."""
        if self.own.start <= client < self.own.stop:
            self.is_evidence[client - self.own.start] = False
            self.has_excluded = True

    def finish(self) -> ClientOutcome:
        """Return what was recorded, at the horizon; nothing else may be asked after it."""
        self.record.note_clients(self.memory, self.request.horizon)
        record, noticed = self.record, self.memory.noticed_in[:, 0].copy()
        pulls, costs = record.pulls, record.costs
        if is_kept(self.request, self.own, self.workspace):
            pulls, costs = pulls.copy(), costs.copy()
            leave_workspace(self.request, self.teacher, self.workspace)  # a run in another thread may write in it now
        return ClientOutcome(pulls, costs, noticed, record.piece_pulls, record.piece_costs, self.trace)

    def _find_rule_arrays(self, directive: Directive) -> RuleArrays:
        """Return the rules of a directive as arrays."""
        rules, active = tuple(directive.rules), tuple(directive.active_arms)
        rule_arrays = _share_rule_arrays(rules, active, directive.leading_arm, directive.target)
        return rule_arrays._replace(rounding_key=self.rounding_key) if self.rounding_key.size else rule_arrays

    def _next_any(self, last: int) -> int | None:
        """Do the same for a quota that any one listed arm meets.

        If one kernel plays all clients it finds the round by itself.  Otherwise a longer stretch than is
        safe is played; if the quota was met within it, it is played again from a copy of the memory up to
        that round.  Agents cannot go back, and many clients would take too much memory for a copy.
        """
        least_missing, first_round_met = quota_kernels()
        num_listed = int(np.count_nonzero(self.quota))
        has_one_kernel = len(self.policies.groups) == 1 and not self.request.sums_clients
        memory, quota, is_evidence = self.memory, self.quota, self.is_evidence
        before = memory.block
        while (now := self._current_round()) < last:
            if has_one_kernel:
                self._advance(min(last, now + self.slice), self.all_clients, STOP_AT_ANY)
                end = self._current_round()
            else:
                safe_rounds = max(1, least_missing(memory.evidence_pulls, quota, is_evidence))
                stretch = max(safe_rounds * num_listed, _LEAST_STRETCH)
                end = min(last, now + (stretch if self.can_go_back else safe_rounds))
                if end > now + safe_rounds:
                    before = memory.block.copy()
                self.advance(end)
            round = max(first_round_met(memory.quota_rounds, quota, is_evidence), now + 1)
            if round < end:
                np.copyto(memory.block, before)
                self.advance(round)
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
        """Take these clients to ``last``, or to where ``stop`` says: threads all of them at once, else one by one."""
        groups: Iterable[tuple[RepeatedCalls, NDArray[np.int64]]] = self.groups
        if which is not self.all_clients:
            groups = [(kernel, members[which[members]]) for kernel, members in groups]
        chosen = [(ClientCall(kernel, clients, last), self.slice) for kernel, clients in groups if clients.size]
        for together in [chosen] if self.threads is not None and chosen else [[each] for each in chosen]:
            self._advance_together(together, last, stop)

    def _advance_together(self, groups: list[tuple[ClientCall, int]], last: int, stop: int) -> None:
        """Do the same for groups of clients, in slices.

        After a slice of which clients have leapt over most, the next one is twice as long.
        """
        rounds = self.memory.rounds
        while groups:
            for place, (call, slice) in enumerate(groups):
                if slice < last:
                    end = min(last, int(rounds[call.clients].min()) + slice)
                    groups[place] = call._replace(end=end), slice
            before = [0 if call.end == last else self._count_stepped(call.clients) for call, _ in groups]
            for _ in self._play([call for call, _ in groups], stop):
                self._report_progress()
            self._report_progress()
            if self._is_cancelled():
                raise Cancelled
            following = []
            for (call, slice), count in zip(groups, before, strict=True):
                if call.end < last:
                    stepped, size = self._count_stepped(call.clients) - count, call.clients.size
                    clients = call.clients[~self._has_quota()[call.clients]] if stop == STOP_AT_ALL else call.clients
                    next_slice = 2 * slice if stepped < size * self.slice / 2 else self.slice
                    if clients.size:
                        following.append((ClientCall(call.kernel, clients, last), next_slice))
            groups = following

    def _count_stepped(self, clients: NDArray[np.int64]) -> int:
        """Return how many rounds these clients have not leapt over."""
        return int((self.memory.rounds[clients] - self.memory.leapt_rounds[clients]).sum())

    def _report_progress(self) -> None:
        if self.player.progress is not None and time.monotonic() - self.reported_at > _REPORT_EVERY:
            self.player.progress(float(self.memory.rounds.mean()) / self.request.horizon)
            self.reported_at = time.monotonic()

    def _is_cancelled(self) -> bool:
        return self.player.cancel is not None and self.player.cancel.is_set()

    def _play(self, calls: list[ClientCall], stop: int) -> Iterator[None]:
        """Play these calls, in threads if there are any and it pays off; yield from time to time."""
        threads = None if stop == STOP_AT_ANY else self.threads  # which needs all clients in one call
        many = self.request.sums_clients
        if threads is not None and is_worth_dividing(self.memory, calls, has_many_clients=many):
            yield from play_in_threads(
                threads, self.record, self.memory, calls, functools.partial(self._new_player, stop)
            )
            return
        for call in calls:
            for clients in self.record.cut(call.clients) if stop != STOP_AT_ANY else [call.clients]:
                if not self._is_cancelled():
                    self._call(call.kernel, clients, call.end, stop, self.prospect, self.stretch)
                yield

    def _new_player(self, stop: int) -> PlayShare:
        """Return a function that makes calls in one of several threads, in arrays that no other thread writes."""
        scratch = new_scratch(self.quota.size)

        def play(call: ClientCall, part: RoundRecord) -> None:
            if not self._is_cancelled():
                self._call_recorded(call.kernel, call.clients, call.end, stop, *scratch, part)

        return play

    def _call(
        self, kernel: Any, clients: NDArray[np.int64], last: int, stop: int, prospect: Prospect, stretch: Stretch
    ) -> None:
        part = self.record.open_part(self.memory, clients)
        self._call_recorded(kernel, clients, last, stop, prospect, stretch, part)
        sums = self.record.close_part(part, self.memory, clients)
        if sums is not None:
            self.record.add_sums(sums)

    def _call_recorded(
        self,
        kernel: Any,
        clients: NDArray[np.int64],
        last: int,
        stop: int,
        prospect: Prospect,
        stretch: Stretch,
        part: RoundRecord,
    ) -> None:
        try:
            kernel(
                self.memory,
                part,
                self.trace,
                prospect,
                stretch,
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
            policy, num_arms = self.request.policies[self.own.start + clients[0]], self.quota.size
            if isinstance(error, IndexError) and not str(error):
                raise policy_chose_no_arm(policy, num_arms) from None
            raise_code_error(policy, self.request.instance.rewards, error, num_arms)
        if self.agents is not None:
            self.agents.check()
