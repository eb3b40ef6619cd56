"""Every executor gives the same result; errors, interruption and cancellation of runs."""

import multiprocessing
import re
import sys
import textwrap
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from tutelage import request, simulator
from tutelage.engine import client_shares, executors, runs
from tutelage.errors import InputError
from tutelage.policies.base import no_learning
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers import TEACHERS as TABLE

ARGUMENTS = {"clients": "2*ucb1,2*eps-greedy,1*ts", "horizon": 900, "runs": 5, "seed": 5}
TEACHERS = ["twl", "none", "ng"]


@pytest.fixture(scope="module")
def expected():
    """The result with one worker."""
    return simulator.simulate("paper", TEACHERS, **ARGUMENTS, workers=1)


@pytest.mark.parametrize("number", [2, 7, None])
def test_any_number_of_threads(expected, number):
    """The number of threads changes nothing, not even the order."""
    assert simulator.simulate("paper", TEACHERS, **ARGUMENTS, workers=number).identical(expected)


def test_processes(expected, monkeypatch):
    """Spawned processes give the same result."""
    monkeypatch.setattr(executors, "can_fork", lambda: False)
    assert simulator.simulate("paper", TEACHERS, **ARGUMENTS, workers=2, executor="processes").identical(expected)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executor_objects(expected, pool):
    """Any Executor gives the same result, and can be used again afterwards."""
    options = {"mp_context": multiprocessing.get_context("spawn")} if pool is ProcessPoolExecutor else {}
    with pool(2, **options) as executor:
        for _ in range(2):
            assert simulator.simulate("paper", TEACHERS, **ARGUMENTS, executor=executor).identical(expected)
        assert executor.submit(abs, -1).result() == 1


def test_one_run_that_leaps_in_threads(monkeypatch):
    """Where a client leaps to does not depend on which clients are played with it."""
    monkeypatch.setattr(client_shares, "_LEAST_STEPS", 1)
    options = {**ARGUMENTS, "horizon": 5000, "runs": 1, "engine": "auto"}
    alone = simulator.simulate("paper", "twl", workers=1, **options)
    assert simulator.simulate("paper", "twl", workers=3, executor="threads", **options).identical(alone)


def test_cancelled_runs_leave_an_executor_object_free():
    """When a run fails, the others in the caller's threads are cancelled and the threads are free again."""

    class Failing(TABLE.cls("none")):
        def begin(self, problem, generator):
            if threading.current_thread() is not threading.main_thread():
                raise ArithmeticError("in the teacher")
            return super().begin(problem, generator)

    asked = simulator.make_request("paper", [Failing(), "none"], horizon=10**9, runs=3, engine="step")
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(InputError, match="in the teacher"):
            simulator.simulate_request(asked, executor=executor)
        assert executor.submit(abs, -1).result(timeout=60) == 1


def test_an_executor_of_processes_needs_a_request_that_can_be_pickled():
    """A policy made inside a function has no name that another process could import."""

    class Local(UCB1):
        pass

    with ProcessPoolExecutor(1) as executor, pytest.raises(InputError, match="cannot be sent to other"):
        simulator.simulate("paper", "none", Local(), horizon=2, runs=1, executor=executor)


