"""Where the loop that plays clients stops."""

import numpy as np
import pytest
from tests.leap_comparison import Case, generators_of, plain_kernel, prepare, words_of

from tutelage.engine.compiled_loop import STOP_AFTER_LAST, STOP_AT_LAST, ActivityArrays
from tutelage.engine.policy_groups import functions_of
from tutelage.rules import KEEP, Align, Level


@pytest.mark.parametrize(("activity", "delay", "last_round"), [(1.0, 0, 99), (0.6, 0, 30), (1.0, 2, 99), (0.7, 3, 99)])
@pytest.mark.parametrize("engine", ["step", "leap"])
def test_stopping_after_the_last_round_is_stopping_at_it_and_revealing(engine, activity, delay, last_round):
    """One call leaves the same memory and records the same as a call that leaves pulls pending, and another one."""
    case = Case("eps-greedy", (0.7, 0.4, 0.2), (Align(), KEEP, Level()), rounds=40, target=0)
    memories = []
    for stops in ((STOP_AFTER_LAST,), (STOP_AT_LAST, STOP_AT_LAST)):
        clients, _ = prepare(case, 6, engine, 1)
        clients.memory = clients.memory._replace(streams=generators_of(clients.memory.streams))
        clients.memory.remaining_delays[:] = delay
        clients.acting = ActivityArrays(np.full(6, activity), np.full(6, delay), np.full(6, last_round))
        kernel = plain_kernel(*functions_of(clients.request.policies[0], clients.request.instance.rewards, engine))
        for stop in stops:
            clients._call(kernel, np.arange(6), case.rounds, stop, clients.prospect, clients.stretch)
        memory = clients.memory._replace(streams=words_of(clients.memory.streams))
        memories.append([*memory[:-1], clients.record.pulls, clients.record.costs])
    assert all((one == other).all() for one, other in zip(*memories, strict=True))
    assert (memory.pending_arm == -1).all()
