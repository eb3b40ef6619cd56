"""The agents of a run, called back from the compiled loop.

A run with agents has all of them for itself: they are made anew, with seeds of their own, and the global random
generators of Python and numpy, from which some libraries draw, are seeded for the run and restored after it.
Such runs take turns within a process; Python code would not run in parallel anyway.
"""

import contextlib
import ctypes
import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.agents.agent_policy import CLIENT, SELECT, SELECT_ADDRESS, UPDATE, UPDATE_ADDRESS, AgentPolicy
from tutelage.agents.base import describe_choice, read_arm
from tutelage.code_errors import describe_code_error
from tutelage.errors import InputError
from tutelage.request import SimulationRequest
from tutelage.seeding import agent_seed

SLICE = 1 << 12  # most rounds in one compiled call with agents, so that it can be cancelled
_TURN = threading.Lock()
_POLL = 0.1  # seconds between two looks whether a waiting run was cancelled


class Cancelled(Exception):
    """The run was cancelled before its horizon."""


class AgentGroup:
    """The agents of one run, and the functions by which compiled code reaches them."""

    def __init__(self, request: SimulationRequest, run: int) -> None:
        self.num_arms = request.instance.num_arms
        self.policies = request.policies
        self.agents = {
            client: policy.make_agent(self.num_arms, agent_seed(request.seed, run, client))
            for client, policy in enumerate(request.policies)
            if isinstance(policy, AgentPolicy)
        }
        self.selects = {client: agent.select for client, agent in self.agents.items()}
        self.updates = {client: agent.update for client, agent in self.agents.items()}
        self.error: BaseException | None = None
        self.callbacks = (SELECT(self._select), UPDATE(self._update))  # which must live as long as the run

    def fill(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the parameters [M, P] with the addresses of the functions in the rows of agents."""
        filled = parameters.copy()
        select, update = (ctypes.cast(each, ctypes.c_void_p).value for each in self.callbacks)
        for client in self.agents:
            filled[client, [SELECT_ADDRESS, UPDATE_ADDRESS, CLIENT]] = select, update, client
        return filled

    def check(self) -> None:
        """Raise what an agent raised."""
        if self.error is not None:
            raise self.error

    def _select(self, client: int) -> int:
        """Return the next arm of a client, or -1, at which the compiled loop stops."""
        if self.error is not None:
            return -1
        try:
            chosen = self.selects[client]()
        except BaseException as error:  # noqa: BLE001 - compiled code cannot pass it on
            return self._fail(client, "select", error)
        arm = read_arm(chosen, self.num_arms)
        if arm < 0:
            fault = describe_choice(chosen, self.num_arms)
            self.error = InputError(f"The agent {self._name(client)} of client {client} {fault}.")
        return arm

    def _update(self, client: int, arm: int, reward: float) -> None:
        if self.error is None:
            try:
                self.updates[client](arm, reward)
            except BaseException as error:  # noqa: BLE001
                self._fail(client, "update", error)

    def _fail(self, client: int, method: str, error: BaseException) -> int:
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            reason = describe_code_error(error, self.agents[client])
            described = f"The agent {self._name(client)} of client {client} failed in {method}(): {reason}."
            self.error = InputError(described)
            self.error.__cause__ = error
        else:
            self.error = error
        return -1

    def _name(self, client: int) -> str:
        policy: Any = self.policies[client]
        return str(policy.make)


def has_agents(request: SimulationRequest) -> bool:
    """Whether any client of a request is an agent."""
    return any(issubclass(kind, AgentPolicy) for kind in set(map(type, request.policies)))


@contextlib.contextmanager
def open_agents(request: SimulationRequest, run: int, cancel: threading.Event | None) -> Iterator[AgentGroup | None]:
    """Make the agents of a run, None without any.  Raises ``Cancelled`` if that happens while it waits its turn."""
    if not has_agents(request):
        yield None
        return
    while not _TURN.acquire(timeout=_POLL):
        if cancel is not None and cancel.is_set():
            raise Cancelled
    try:
        with seeded_globally(agent_seed(request.seed, run, request.instance.num_clients)):
            yield AgentGroup(request, run)
    finally:
        _TURN.release()


@contextlib.contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed the global generators, which libraries draw from that take no seed, and restore them."""
    before, numpy_before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002
