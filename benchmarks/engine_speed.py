"""Measure client-steps per second on one core: the engine and its rivals."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from measurements import RATE, Measurement, RivalResult, Samples
from other_libraries import Rival, list_rivals, play_plain_taught

from tutelage import instances
from tutelage.engine.simulation import simulate_run
from tutelage.simulator import make_request
from tutelage.teachers import TEACHERS

HORIZON = 50_000
NUM_CHECKPOINTS = 200

TAL = "tal(gamma1=0,gamma2=0)"

# (teacher, policy) -> client-steps per second
TARGETS = {
    ("none", "ucb1"): 100e6,
    ("none", "eps-greedy"): 30e6,
    ("none", "ts"): 3.5e6,
    (TAL, "ucb1"): 20e6,
    (TAL, "eps-greedy"): 20e6,
}

# (policy, horizon) -> client-steps per second of clients that are not taught, with the engine `leap`
LONG_TARGETS = {
    (policy, 10**power): rate for power in (6, 8) for policy, rate in (("ucb1", 100e6), ("eps-greedy", 500e6))
}
LONGEST_RIVAL = 10**6  # rounds; PyMAB stores about 400 bytes of each


@dataclass
class Contender:
    """An implementation whose speed is measured; ``measure`` returns client-steps per second."""

    name: str
    measure: Callable[[], float] | None
    note: str = ""
    rates: list[float] = field(default_factory=list)

    def make_result(self) -> RivalResult:
        return RivalResult(self.name, Samples(tuple(self.rates)) if self.rates else None, self.note)


def measure_speeds(turns: int, seconds: float, runs: int) -> list[Measurement]:
    """Measure every contender ``turns`` times, in turns, so that a busy moment of the machine affects all alike.

    One measurement takes a rival about ``seconds`` seconds, and the engine ``runs`` whole runs.
    """
    rivals = list_rivals()
    contests = {case: [_make_engine(*case, runs), *_make_rivals(*case, rivals, seconds)] for case in TARGETS}
    for turn in range(turns):
        print(f"... client-steps per second: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        for contenders in contests.values():
            for contender in contenders:
                if contender.measure is not None:
                    contender.rates.append(contender.measure())
    results = []
    for (teacher, policy), (ours, *others) in contests.items():
        samples, found = Samples(tuple(ours.rates)), tuple(other.make_result() for other in others)
        results.append(Measurement(f"{policy}, {teacher}", RATE, samples, TARGETS[teacher, policy], found))
    return results


def measure_long(turns: int) -> list[Measurement]:
    """Measure clients without a teacher at long horizons, and PyMAB, which is compiled, where memory allows."""
    pymab = next(rival for rival in list_rivals() if rival.name.startswith("PyMAB"))
    means, results = instances.load("paper").local_means, []
    for (policy, horizon), target in LONG_TARGETS.items():
        print(f"... {policy}, T = {horizon:,}", file=sys.stderr, flush=True)
        ours = _measure_run(policy, horizon, turns)
        rival = RivalResult(pymab.name, None, pymab.note or "not run: it would store about 400 bytes of each round")
        if pymab.play is not None and horizon <= LONGEST_RIVAL:
            began = time.perf_counter()
            pymab.play(policy, means[0].tolist(), horizon)
            rival = RivalResult(pymab.name, Samples((horizon / (time.perf_counter() - began),)))
        results.append(Measurement(f"{policy}, none, T = {horizon:,}, leap", RATE, ours, target, (rival,)))
    return results


def _measure_run(policy: str, horizon: int, turns: int) -> Samples:
    """Return the client-steps per second of whole runs of the paper's instance with the engine ``leap``."""
    request = make_request(
        "paper", "none", policy, horizon=horizon, runs=1, seed=1, checkpoints="logarithmic", engine="leap"
    )
    simulate_run(make_request("paper", "none", policy, horizon=1000, runs=1, seed=1, engine="leap"), 0, 0)
    rates = []
    for _ in range(turns):
        began = time.perf_counter()
        simulate_run(request, 0, 0)
        rates.append(horizon * request.instance.num_clients / (time.perf_counter() - began))
    return Samples(tuple(rates))


def _make_engine(teacher_spec: str, policy_spec: str, runs: int) -> Contender:
    """Return the engine on whole runs of the paper's instance, including seeding and recording."""
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


def _make_rivals(teacher: str, policy: str, rivals: Sequence[Rival], seconds: float) -> list[Contender]:
    if teacher == "none":
        return [_make_client(rival, policy, seconds) for rival in rivals]
    return [_make_taught_reference(policy)]


def _make_client(rival: Rival, policy: str, seconds: float) -> Contender:
    """Return a rival as the first client of the paper's instance, for about ``seconds`` per measurement."""
    play = rival.play
    if play is None:
        return Contender(rival.name, None, rival.note)
    means = instances.load("paper").local_means[0].tolist()

    def measure_rate(steps: int) -> float:
        began = time.perf_counter()
        play(policy, means, steps)
        return steps / (time.perf_counter() - began)

    earned = play(policy, means, 2_000) / 2_000
    note = "" if earned > sum(means) / len(means) else "earns no more than random choices"
    steps = min(HORIZON, max(2_000, int(measure_rate(2_000) * seconds)))
    return Contender(rival.name, lambda: measure_rate(steps), note)


def _make_taught_reference(policy: str) -> Contender:
    """Return Alg. 1 and all clients in plain Python (tests/reference.py)."""
    local_means = instances.load("paper").local_means.tolist()

    def measure() -> float:
        began = time.perf_counter()
        play_plain_taught(policy, "AlgorithmOne", (0.0, 0.0), local_means, HORIZON)
        return HORIZON * len(local_means) / (time.perf_counter() - began)

    return Contender("plain Python, Alg. 1", measure)
