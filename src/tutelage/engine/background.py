"""A function of many values in copies of this process, while this process does something else.

Values are handed out, and results fetched, by the thread that submits them: nothing here starts a thread, so that the
engine can go on to copy this process for its runs.
"""

import contextlib
import gc
import multiprocessing
import multiprocessing.connection
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from tutelage.engine.executors import can_fork, default_workers, end_with_parent, without_interrupts

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(eq=False)
class BackgroundTask(Generic[Value]):
    """A value that was submitted; ``answer`` holds its result once a copy has computed it."""

    value: Value
    answer: list[Any] | None = None


@dataclass(eq=False)
class _ProcessCopy:
    """A copy of this process, the pipe to it, and what it is computing."""

    process: Any
    pipe: "Connection[Any, Any]"
    task: BackgroundTask[Any] | None = None


class BackgroundMap(Generic[Value, Result]):
    """Compute ``function`` of submitted values in at most ``workers`` copies, by default one for each core.

    Values and results must be picklable, the functions need not.  A copy calls ``prepare`` before anything else.
    Where no copy may be made (``executors.can_fork``), with one worker, and where a copy fails, this process computes
    a result when it is asked for, and raises what the function raises.
    """

    def __init__(
        self, function: Callable[[Value], Result], workers: int | None = None, prepare: Callable[[], None] | None = None
    ) -> None:
        self._function, self._prepare = function, prepare
        count = workers or default_workers()
        self._most_copies = count if count > 1 else 0
        self._copies: list[_ProcessCopy] = []
        self._waiting: deque[BackgroundTask[Value]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the copies, whatever they are doing."""
        for copy in self._copies:
            copy.process.kill()
        for copy in self._copies:
            copy.process.join()
            copy.pipe.close()
        self._copies.clear()

    def start(self) -> None:
        """Start the first copy, so that it is prepared when the first value comes."""
        if not self._copies:
            self._add_copy()

    def submit(self, value: Value) -> BackgroundTask[Value]:
        """Let a copy compute the result of a value as soon as one is idle."""
        task = BackgroundTask(value)
        self._waiting.append(task)
        self.advance()
        return task

    def advance(self) -> None:
        """Fetch results and hand out values, without waiting; call this from time to time."""
        for copy in [each for each in self._copies if each.task is not None and each.pipe.poll()]:
            self._fetch(copy)
        while self._waiting:
            idle = next((copy for copy in self._copies if copy.task is None), None) or self._add_copy()
            if idle is None:
                return
            idle.task = self._waiting.popleft()
            try:
                idle.pipe.send(idle.task.value)
            except OSError:
                self._drop(idle)

    def result(self, task: BackgroundTask[Value]) -> Result:
        """Return the result of a value, once it is there; raises what the function raises."""
        self.advance()
        while task.answer is None and self._is_under_way(task):
            multiprocessing.connection.wait([copy.pipe for copy in self._copies if copy.task is not None])
            self.advance()
        if task.answer is not None:
            result: Result = task.answer[0]
            return result
        if task in self._waiting:
            self._waiting.remove(task)
        return self._function(task.value)

    def _is_under_way(self, task: BackgroundTask[Value]) -> bool:
        """Whether a copy computes a task, or will do so when it is idle."""
        return any(copy.task is task for copy in self._copies) or bool(self._copies and task in self._waiting)

    def _fetch(self, copy: _ProcessCopy) -> None:
        """Read the answer of a copy: a list of the result, or nothing if the function raised an error."""
        try:
            answer = copy.pipe.recv()
        except (EOFError, OSError):
            self._drop(copy)
            return
        if copy.task is not None and answer:
            copy.task.answer = answer
        copy.task = None

    def _drop(self, copy: _ProcessCopy) -> None:
        """Go on without a copy that has ended."""
        self._copies.remove(copy)
        self._most_copies -= 1
        copy.process.kill()
        copy.process.join()
        copy.pipe.close()

    def _add_copy(self) -> _ProcessCopy | None:
        """Start another copy and return it; None where there are enough or none may be made."""
        if len(self._copies) >= self._most_copies or not can_fork():
            return None
        context = multiprocessing.get_context("fork")
        ours, its = context.Pipe()
        process = context.Process(target=_answer, args=(its, self._function, self._prepare), daemon=True)
        with without_interrupts():
            process.start()
        its.close()
        copy = _ProcessCopy(process, ours)
        self._copies.append(copy)
        return copy


def _answer(pipe: "Connection[Any, Any]", function: Callable[[Any], Any], prepare: Callable[[], None] | None) -> None:
    """Answer values until the other end of the pipe is closed; runs in a copy."""
    end_with_parent()
    gc.freeze()  # what the copy begins with is not looked at again and again
    if prepare is not None:
        with contextlib.suppress(Exception):  # the function fails likewise
            prepare()
    with contextlib.suppress(EOFError, OSError):
        while True:
            value = pipe.recv()
            try:
                answer = [function(value)]
            except Exception:  # noqa: BLE001 - the other process calls it again, and raises the same error
                answer = []
            pipe.send(answer)
