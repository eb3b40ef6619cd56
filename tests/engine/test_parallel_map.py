"""A function of many values in copies of the process."""

import os
import sys

import pytest

from tutelage.engine import parallel_map as module
from tutelage.engine.parallel_map import parallel_map


@pytest.mark.skipif(sys.platform != "linux", reason="only here processes are forked")
def test_copies_compute_in_order(monkeypatch):
    """Other processes compute, with a function and values that cannot be pickled, and an error is that of the value."""
    monkeypatch.setattr(module, "can_fork", lambda: True)
    values = [lambda n=n: (n, os.getpid()) for n in range(5)] + [lambda: 1 // 0]
    found = parallel_map(lambda value: value(), values, 2)
    results = [next(found) for _ in range(5)]
    assert [number for number, _ in results] == [0, 1, 2, 3, 4]
    assert os.getpid() not in {process for _, process in results}
    with pytest.raises(ZeroDivisionError):
        next(found)


@pytest.mark.parametrize(("workers", "may_fork"), [(1, True), (2, False)])
def test_this_process_computes(monkeypatch, workers, may_fork):
    """With one worker, and where no copy may be made, nothing is started."""
    monkeypatch.setattr(module, "can_fork", lambda: may_fork)
    assert list(parallel_map(lambda value: (value, os.getpid()), "ab", workers)) == [
        ("a", os.getpid()),
        ("b", os.getpid()),
    ]
