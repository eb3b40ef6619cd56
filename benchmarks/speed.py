"""Client-steps a second on one core: the engine beside its rivals."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import rivals
from figures import RATE, Beside, Figure, Samples

from tutelage import instances
from tutelage.engine.simulation import simulate_run
from tutelage.lab import make_request
from tutelage.teachers import TEACHERS

HORIZON = 50_000
NUM_CHECKPOINTS = 200

TAL = "tal(gamma1=0,gamma2=0)"

# (teacher, policy) -> client-steps a second
WANTED = {
    ("none", "ucb1"): 30e6,
    ("none", "eps-greedy"): 30e6,
    ("none", "ts"): 3.5e6,
    (TAL, "ucb1"): 20e6,
    (TAL, "eps-greedy"): 20e6,
}


@dataclass
class Contender:
    """Someone whose speed is measured; ``measure`` gives client-steps a second."""

    name: str
    measure: Callable[[], float] | None
    note: str = ""
    rates: list[float] = field(default_factory=list)

    def beside(self) -> Beside:
        return Beside(self.name, Samples(tuple(self.rates)) if self.rates else None, self.note)


def speeds(turns: int, seconds: float, runs: int) -> list[Figure]:
    """Every contender measured so often, in turns, so that a busy moment of the machine hits all alike.

    One measurement takes a rival about so many ``seconds``, and is so many whole ``runs`` for the engine.
    """
    found = rivals.find()
    contests = {case: [_engine(*case, runs), *_others(*case, found, seconds)] for case in WANTED}
    for turn in range(turns):
        print(f"... client-steps a second: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        for contenders in contests.values():
            for contender in contenders:
                if contender.measure is not None:
                    contender.rates.append(contender.measure())
    figures = []
    for (teacher, policy), (ours, *others) in contests.items():
        samples, beside = Samples(tuple(ours.rates)), tuple(other.beside() for other in others)
        figures.append(Figure(f"{policy}, {teacher}", RATE, samples, WANTED[teacher, policy], beside))
    return figures


def _engine(teacher_spec: str, policy_spec: str, runs: int) -> Contender:
    """Whole runs of the paper's instance, all that a run needs included, from its seeds to its record."""
    instance, teacher = instances.load("paper"), TEACHERS.parse(teacher_spec)
    request = make_request(
        instance, teacher, policy_spec, horizon=HORIZON, runs=runs, seed=1, checkpoints=NUM_CHECKPOINTS
    )
    steps: int = HORIZON * instance.num_clients

    def play(run: int) -> None:
        simulate_run(request, 0, run)

    def measure() -> float:
        began = time.perf_counter()
        for run in range(runs):
            play(run)
        return runs * steps / (time.perf_counter() - began)

    play(0)  # compiles, or reads the kernel from the cache
    return Contender("Tutelage", measure)


def _others(teacher: str, policy: str, found: Sequence[rivals.Rival], seconds: float) -> list[Contender]:
    if teacher == "none":
        return [_client(rival, policy, seconds) for rival in found]
    return [_taught_reference(policy)]


def _client(rival: rivals.Rival, policy: str, seconds: float) -> Contender:
    """A rival as the first client of the paper's instance, over as many steps as take about so long."""
    play = rival.play
    if play is None:
        return Contender(rival.name, None, rival.note)
    means = instances.load("paper").local_means[0].tolist()

    def timed(steps: int) -> float:
        began = time.perf_counter()
        play(policy, means, steps)
        return steps / (time.perf_counter() - began)

    earned = play(policy, means, 2_000) / 2_000
    note = "" if earned > sum(means) / len(means) else "earns no more than chance"
    steps = min(HORIZON, max(2_000, int(timed(2_000) * seconds)))
    return Contender(rival.name, lambda: timed(steps), note)


def _taught_reference(policy: str) -> Contender:
    """The whole game in plain Python: tests/reference.py has Alg. 1 and the clients."""
    local_means = instances.load("paper").local_means.tolist()

    def measure() -> float:
        began = time.perf_counter()
        rivals.play_plain_taught(policy, "AlgorithmOne", (0.0, 0.0), local_means, HORIZON)
        return HORIZON * len(local_means) / (time.perf_counter() - began)

    return Contender("plain Python, Alg. 1", measure)
