"""The same result however runs are spread; what happens when they cannot be, or are stopped."""

import sys
import threading
import time

import pytest

from tutelage import lab
from tutelage.engine import executors
from tutelage.errors import InputError
from tutelage.policies.base import no_learning
from tutelage.policies.ucb1 import UCB1

ASKED = {"clients": "2*ucb1,2*eps-greedy,1*ts", "horizon": 900, "runs": 5, "seed": 5}
TEACHERS = ["twl", "none", "ng"]


@pytest.fixture(scope="module")
def alone():
    """One worker."""
    return lab.simulate("paper", TEACHERS, **ASKED, workers=1)


@pytest.mark.parametrize("number", [2, 7, None])
def test_any_number_of_threads(alone, number):
    """More threads change nothing, not even the order."""
    assert lab.simulate("paper", TEACHERS, **ASKED, workers=number).identical(alone)


def test_processes(alone, monkeypatch):
    """Spawned processes give the same."""
    monkeypatch.setattr(executors, "_can_fork", lambda: False)
    assert lab.simulate("paper", TEACHERS, **ASKED, workers=2, executor="processes").identical(alone)


_FORKED = """if True:
    from tutelage import lab
    from tutelage.engine import executors
    asked = dict(clients="2*ucb1,2*eps-greedy,1*ts", horizon=900, runs=8, seed=5)
    alone = lab.simulate("paper", ["blt", "twl"], **asked, workers=1)
    executors._Threads = executors._pickled = None  # neither threads nor spawned processes
    for executor in ("auto", "processes", "auto"):  # one after the other: the first leaves no thread
        print(lab.simulate("paper", ["blt", "twl"], **asked, workers=2, executor=executor).identical(alone))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only here processes are forked")
def test_forked_processes(python):
    """Where no other thread runs, processes are copies of this one, and give the same."""
    ended = python("-W", "error", "-c", _FORKED, timeout=120)
    assert (ended.stdout, ended.stderr) == ("True\n" * 3, "")


def test_what_is_worth_forking(monkeypatch):
    """Many runs of a teacher that is asked often, for more than one worker, and where that is safe."""
    monkeypatch.setattr(executors, "_can_fork", lambda: True)
    blt = lab.make_request("paper", ["known", "blt"], horizon=1000, runs=4)
    assert executors._is_worth_forking(blt, 2)
    assert not executors._is_worth_forking(blt, 1)
    assert not executors._is_worth_forking(blt, 3)
    assert not executors._is_worth_forking(lab.make_request("paper", ["tal", "twl"], runs=100), 2)
    monkeypatch.setattr(executors, "_can_fork", lambda: False)
    assert not executors._is_worth_forking(blt, 2)


def test_no_fork_beside_other_threads():
    """A copy of this process would have only the thread that made it, and the locks of all."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not executors._can_fork()
    finally:
        done.set()
        other.join()


@pytest.mark.filterwarnings("default")  # the cluster's own, not ours
def test_dask(alone):
    """The workers of a dask scheduler give the same."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert lab.simulate("paper", TEACHERS, **ASKED, executor=address).identical(alone)


@pytest.mark.filterwarnings("default")
def test_dask_without_workers():
    """A scheduler on which nothing would ever run."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with pytest.raises(InputError, match="has no workers"):
            lab.simulate("paper", "none", horizon=2, runs=1, executor=address)


@pytest.mark.filterwarnings("default")
def test_dask_scheduler_that_does_not_answer(monkeypatch):
    """One sentence with the address."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_DASK_TIMEOUT", 1)
    with pytest.raises(InputError, match=r"No dask scheduler answers at 127\.0\.0\.1:1"):
        lab.simulate("paper", "none", horizon=2, runs=1, executor="dask://127.0.0.1:1")


def test_dask_not_installed(monkeypatch):
    """The sentence names the extra."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"tutelage\[dask\]"):
        lab.simulate("paper", "none", horizon=2, runs=1, executor="dask://127.0.0.1:1")


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        ({"workers": 0}, "0 workers are too few"),
        ({"workers": -2}, "-2 workers are too few"),
        ({"executor": "gpu"}, "no executor 'gpu'"),
        ({"executor": "dask://nowhere"}, "no executor 'dask://nowhere'"),
        ({"executor": "dask://h:port"}, "no executor"),
        ({"executor": "dask://h:0"}, "port in 'dask://h:0' lies outside 1 to 65535"),
        ({"executor": "dask://h:65536"}, "port in 'dask://h:65536' lies outside"),
        ({"executor": f"dask://h:{'9' * 5000}"}, "lies outside 1 to 65535"),
        ({"executor": None}, "no executor None"),
        ({"executor": 5}, "no executor 5"),
        ({"executor": ["threads"]}, "no executor"),
        ({"workers": "a"}, "number of workers 'a' is not a whole number"),
        ({"workers": 1.5}, "number of workers 1.5 is not a whole number"),
        ({"workers": float("nan")}, "number of workers nan is not a whole number"),
        ({"workers": True}, "number of workers True is not a whole number"),
    ],
)
def test_what_is_refused(spread, said):
    """One sentence with the offending value."""
    with pytest.raises(InputError, match=said):
        lab.simulate("paper", "none", horizon=2, runs=1, **spread)


