"""The clients of one run as shards in the memory of Dask workers, where they stay.

A shard is a future whose value, a :class:`Shard`, remembers how many steps of the run it has made.  Each call sends all
steps of the run so far; the shard makes those that it lacks, so a step is never made twice.  If its worker ends, Dask
makes the shard again elsewhere, and the next call replays the run.  What travels are directives, rounds and the sums
of segments.
"""

import functools
import itertools
import threading
from typing import Any

import numpy as np

from tutelage.distributions.bernoulli import Bernoulli
from tutelage.distributions.beta import Beta
from tutelage.distributions.constant import Constant
from tutelage.distributions.gaussian import Gaussian
from tutelage.engine import run_record
from tutelage.engine.agent_group import has_agents
from tutelage.engine.routine_consultations import RoutineConsultations
from tutelage.engine.run_clients import SLICE, ClientOutcome, DirectiveChange, Player, RunClients
from tutelage.errors import InputError
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.run_outcome import PullTrace
from tutelage.seeding import teacher_generator
from tutelage.teachers.base import Directive, Evidence, Teacher
from tutelage.teachers.checks import ask, ask_directive

_INDEPENDENT = (Bernoulli, Beta, Constant, Gaussian)  # they read a client's number only to find its mean
_JOINED = [name for name in ClientOutcome._fields if name != "trace"]
Step = tuple[str, tuple[Any, ...]]  # a function of RunClients and its arguments


def can_be_sharded(request: SimulationRequest) -> bool:
    """Return whether shards give the same bytes: of many clients that do not depend on each other while they play.

    A quota of mode ``any`` depends on all clients after every few rounds.  Where a run that leaps is longer than a
    slice (run_clients.py), the rounds at which its stretches end depend on all clients, too.
    """
    if not request.sums_clients or request.binary_reveals or has_agents(request):
        return False
    if not isinstance(request.instance.rewards, _INDEPENDENT):
        return False
    if request.engine == "leap" and request.horizon > SLICE:
        return False
    for teacher in request.teachers:
        problem = request.problem_for(teacher)
        state = ask(teacher, "begin", problem, teacher_generator(request.seed, 0))
        if _waits_for_any(ask_directive(teacher, problem, state)):
            return False
    return True


def _waits_for_any(directive: Directive) -> bool:
    return directive.quota is not None and directive.quota.mode == "any"


class Shard:
    """Some clients of a run, on a worker.  A copy is made from the first round on."""

    def __init__(
        self, requests: tuple[SimulationRequest, ...], number: int, teacher: int, run: int, own: slice
    ) -> None:
        self.arguments = (requests, number, teacher, run, own)
        self.clients = RunClients(requests[number], teacher, run, Player(), own=own)
        self.num_steps, self.answer = 0, None
        self.lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, self.arguments

    def __sizeof__(self) -> int:
        """Return the bytes by which Dask judges whether a shard is worth moving."""
        return int(self.clients.memory.block.nbytes)


def advance_shard(shard: Shard, steps: tuple[Step, ...]) -> Any:
    """Make the steps that a shard has not made yet, and return what the last one returns."""
    with shard.lock:
        for name, arguments in steps[shard.num_steps :]:
            shard.answer = getattr(shard.clients, name)(*arguments)
            shard.num_steps += 1
        return shard.answer


class ShardedClients:
    """All clients of a run in shards, one for each thread of the workers; see :class:`RunClients` for the functions.

    ``client`` is that of Dask, and ``sent`` a future of the requests, of which ``number`` is the run's.
    """

    def __init__(self, client: Any, sent: Any, request: SimulationRequest, number: int, teacher: int, run: int) -> None:
        self.submit, self.gather = functools.partial(client.submit, pure=False), client.gather
        threads = [worker for worker, count in client.nthreads().items() for _ in range(count)]
        num_clients = request.instance.num_clients
        num_pieces = -(-num_clients // run_record.PIECE)
        starts = sorted({run_record.PIECE * (num_pieces * shard // len(threads)) for shard in range(len(threads))})
        self.shards = [
            self.submit(
                Shard, sent, number, teacher, run, slice(start, end), workers=[worker], allow_other_workers=True
            )
            for (start, end), worker in zip(itertools.pairwise([*starts, num_clients]), threads, strict=False)
        ]
        self.steps: list[Step] = []
        self.round = 0

    def publish(self, directive: Directive, change: DirectiveChange) -> None:
        if _waits_for_any(directive):
            raise InputError(
                "The teacher waits for any one of several arms: use the executor threads for many clients."
            )
        self.has_quota = directive.quota is not None
        self._note("publish", directive, change)

    def find_consultation(self, last: int) -> int | None:
        if not self.has_quota or self.round >= last:
            self.advance(last)
            return None
        self.round = max(self._ask("advance_to_quota", last))
        return self.round if all(self._ask("level", self.round)) else None

    def advance(self, last: int) -> None:
        self.round = last
        self._note("advance", last)

    def take_evidence(self) -> Evidence:
        counts = np.min(self._ask("count_segments"), axis=0)
        sums = self._ask("take_segments", counts)
        return Evidence(tuple(read_only(np.hstack(of_arm)) for of_arm in zip(*sums, strict=True)))

    def open_routine(self, teacher: Teacher, state: Any) -> None:
        """Return None: the teacher is asked in every consultation."""

    def consult_routinely(self, routine: RoutineConsultations) -> bool:
        raise AssertionError

    def shift(self, number: int) -> None:
        self._note("shift", number)

    def exclude(self, client: int) -> None:
        self._note("exclude", client)

    def finish(self) -> ClientOutcome:
        outcomes: list[ClientOutcome] = self._ask("finish")
        arrays = {name: np.concatenate([getattr(each, name) for each in outcomes]) for name in _JOINED}
        traces = zip(*(each.trace for each in outcomes), strict=True)
        return ClientOutcome(**arrays, trace=PullTrace(*(np.concatenate(each) for each in traces)))

    def _note(self, name: str, *arguments: Any) -> None:
        """Let all shards make a step with the next one that is asked for."""
        self.steps.append((name, arguments))

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        """Let all shards make a step, and return what each returns."""
        self._note(name, *arguments)
        steps = tuple(self.steps)
        return list(self.gather([self.submit(advance_shard, shard, steps) for shard in self.shards]))