_FORKED = """if True:
    from tutelage import simulator
    from tutelage.engine import executors, runs
    arguments = dict(clients="2*ucb1,2*eps-greedy,1*ts", horizon=900, runs=8, seed=5)
    expected = simulator.simulate("paper", ["blt", "twl"], **arguments, workers=1)
    executors._open_threads = executors._pickled = None  # neither threads nor spawned processes
    for executor in ("auto", "processes", "auto"):  # one after the other: the first leaves no thread
        result = simulator.simulate("paper", ["blt", "twl"], **arguments, workers=2, executor=executor)
        print(result.identical(expected))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only here processes are forked")
def test_forked_processes(python):
    """Where no other thread runs, processes are copies of this one and give the same result."""
    ended = python("-W", "error", "-c", _FORKED, timeout=120)
    assert (ended.stdout, ended.stderr) == ("True\n" * 3, "")


def test_what_is_worth_forking(monkeypatch):
    """Forking is used for runs of a teacher that is consulted often and for many short ones, by several workers."""
    monkeypatch.setattr(executors, "can_fork", lambda: True)
    blt = simulator.make_request("paper", ["known", "blt"], horizon=1000, runs=4)
    assert executors._is_worth_forking([[blt]], 2)
    assert executors._is_worth_forking([[blt, blt]], 3)
    assert not executors._is_worth_forking([[blt]], 1)
    assert not executors._is_worth_forking([[blt]], 3)
    taught = simulator.make_request("paper", ["tal", "twl"], runs=100)
    assert not executors._is_worth_forking([[taught]], 2)
    assert executors._is_worth_forking([[taught], [blt]], 2)
    short = simulator.make_request("paper", ["tal", "twl"], horizon=1000, runs=250)
    assert executors._is_worth_forking([[short]], 2)
    assert not executors._is_worth_forking([[short]], 3)
    monkeypatch.setattr(executors, "can_fork", lambda: False)
    assert not executors._is_worth_forking([[blt]], 2)


def test_groups_that_are_worth_forking(monkeypatch):
    """Many runs of several groups are: the results of one are stored while processes play the next."""
    monkeypatch.setattr(executors, "can_fork", lambda: True)
    taught = simulator.make_request("paper", "tal", runs=250)
    assert not executors._is_worth_forking([[taught, taught]], 2)
    assert executors._is_worth_forking([[taught], [taught]], 2)
    assert not executors._is_worth_forking([[taught], [taught]], 3)
    many = simulator.make_request("planted:clients=5000,arms=2,gap=.1", "none", horizon=9, runs=250)
    assert not executors._is_worth_forking([[taught], [taught], [many]], 2)


def test_what_threads_play_under_processes(monkeypatch):
    """A single run, and runs of many clients, are played by all cores only if threads share their clients."""
    asked = simulator.make_request("paper", "none", horizon=9, runs=1)
    expected = simulator.simulate_request(asked, workers=1)
    monkeypatch.setattr(executors, "_open_processes", None)
    assert np.array_equal(simulator.simulate_request(asked, workers=2, executor="processes").pulls, expected.pulls)
    assert not executors.is_for_threads([asked, asked])
    monkeypatch.setattr(request, "MOST_CURVES", 3)
    assert executors.is_for_threads([asked, asked])


def test_no_fork_while_other_threads_run():
    """A copy of this process would have only the thread that made it, but the locks of all threads."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not executors.can_fork()
    finally:
        done.set()
        other.join()


@pytest.mark.filterwarnings("default")  # the cluster's own, not ours
def test_dask(expected):
    """The workers of a dask scheduler give the same result, by address and as an Executor object."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert simulator.simulate("paper", TEACHERS, **ARGUMENTS, executor=address).identical(expected)
        with distributed.Client(cluster) as client:
            own = client.get_executor()
            assert simulator.simulate("paper", TEACHERS, **ARGUMENTS, executor=own).identical(expected)


_KILLED = """if True:
    import multiprocessing, os, signal
    from tutelage import simulator
    arguments = dict(clients="ts", horizon=100_000, runs=8, seed=5)
    expected = simulator.simulate("paper", "none", workers=1, **arguments)
    killed = []
    def kill(played):
        if played >= 1 and not killed:
            killed.append(multiprocessing.active_children()[0].pid)
            os.kill(killed[0], signal.SIGKILL)
    result = simulator.simulate("paper", "none", workers=2, executor="processes", progress=kill, **arguments)
    print(len(killed), result.identical(expected))
"""


def test_a_killed_process_is_survived(python):
    """A worker that is killed in the middle: its runs are played again, with the same result."""
    ended = python("-c", _KILLED)
    assert ended.stdout == "1 True\n"
    assert "they are played again" in ended.stderr


_DYING = """if True:
    import multiprocessing, os
    from tutelage import simulator
    from tutelage.teachers.baselines import NoTeaching
    class Dying(NoTeaching):
        def begin(self, problem, generator):
            if multiprocessing.parent_process() is not None:
                os._exit(1)
            return super().begin(problem, generator)
    try:
        simulator.simulate("paper", Dying(), horizon=9, runs=4, workers=2, executor="processes")
    except ChildProcessError as error:
        print(error)
