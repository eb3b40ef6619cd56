"""A function of many values in copies of the process, which this process feeds now and then."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tutelage.engine import background as module
from tutelage.engine.background import BackgroundMap

forks = pytest.mark.skipif(sys.platform != "linux", reason="only here processes are forked")


@pytest.fixture
def may_fork(monkeypatch):
    """Copies may be made, whatever threads the tests have."""
    monkeypatch.setattr(module, "can_fork", lambda: True)


@forks
@pytest.mark.usefixtures("may_fork")
def test_copies_compute_while_this_process_goes_on():
    """Two copies compute all values with a function that cannot be pickled, without a thread of this process."""
    threads = threading.active_count()
    with BackgroundMap(lambda value: (value**2, os.getpid()), 2) as background:
        tasks = [background.submit(value) for value in range(5)]
        assert threading.active_count() == threads
        deadline = time.monotonic() + 60
        while any(task.answer is None for task in tasks):
            assert time.monotonic() < deadline
            background.advance()
        results = [background.result(task) for task in reversed(tasks)]
    assert [square for square, _ in results] == [16, 9, 4, 1, 0]
    processes = {process for _, process in results}
    assert os.getpid() not in processes
    assert 1 <= len(processes) <= 2


@forks
@pytest.mark.usefixtures("may_fork")
def test_large_values_and_results():
    """Neither needs to fit into a pipe at once."""
    with BackgroundMap(lambda value: value * 2, 2) as background:
        tasks = [background.submit(bytes(3_000_000)) for _ in range(4)]
        assert [len(background.result(task)) for task in tasks] == [6_000_000] * 4


@forks
@pytest.mark.usefixtures("may_fork")
def test_a_copy_is_prepared_before_the_first_value():
    """``start`` makes one copy, which prepares itself; an error of its preparation is ignored."""
    prepared = []
    with BackgroundMap(lambda _: list(prepared), 2, lambda: prepared.append(os.getpid())) as background:
        background.start()
        background.start()
        task = background.submit("it")
        (process,) = background.result(task)
        assert process != os.getpid()
    with BackgroundMap(abs, 2, lambda: 1 // 0) as background:
        assert background.result(background.submit(-1)) == 1
    assert not prepared


@forks
@pytest.mark.usefixtures("may_fork")
def test_an_error_is_raised_here():
    """The error is that of the function, and other values are not affected."""
    with BackgroundMap(lambda value: 1 // value, 2) as background:
        tasks = [background.submit(value) for value in (1, 0, -1)]
        with pytest.raises(ZeroDivisionError):
            background.result(tasks[1])
        assert background.result(tasks[2]) == -1
        assert background.result(tasks[0]) == 1


@forks
@pytest.mark.usefixtures("may_fork")
def test_values_of_copies_that_end_are_computed_here():
    """A copy that is killed, as by a lack of memory, costs nothing but time."""
    here = os.getpid()

    def end_elsewhere(value):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    with BackgroundMap(end_elsewhere, 2) as background:
        tasks = [background.submit(value) for value in range(5)]
        assert [background.result(task) for task in tasks] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("workers", "forkable"), [(1, True), (2, False)])
def test_this_process_computes(monkeypatch, workers, forkable):
    """With one worker, and where no copy may be made, each value is computed when its result is asked for."""
    monkeypatch.setattr(module, "can_fork", lambda: forkable)
    seen = []
    with BackgroundMap(lambda value: [seen.append(value), os.getpid()][1], workers) as background:
        background.start()
        tasks = [background.submit(value) for value in "ab"]
        background.advance()
        assert seen == []
        assert background.result(tasks[1]) == os.getpid()
        assert seen == ["b"]


_ENDLESS = """if True:
    import os, time
    from tutelage.engine.background import BackgroundMap

    def sleep(seconds):
        print(os.getpid(), flush=True)
        time.sleep(seconds)

    with BackgroundMap(sleep, 2) as background:
        background.submit(600)
        background.submit(600)
        time.sleep(600)
"""


@forks
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_copies_end_with_the_process(number):
    """No copy outlives the process, whether that is killed or interrupted."""
    running = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    copies = [int(running.stdout.readline()) for _ in range(2)]
    running.send_signal(number)
    running.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{copy}").exists() for copy in copies):
        assert time.monotonic() < deadline
        time.sleep(0.02)
