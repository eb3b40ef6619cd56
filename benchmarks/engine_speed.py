"""Measure client-steps per second of processor time on one core: the engine and its rivals."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from measurements import RATE, SPEEDUP, Measurement, RivalResult, Samples
from other_libraries import POLICIES, Rival, list_rivals, play_plain_taught

from tutelage import instances
from tutelage.engine.simulation import simulate_run
from tutelage.simulator import make_request

HORIZON = 50_000
NUM_CHECKPOINTS = 200

PAPER = "paper"
MANY = "uniform:clients=200,arms=5,seed=1"
TAL = "tal(gamma1=0,gamma2=0)"


@dataclass(frozen=True)
class Case:
    """Whole runs of an instance with 5 arms up to T = 50,000, on one core."""

    policy: str
    teacher: str = "none"
    engine: str = "step"
    instance: str = PAPER
    checkpoints: int | str = NUM_CHECKPOINTS

    @property
    def name(self) -> str:
        parts = [self.policy, self.teacher, *(["leap"] if self.engine == "leap" else [])]
        return ", ".join([*parts, *(["200 clients"] if self.instance == MANY else [])])


# -> client-steps per second
TARGETS = {
    Case("ucb1"): 100e6,
    Case("ucb1", instance=MANY): 100e6,
    Case("eps-greedy"): 30e6,
    Case("eps-greedy", engine="leap", checkpoints="logarithmic"): 500e6,
    Case("eps-greedy", engine="leap", checkpoints="logarithmic", instance=MANY): 500e6,
    Case("ts"): 3.5e6,
    Case("ts", engine="leap", checkpoints="logarithmic"): 10e6,
    Case("ts", "known", "leap", checkpoints="logarithmic"): 500e6,
    Case("ts", "known", "leap", checkpoints="logarithmic", instance=MANY): 500e6,
    Case("ucb1", TAL): 20e6,
    Case("eps-greedy", TAL): 20e6,
}
STEPPED = Case("ts", TAL)  # and how many times faster leaping must be
LEAPING_GAIN = 5.0
PLAIN_LIBRARIES, LIBRARY_GAIN = ("MABWiser", "River", "SMPyBandits"), 250.0  # likewise

# (policy, horizon) -> client-steps per second of clients that are not taught, with the engine `leap`
LONG_TARGETS = {
    (policy, 10**power): rate for power in (6, 8) for policy, rate in (("ucb1", 100e6), ("eps-greedy", 500e6))
}
LONGEST_RIVAL = 10**6  # rounds; PyMAB stores about 400 bytes of each


@dataclass
class Contender:
    """An implementation whose speed is measured."""

    name: str
    measure: Callable[[], float] | None  # client-steps per second
    note: str = ""
    rates: list[float] = field(default_factory=list)

    def make_result(self) -> RivalResult:
        return RivalResult(self.name, Samples(tuple(self.rates)) if self.rates else None, self.note)


def measure_speeds(turns: int, seconds: float, runs: int) -> list[Measurement]:
    """Measure every contender ``turns`` times, in turns, so that a busy moment of the machine affects all alike.

    One measurement takes a rival about ``seconds`` seconds, and the engine ``runs`` whole runs.
    """
    rivals = list_rivals()
    contests = {case: [_make_engine(case, runs), *_make_rivals(case, rivals, seconds)] for case in TARGETS}
    for turn in range(turns):
        print(f"... client-steps per second: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        for contenders in contests.values():
            for contender in contenders:
                if contender.measure is not None:
                    contender.rates.append(contender.measure())
    results = []
    for case, (ours, *others) in contests.items():
        samples, found = Samples(tuple(ours.rates)), tuple(other.make_result() for other in others)
        results.append(Measurement(case.name, RATE, samples, TARGETS[case], found))
    return [*results, *_compare_with_libraries(contests)]


def _compare_with_libraries(contests: Mapping[Case, Sequence[Contender]]) -> list[Measurement]:
    """Return how many times faster the faster engine is than the fastest library whose loop is plain Python."""
    results = []
    for policy in POLICIES:
        untaught = [each for case, each in contests.items() if case.policy == policy and _has_rivals(case)]
        ours = max(median(contenders[0].rates) for contenders in untaught)
        names = {other.name: other.rates for other in untaught[0][1:] if other.name.startswith(PLAIN_LIBRARIES)}
        measured = {name: median(rates) for name, rates in names.items() if rates}
        fastest = max(measured, key=lambda name: measured[name], default="none of them is installed")
        samples = Samples((ours / measured[fastest],)) if measured else None
        what = f"{policy}, none: times as fast as {fastest}"
        results.append(Measurement(what, SPEEDUP, samples, LIBRARY_GAIN, note="" if measured else "no rival"))
    return results


def measure_leaping_gain(turns: int) -> Measurement:
    """Measure how many times faster whole runs of TAL with Thompson sampling are with ``leap`` than with ``step``."""
    print("... leaping and stepping of Thompson sampling with TAL", file=sys.stderr, flush=True)
    contenders = [_make_engine(replace(STEPPED, engine=engine), 5) for engine in ("leap", "step")]
    rates = [[contender.measure() for contender in contenders if contender.measure] for _ in range(turns)]
    samples = Samples(tuple(leaping / stepping for leaping, stepping in rates))
    return Measurement(f"{STEPPED.name}: leap, times as fast as step", SPEEDUP, samples, LEAPING_GAIN)


def measure_long(turns: int) -> list[Measurement]:
    """Measure clients without a teacher at long horizons, and PyMAB, which is compiled, where memory allows."""
    pymab = next(rival for rival in list_rivals() if rival.name.startswith("PyMAB"))
    means, results = instances.load(PAPER).local_means, []
    for (policy, horizon), target in LONG_TARGETS.items():
        print(f"... {policy}, T = {horizon:,}", file=sys.stderr, flush=True)
        ours = _measure_run(policy, horizon, turns)
        rival = RivalResult(pymab.name, None, pymab.note or "not run: it would store about 400 bytes of each round")
        if pymab.play is not None and horizon <= LONGEST_RIVAL:
            began = time.process_time()
            pymab.play(policy, means[0].tolist(), horizon)
            rival = RivalResult(pymab.name, Samples((horizon / (time.process_time() - began),)))
        results.append(Measurement(f"{policy}, none, T = {horizon:,}, leap", RATE, ours, target, (rival,)))
    return results


def _measure_run(policy: str, horizon: int, turns: int) -> Samples:
    """Return the client-steps per second of whole runs of the paper's instance with the engine ``leap``."""
    request = make_request(
        PAPER, "none", policy, horizon=horizon, runs=1, seed=1, checkpoints="logarithmic", engine="leap"
    )
    simulate_run(make_request(PAPER, "none", policy, horizon=1000, runs=1, seed=1, engine="leap"), 0, 0)
    rates = []
    for _ in range(turns):
        began = time.process_time()
        simulate_run(request, 0, 0)
        rates.append(horizon * request.instance.num_clients / (time.process_time() - began))
    return Samples(tuple(rates))