def test_progress_ends_at_all_runs():
    """It is told in the calling thread, never beyond the total, and ends at the total."""
    told = []
    here = threading.get_ident()

    def progress(played):
        assert threading.get_ident() == here
        told.append(played)

    lab.run(lab.make_request("paper", ["twl", "none"], horizon=500, runs=4), progress=progress)
    assert told[-1] == 8
    assert max(told) == 8


def test_a_long_run_tells_its_share():
    """One run of many slices is told as a fraction before it is done."""
    told = []

    class Enough(Exception):
        pass

    def watch(share):
        told.append(share)
        if 0 < share < 1:
            raise Enough

    request = lab.make_request("paper", "none", horizon=40_000_000, runs=1)
    with pytest.raises(Enough):
        list(executors.play(request, progress=watch))
    assert 0 < told[-1] < 1


def test_an_error_in_a_run_stops_the_others():
    """What a run raises reaches the caller soon, although long runs are under way."""

    class Failing(lab.TEACHERS.cls("none")):
        def begin(self, problem, generator):
            if threading.current_thread() is not threading.main_thread():
                raise ArithmeticError("of the teacher")
            return super().begin(problem, generator)

    request = lab.make_request("paper", [Failing(), "none"], horizon=10**9, runs=3)
    with pytest.raises(InputError, match=r"failed in begin\(\): ArithmeticError: of the teacher"):
        lab.run(request)
    _no_worker_is_left()  # the others would have gone on for minutes


_INTERRUPTED = """if True:
    import _thread, threading, tutelage
    tutelage.simulate("paper", "none", horizon=10, runs=1)  # compiled now
    threading.Timer(1.0, _thread.interrupt_main).start()
    try:
        tutelage.simulate("paper", "none", horizon=10**9, runs=3, workers=2, executor={executor!r})
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_library_callers_are_interrupted_promptly(python, executor):
    """Ctrl-C during runs of minutes: KeyboardInterrupt within moments, and the interpreter can end."""
    ended = python("-c", _INTERRUPTED.format(executor=executor), timeout=120)
    assert ended.stdout == "interrupted\n"  # the runs themselves would take longer than the timeout


def test_a_policy_that_cannot_be_compiled():
    """The sentence names the policy and says what numba says."""

    class Broken(UCB1):
        choose = staticmethod(lambda _, learner, parameters, stream: learner.nothing)
        learn = staticmethod(no_learning)

    with pytest.raises(InputError, match=r"The policy .*Broken cannot be compiled by numba: .*'nothing'"):
        lab.simulate("paper", "none", Broken(), horizon=2, runs=1)


def test_what_cannot_be_pickled_cannot_go_to_processes(monkeypatch):
    """A policy made inside a function has no name that a spawned process could import."""
    monkeypatch.setattr(executors, "_can_fork", lambda: False)

    class Local(UCB1):
        pass

    with pytest.raises(InputError, match="cannot be sent to other processes"):
        lab.simulate("paper", "none", Local(), horizon=2, runs=1, executor="processes")


def test_warming_up_one_client_serves_all(monkeypatch):
    """Only one client of each policy is played to compile its kernel, also on resampled data."""
    sizes = []
    monkeypatch.setattr(
        executors, "simulate_run", lambda instance, *_, **__: sizes.append(instance.num_clients)
    )
    executors.warm_up(lab.make_request("paper", "none", "2*ucb1,3*ts"))
    assert sizes == [1, 1]


_MEMORY = """if True:
    import resource, sys, tutelage
    result = tutelage.simulate("paper", ["twl", "none"], horizon=2000, runs=1000)
    assert result.pulls.shape == (2, 1000, 5, 200, 5)
    tutelage.save(result, sys.argv[1])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_a_thousand_runs_fit_in_a_gibibyte(python, tmp_path):
    """1,000 runs with 200 checkpoints on 5 x 5, simulated and saved, at the peak of the process."""
    ended = python("-c", _MEMORY, tmp_path / "r.nc")
    assert int(ended.stdout) < 1024**2  # kibibytes


def _no_worker_is_left():
    """Cancelled runs end with the slice that they are in."""
    deadline = time.monotonic() + 60
    while any(thread.name.startswith("tutelage") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
