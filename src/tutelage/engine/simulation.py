"""One run: every client under one teacher, consulted where its quota is met.

tests/reference.py plays the same game round by round, and the two agree draw for draw; ``run_clients.py`` advances the
clients.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Protocol

from tutelage.engine.agent_group import open_agents
from tutelage.engine.client_shares import ClientThreads
from tutelage.engine.routine_consultations import RoutineConsultations
from tutelage.engine.run_clients import ClientOutcome, DirectiveChange, Player, RunClients
from tutelage.engine.scheduled_changes import ScheduledChange, schedule_changes
from tutelage.request import SimulationRequest
from tutelage.run_outcome import RunEvent, RunOutcome, count_messages
from tutelage.seeding import teacher_generator
from tutelage.teachers.base import Directive, Evidence, Teacher
from tutelage.teachers.checks import ask, ask_directive, ask_report

# Where consultations follow each other closely, compiled calls are so short that runs in several threads
# would pass the interpreter back and forth and take longer than one by one: they take turns.
_INTERPRETER_TURN = threading.Lock()


def simulate_run(
    request: SimulationRequest,
    teacher: int,
    run: int,
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    threads: ClientThreads | None = None,
    trace: bool = False,
) -> RunOutcome:
    """Play one run of a request under one of its teachers; runs and teachers are counted from 0.

    Once ``cancel`` is set, the run soon ends with :class:`Cancelled`.  ``progress`` is called from time to
    time with the share of the run that has been played.  ``threads``, none of which may call this, change how long
    it takes, never the outcome.  ``trace`` records every pull, M x T of them.
    """
    with open_agents(request, run, cancel) as agents:
        clients = RunClients(request, teacher, run, Player(cancel, progress, agents, threads), trace=trace)
        return play_run(request, teacher, run, clients)


def play_run(request: SimulationRequest, teacher: int, run: int, clients: "PlayedClients") -> RunOutcome:
    """Play one run of a request under one of its teachers with its clients, wherever they are."""
    return _Simulation(request, teacher, run, clients).play()


class PlayedClients(Protocol):
    """The clients of a run: :class:`RunClients`, which describes the functions, or shards of them."""

    def publish(self, directive: Directive, change: DirectiveChange) -> None: ...
    def find_consultation(self, last: int) -> int | None: ...
    def advance(self, last: int) -> None: ...
    def take_evidence(self) -> Evidence: ...
    def open_routine(self, teacher: Teacher, state: Any) -> RoutineConsultations | None: ...
    def consult_routinely(self, routine: RoutineConsultations) -> bool: ...
    def shift(self, number: int) -> None: ...
    def exclude(self, client: int) -> None: ...
    def finish(self) -> ClientOutcome: ...


class _Simulation:
    """The teacher's side of one run; :func:`play_run` is its only user."""

    def __init__(self, request: SimulationRequest, teacher: int, run: int, clients: PlayedClients) -> None:
        self.request, self.place, self.clients = request, (teacher, run), clients
        self.teacher = request.teachers[teacher]
        self.problem = request.problem_for(self.teacher)
        self.changes = schedule_changes(request, run)
        self.restarts = self.windows = self.num_consultations = 0
        self.num_evidence = request.instance.num_clients
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
            self.clients.advance(last)  # no client pulls: pending rewards are revealed
            if not self.changes:
                break
            self._apply(self.changes.pop(0))
        self._end_routine()
        teacher, run = self.place
        played = self.clients.finish()
        return RunOutcome(
            teacher=teacher,
            run=run,
            pulls=played.pulls,
            costs=played.costs,
            events=tuple(self.events),
            target=self.target,
            decided_in=self.decided_in,
            report=ask_report(self.teacher, self.state),
            noticed_in=played.noticed_in,
            messages=count_messages(self.problem.num_clients, 1 + len(self.events), self.num_consultations),
            trace=played.trace,
            total_pulls=played.piece_pulls.sum(axis=0) if self.request.sums_clients else None,
            total_costs=played.piece_costs.sum(axis=0) if self.request.sums_clients else None,
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
                round = self.clients.find_consultation(last)
                if round is None:
                    return
                self.num_consultations += 1
                if not self._consult_routinely(round):
                    self.state = ask(self.teacher, "advance", self.state, self.clients.take_evidence())
                    self._publish(round)
                if round == last:
                    return

    def _apply(self, change: ScheduledChange) -> None:
        """Shift the means, or exclude a client unless it is the last one that is evidence."""
        if change.phase is not None:
            self.clients.shift(change.phase)
        elif self.num_evidence > 1:
            self.num_evidence -= 1
            self.clients.exclude(change.client)
            self._end_routine()
            self.state = ask(self.teacher, "exclude", self.state, change.client)
            self._publish(change.round)

    def _publish(self, round: int) -> None:
        """Put the teacher's directive in force; ``round`` is the current round, 0 at the start."""
        directive = ask_directive(self.teacher, self.problem, self.state)
        self.directive = directive
        change = DirectiveChange(
            directive.restarts > self.restarts, directive.windows > self.windows, directive.target != self.target
        )
        self.restarts, self.windows = max(self.restarts, directive.restarts), max(self.windows, directive.windows)
        self.clients.publish(directive, change)
        if round > 0:
            self.events.append(RunEvent(round, directive.active_arms, directive.target))
        if change.has_new_target:  # an exclusion may withdraw a decision or change it
            self.target = directive.target
            self.decided_in = None if directive.target is None else round
        self.routine = self.clients.open_routine(self.teacher, self.state)

    def _consult_routinely(self, round: int) -> bool:
        """Consult the teacher in compiled code; False if that does not answer, and ``advance`` must."""
        if self.routine is None:
            return False
        if not self.clients.consult_routinely(self.routine):
            self._end_routine()
            return False
        self.events.append(RunEvent(round, self.directive.active_arms, self.directive.target))
        return True

    def _end_routine(self) -> None:
        """Let ``state`` be the teacher's state, which meanwhile only the routine's arrays had."""
        if self.routine is not None:
            self.state, self.routine = self.routine.restore(), None
