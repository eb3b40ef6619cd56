"""The clients of one run as shards in the memory of Dask workers, where they stay.

A shard is a future whose value, a :class:`Shard`, remembers how many steps of the run it has made.  Each call sends all
steps of the run so far; the shard makes those that it lacks, so a step is never made twice.  If its worker ends, Dask
makes the shard again elsewhere, and the next call replays the run.  What travels are directives, rounds and the sums
of segments, and how far shards have played.

Clients are dealt to the shards in blocks, one after the other, because those next to each other often have the same
policy, and a round of one policy takes longer than that of another.
"""

import functools
import importlib
import itertools
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
_BLOCKS_PER_SHARD = 16  # at most
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


class ShardPlace(NamedTuple):
    """Whose clients a shard has: blocks of those of a run, each of whole pieces.  It reports under ``topic``."""

    number: int
    teacher: int
    run: int
    shard: int
    blocks: tuple[slice, ...]
    topic: str | None


class Shard:
    """Some clients of a run, on a worker.  A copy is made from the first round on."""

    def __init__(self, requests: tuple[SimulationRequest, ...], place: ShardPlace) -> None:
        self.requests, self.place = requests, place
        self.played = [0.0] * len(place.blocks)  # rounds of clients in each block, in runs of one client
        self.blocks = [
            RunClients(
                requests[place.number],
                place.teacher,
                place.run,
                Player(progress=None if place.topic is None else functools.partial(self._report, number)),
                own=own,
            )
            for number, own in enumerate(place.blocks)
        ]
        self.num_steps, self.answers = 0, list[Any]()
        self.lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, (self.requests, self.place)

    def __sizeof__(self) -> int:
        """Return the bytes by which Dask judges whether a shard is worth moving."""
        return sum(int(clients.memory.block.nbytes) for clients in self.blocks)

    def _report(self, block: int, share: float) -> None:
        """Send how much of a shard has been played."""
        own, place = self.place.blocks[block], self.place
        self.played[block] = share * (own.stop - own.start)
        worker = importlib.import_module("distributed").get_worker()
        worker.log_event(place.topic, [[place.number, place.teacher, place.run], place.shard, sum(self.played)])


def advance_shard(shard: Shard, steps: tuple[Step, ...]) -> list[Any]:
    """Make the steps that a shard has not made yet, and return what the last one returns for each block."""
    with shard.lock:
        for name, arguments in steps[shard.num_steps :]:
            shard.answers = [getattr(clients, name)(*arguments) for clients in shard.blocks]
            shard.num_steps += 1
        return shard.answers


class ShardProgress:
    """How much of one run after the other has been played, by the reports of its shards.

    ``note`` gets the run and the share of it that has been played, in a thread of Dask.
    """

    def __init__(self, client: Any, note: Callable[[tuple[int, int, int], float], None]) -> None:
        self.topic, self.note = f"tutelage-{uuid.uuid4().hex}", note
        self.lock = threading.Lock()
        self.run: tuple[int, int, int] | None = None
        client.subscribe_topic(self.topic, self._receive)

    def follow(self, run: tuple[int, int, int] | None, num_clients: int = 1) -> None:
        """From now on note the progress of this run only, of none with None."""
        with self.lock:
            self.run, self.num_clients = run, num_clients
            self.played: dict[int, float] = {}

    def _receive(self, event: Sequence[Any]) -> None:
        run, shard, played = event[1]
        with self.lock:
            if tuple(run) == self.run:
                self.played[shard] = played
                self.note(self.run, sum(self.played.values()) / self.num_clients)


class ShardedClients:
    """All clients of a run in shards, one for each thread of the workers; see :class:`RunClients` for the functions.

    ``client`` is that of Dask, and ``sent`` a future of the requests, of which ``number`` is the run's.  Shards report
    their progress under ``topic``, if it is given.
    """

    def __init__(
        self,
        client: Any,
        sent: Any,
        request: SimulationRequest,
        number: int,
        teacher: int,
        run: int,
        topic: str | None = None,
    ) -> None:
        self.submit, self.gather = functools.partial(client.submit, pure=False), client.gather
        threads = [worker for worker, count in client.nthreads().items() for _ in range(count)]
        blocks = cut_into_blocks(request.instance.num_clients, len(threads))
        self.num_blocks = len(blocks)
        self.shards = []
        for shard, worker in enumerate(threads[: len(blocks)]):
            place = ShardPlace(number, teacher, run, shard, tuple(blocks[shard :: len(threads)]), topic)
            self.shards.append(self.submit(Shard, sent, place, workers=[worker], allow_other_workers=True))
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
        """Let all shards make a step, and return what each block returns, in the order of the clients."""
        self._note(name, *arguments)
        steps = tuple(self.steps)
        answers = list(self.gather([self.submit(advance_shard, shard, steps) for shard in self.shards]))
        return [answers[block % len(answers)][block // len(answers)] for block in range(self.num_blocks)]


def cut_into_blocks(num_clients: int, num_shards: int) -> list[slice]:
    """Cut the clients of a run into blocks of whole pieces, to be dealt to as many shards."""
    num_pieces = -(-num_clients // run_record.PIECE)
    count = min(num_pieces, _BLOCKS_PER_SHARD * num_shards)
    starts = [run_record.PIECE * (num_pieces * block // count) for block in range(count)]
    return [slice(start, end) for start, end in itertools.pairwise([*starts, num_clients])]
