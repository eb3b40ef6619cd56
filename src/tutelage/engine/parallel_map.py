"""A function of many values in copies of this process, for work in Python that has nothing to do with runs."""

import functools
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from tutelage.engine.executors import can_fork, default_workers, end_with_parent, without_interrupts

Value = TypeVar("Value")
Result = TypeVar("Result")

_in_copy: dict[str, Callable[[int], Any]] = {}


def parallel_map(
    function: Callable[[Value], Result], values: Sequence[Value], workers: int | None = None
) -> Iterator[Result]:
    """Yield the function of each value, in order; a result must be picklable, function and values need not.

    Where copies of this process may be made (``executors.can_fork``), as many as ``workers``, by default the
    number of cores, compute at a time.
    """
    count = min(workers or default_workers(), len(values))
    if count < 2 or not can_fork():
        yield from map(function, values)
        return
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("fork"),
        initializer=_start,
        initargs=(functools.partial(_call, function, values),),
    )
    try:
        with without_interrupts():
            futures = [pool.submit(_call_in_copy, place) for place in range(len(values))]
        for future in futures:
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _call(function: Callable[[Value], Result], values: Sequence[Value], place: int) -> Result:
    return function(values[place])


def _start(call: Callable[[int], Any]) -> None:
    end_with_parent()
    _in_copy["call"] = call


def _call_in_copy(place: int) -> Any:
    return _in_copy["call"](place)
