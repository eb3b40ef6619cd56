"""A teacher's routine consultations, compiled: between two calls of the kernel Python asks the teacher nothing."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.engine.compiled_loop import quota_kernels
from tutelage.engine.kernels import RepeatedCalls, compiled_main
from tutelage.engine.memory import NOT_REACHED, Memory, new_memory
from tutelage.request import SimulationRequest
from tutelage.seeding import teacher_generator
from tutelage.teachers.base import Routine, Teacher
from tutelage.teachers.checks import ask, ask_segments


class RoutineConsultations:
    """The routine consultations of one run from a state of its teacher on (``teachers.base.Routine``)."""

    def __init__(self, routine: Routine, memory: Memory) -> None:
        self.routine, self.kernel = routine, RepeatedCalls(routine_kernel(routine.consult))
        self.of_memory = (memory.segment_sums, memory.completed_segments, memory.evidence_pulls, memory.quota_rounds)
        self.end = np.zeros(memory.completed_segments.shape[1], dtype=np.int64)

    def consult(
        self, is_evidence: NDArray[np.bool_], delivered: NDArray[np.int64], quota: NDArray[np.int64]
    ) -> int | None:
        """Consult the teacher and write its quota; return the leading arm, -1 if none.

        None if the consultation is not routine.
        """
        leading_arm = self.kernel(self.routine.arrays, *self.of_memory, is_evidence, delivered, self.end, quota)
        return None if leading_arm < -1 else int(leading_arm)

    def restore(self) -> Any:
        """Return the teacher's state now."""
        return self.routine.restore()


def open_routine(teacher: Teacher, state: Any, memory: Memory) -> RoutineConsultations | None:
    """Return a teacher's routine consultations, None if it has none from this state on."""
    routine = teacher.routine(state)
    return None if routine is None else RoutineConsultations(routine, memory)


def warm_up_routine(request: SimulationRequest, teacher: int) -> None:
    """Compile the consultations of a teacher, or read them from the cache."""
    problem, num_arms = request.problem_for(request.teachers[teacher]), request.instance.num_arms
    routine = find_routine(request, teacher)
    if routine is not None:
        streams = np.zeros((problem.num_clients, 3, 4), dtype=np.uint64)
        memory = new_memory(num_arms, len(ask_segments(request.teachers[teacher], problem)), 1, streams)
        is_evidence, counts = np.ones(problem.num_clients, dtype=np.bool_), np.zeros((2, num_arms), dtype=np.int64)
        RoutineConsultations(routine, memory).consult(is_evidence, *counts)
        for kernel, array in zip(quota_kernels(), (memory.evidence_pulls, memory.quota_rounds), strict=True):
            kernel(array, counts[0], is_evidence)


def find_routine(request: SimulationRequest, teacher: int) -> Routine | None:
    """Return the routine consultations of a teacher of a request from the start of a run on."""
    asked = request.teachers[teacher]
    state = ask(asked, "begin", request.problem_for(asked), teacher_generator(request.seed, 0))
    return asked.routine(state)


@functools.cache
def routine_kernel(consult_function: Callable[..., int]) -> Any:
    """Return :func:`consult_routinely` compiled with the function of a teacher."""
    name = f"consult_{consult_function.__module__.rpartition('.')[2]}"
    return compiled_main(consult_routinely, name, consult=consult_function)


def consult(
    arrays: Any,
    segment_sums: NDArray[np.float64],
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    quota: NDArray[np.int64],
) -> int:
    """Stand in for the teacher's ``consult``, with which the kernel is compiled."""
    raise AssertionError


def consult_routinely(
    arrays: Any,
    segment_sums: NDArray[np.float64],
    completed_segments: NDArray[np.int64],
    evidence_pulls: NDArray[np.int64],
    quota_rounds: NDArray[np.int64],
    is_evidence: NDArray[np.bool_],
    delivered: NDArray[np.int64],
    end: NDArray[np.int64],
    quota: NDArray[np.int64],
) -> int:
    """Consult with the segments that all clients in evidence have completed since the last consultation.

    ``delivered`` [K] counts those before, ``end`` is for an intermediate result.
    """
    num_clients, num_arms = evidence_pulls.shape
    for arm in range(num_arms):
        end[arm] = NOT_REACHED
        for client in range(num_clients):
            if is_evidence[client]:
                end[arm] = min(end[arm], completed_segments[client, arm])
    leading_arm = consult(arrays, segment_sums, delivered, end, quota)
    if leading_arm < -1:
        return leading_arm
    for arm in range(num_arms):
        delivered[arm] = end[arm]
        for client in range(num_clients):
            quota_rounds[client, arm] = 0 if evidence_pulls[client, arm] >= quota[arm] else NOT_REACHED
    return leading_arm