"""


def test_processes_that_always_die_are_not_started_for_ever(python):
    """After some attempts the error says what may be the reason."""
    ended = python("-c", _DYING)
    assert ended.stdout.startswith("Worker processes ended 4 times before their runs did")
    assert ended.stdout.endswith("use fewer --workers.\n")


_KILLED_DASK = """if True:
    import os, signal, distributed
    from tutelage import simulator
    arguments = dict(clients="ts", horizon=100_000, runs=12, seed=5)
    if __name__ == "__main__":
        expected = simulator.simulate("paper", "none", workers=1, **arguments)
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster, set_as_default=False) as client:
                pids = list(client.run(os.getpid).values())
            killed = []
            def kill(played):
                if played >= 1 and not killed:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            result = simulator.simulate("paper", "none", executor=address, progress=kill, **arguments)
            print(len(set(pids)), len(killed), result.identical(expected))
"""


def test_a_killed_dask_worker_is_survived(python, tmp_path):
    """The scheduler gives the runs of a worker that was killed to the other one, with the same result."""
    pytest.importorskip("distributed")
    (tmp_path / "script.py").write_text(textwrap.dedent(_KILLED_DASK))
    assert python(tmp_path / "script.py").stdout == "2 1 True\n"


@pytest.mark.filterwarnings("default")
def test_dask_without_workers():
    """A scheduler without workers is refused: nothing would ever run there."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with pytest.raises(InputError, match="has no workers"):
            simulator.simulate("paper", "none", horizon=2, runs=1, executor=address)


@pytest.mark.filterwarnings("default")
def test_dask_scheduler_that_does_not_answer(monkeypatch):
    """The error names the address."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_DASK_TIMEOUT", 1)
    with pytest.raises(InputError, match=r"No dask scheduler answers at 127\.0\.0\.1:1"):
        simulator.simulate("paper", "none", horizon=2, runs=1, executor="dask://127.0.0.1:1")


def test_dask_not_installed(monkeypatch):
    """The error names the extra to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"tutelage\[dask\]"):
        simulator.simulate("paper", "none", horizon=2, runs=1, executor="dask://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "Invalid number of workers 0: use a whole number in [1, 65536]"),
        ({"workers": -2}, "Invalid number of workers -2"),
        ({"executor": "gpu"}, "Invalid executor 'gpu': use auto, threads, processes or dask"),
        ({"executor": "dask://nowhere"}, "Invalid executor 'dask://nowhere'"),
        ({"executor": "dask://h:port"}, "Invalid executor"),
        ({"executor": "dask://h:0"}, "Invalid port in the executor 'dask://h:0': use 1 to 65535"),
        ({"executor": "dask://h:65536"}, "Invalid port in the executor 'dask://h:65536'"),
        ({"executor": f"dask://h:{'9' * 5000}"}, "use 1 to 65535"),
        ({"executor": None}, "Invalid executor None"),
        ({"executor": 5}, "Invalid executor 5"),
        ({"executor": ["threads"]}, "Invalid executor"),
        ({"workers": "a"}, "number of workers 'a': use a whole number"),
        ({"workers": 1.5}, "number of workers 1.5: use a whole number"),
        ({"workers": float("nan")}, "number of workers nan: use"),
        ({"workers": True}, "number of workers True: use"),
    ],
)
def test_invalid_workers_and_executors(arguments, message):
    """The error names the invalid value and what is allowed."""
    with pytest.raises(InputError, match=re.escape(message)):
        simulator.simulate("paper", "none", horizon=2, runs=1, **arguments)


def test_progress_ends_at_all_runs():
    """Progress is reported in the calling thread, never exceeds the number of runs, and ends there."""
    reported = []
    here = threading.get_ident()

    def progress(played):
        assert threading.get_ident() == here
        reported.append(played)

    simulator.simulate_request(simulator.make_request("paper", ["twl", "none"], horizon=500, runs=4), progress=progress)
    assert reported[-1] == 8
    assert max(reported) == 8


def test_a_long_run_reports_its_share():
    """A run of many slices is reported as a fraction before it is done."""
    reported = []

    class Enough(Exception):
        pass

    def progress(share):
        reported.append(share)
        if 0 < share < 1:
            raise Enough

    request = simulator.make_request("paper", "none", horizon=40_000_000, runs=1, engine="step")
    with pytest.raises(Enough):
        list(runs.simulate_runs([[request]], progress=progress))
    assert 0 < reported[-1] < 1


def test_an_error_in_a_run_stops_the_others():
    """An error in one run reaches the caller soon, although long runs are under way."""

    class Failing(TABLE.cls("none")):
        def begin(self, problem, generator):
            if threading.current_thread() is not threading.main_thread():
                raise ArithmeticError("in the teacher")
            return super().begin(problem, generator)

    asked = simulator.make_request("paper", [Failing(), "none"], horizon=10**9, runs=3, engine="step")
    with pytest.raises(InputError, match=r"failed in begin\(\): ArithmeticError: in the teacher"):
        simulator.simulate_request(asked)
    _wait_for_workers_to_end()  # the other runs would have taken minutes