def _make_engine(case: Case, runs: int) -> Contender:
    """Return the engine on whole runs, including seeding and recording."""
    request = make_request(
        case.instance,
        case.teacher,
        case.policy,
        horizon=HORIZON,
        runs=runs,
        seed=1,
        checkpoints=case.checkpoints,
        engine=case.engine,
    )
    clients = request.instance.num_clients
    measured_runs = max(1, runs * 5 // clients)  # as many rounds of clients for every instance
    steps = HORIZON * clients * measured_runs

    def measure() -> float:
        began = time.process_time()
        for run in range(measured_runs):
            simulate_run(request, 0, run)
        return steps / (time.process_time() - began)

    simulate_run(request, 0, 0)  # compiles, or reads the kernel from the cache
    return Contender("Tutelage", measure)


def _has_rivals(case: Case) -> bool:
    """Whether other libraries can play the same."""
    return case.instance == PAPER and case.teacher == "none"


def _make_rivals(case: Case, rivals: Sequence[Rival], seconds: float) -> list[Contender]:
    if _has_rivals(case) and case.engine == "step":
        return [_make_client(rival, case.policy, seconds) for rival in rivals]
    return [_make_taught_reference(case.policy)] if case.teacher == TAL else []


def _make_client(rival: Rival, policy: str, seconds: float) -> Contender:
    """Return a rival as the first client of the paper's instance, for about ``seconds`` per measurement."""
    play = rival.play
    if play is None:
        return Contender(rival.name, None, rival.note)
    means = instances.load(PAPER).local_means[0].tolist()

    def measure_rate(steps: int) -> float:
        began = time.process_time()
        play(policy, means, steps)
        return steps / (time.process_time() - began)

    earned = play(policy, means, 2_000) / 2_000
    note = "" if earned > sum(means) / len(means) else "earns no more than random choices"
    steps = min(HORIZON, max(2_000, int(measure_rate(2_000) * seconds)))
    return Contender(rival.name, lambda: measure_rate(steps), note)


def _make_taught_reference(policy: str) -> Contender:
    """Return Alg. 1 and all clients in plain Python (tests/reference.py)."""
    local_means = instances.load(PAPER).local_means.tolist()

    def measure() -> float:
        began = time.process_time()
        play_plain_taught(policy, "AlgorithmOne", (0.0, 0.0), local_means, HORIZON)
        return HORIZON * len(local_means) / (time.process_time() - began)

    return Contender("plain Python, Alg. 1", measure)