_INTERRUPTED = """if True:
    import _thread, threading, tutelage
    tutelage.simulate("paper", "none", horizon=10, runs=1)  # compiled now
    threading.Timer(1.0, _thread.interrupt_main).start()
    try:
        tutelage.simulate("paper", "none", horizon=10**9, runs=3, workers=2, executor={executor!r}, engine="step")
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_library_callers_are_interrupted_promptly(python, executor):
    """Ctrl-C during runs of minutes: KeyboardInterrupt within moments, and the interpreter can end."""
    ended = python("-c", _INTERRUPTED.format(executor=executor), timeout=120)
    assert ended.stdout == "interrupted\n"  # the runs themselves would take longer than the timeout


def test_a_policy_that_cannot_be_compiled():
    """The error names the policy and gives numba's reason."""

    class Broken(UCB1):
        choose = staticmethod(lambda _, learner, parameters, stream: learner.nothing)
        learn = staticmethod(no_learning)

    with pytest.raises(InputError, match=r"The policy .*Broken cannot be compiled by numba: .*'nothing'"):
        simulator.simulate("paper", "none", Broken(), horizon=2, runs=1)


def test_processes_need_a_request_that_can_be_pickled(monkeypatch):
    """A policy made inside a function has no name that a spawned process could import."""
    monkeypatch.setattr(executors, "can_fork", lambda: False)

    class Local(UCB1):
        pass

    with pytest.raises(InputError, match="cannot be sent to other processes"):
        simulator.simulate("paper", "none", Local(), horizon=2, runs=2, executor="processes")


def test_warm_up_plays_one_client_of_each_policy(monkeypatch):
    """One client of each policy is played to compile its kernel."""
    sizes = []
    monkeypatch.setattr(runs, "simulate_run", lambda request, *_, **__: sizes.append(request.instance.num_clients))
    runs.warm_up(*(simulator.make_request("paper", "none", clients) for clients in ("2*ucb1,3*ts", "ts")))
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


def _wait_for_workers_to_end():
    """Cancelled runs end with the slice that they are in."""
    deadline = time.monotonic() + 60
    while any(thread.name.startswith("tutelage") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


_DAEMONIC = """
import multiprocessing
from tutelage import simulator
from tutelage.errors import InputError
def job(executor):
    try:
        data = simulator.simulate("paper", ["blt"], horizon=900, runs=20, seed=5, workers=2, executor=executor)
    except InputError as error:
        return str(error)
    return data.regret.sum().item()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(*pool.map(job, ["auto", "processes"]), sep="\\n")
    print(job("threads"))
"""


def test_in_a_worker_of_a_pool(tmp_path, python):
    """Its processes may have no children: runs are played by threads, with the same numbers as elsewhere."""
    (tmp_path / "script.py").write_text(_DAEMONIC)
    forked, refused, spawned, refused_too, outside = python(tmp_path / "script.py").stdout.splitlines()
    assert float(forked) == float(spawned) == float(outside)
    assert refused == refused_too
    assert refused.endswith("may not start processes: use executor='threads'.")


def test_a_missing_guard_is_named(tmp_path, python):
    """A spawned process imports the script, and cannot start processes itself."""
    (tmp_path / "script.py").write_text(
        "import threading, time\nfrom tutelage import simulator\n"
        "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
        "print(simulator.simulate('paper', ['none'], horizon=9, runs=2, workers=1, executor='processes'))\n"
    )
    ended = python(tmp_path / "script.py", check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1] == f"tutelage.errors.InputError: {executors.describe_missing_guard()}"
    assert 'if __name__ == "__main__":' in executors.describe_missing_guard()


def test_a_broken_executor_object_names_both_causes():
    """Whether its processes had started is not known."""

    class Broken(Executor):
        def submit(self, *arguments):
            future = Future()
            future.set_exception(BrokenProcessPool("terminated abruptly"))
            return future

    with pytest.raises(ChildProcessError, match=r"out of memory, or the script lacks if __name__ == \"__main__\":"):
        simulator.simulate("paper", "none", horizon=2, runs=1, executor=Broken())
