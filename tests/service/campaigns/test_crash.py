"""A server is killed at every point and loses nothing that it answered: histories compared with a model."""

import contextlib
import signal

import pytest
from tests.service.campaigns import crash_histories
from tests.service.server_processes import ServerProcess

from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader
from tutelage.stores.base import PullRow, pages


@pytest.mark.parametrize(("store", "histories", "steps"), [("sqlite", 20, 20), ("postgresql", 6, 15)])
def test_histories(store, histories, steps):
    """Every answered pull is there once, every answer repeats, the ledger verifies: see ``crash_histories.py``."""
    counts = crash_histories.play_in_test(crash_histories.Histories, store, histories, steps)
    assert counts["histories"] >= histories
    assert counts["pulls"] > 0


TRAPPED = """
from tests.service.campaigns.crash_child import TRAP, install
install()
around, left = TRAP.around, [5]  # pulls
def later(connection, statement, run):
    left[0] -= statement.startswith("INSERT INTO pulls")
    if left[0] == 0:
        left[0] = -1
        TRAP.arm({point!r})
    return around(connection, statement, run)
TRAP.around = later
"""


@pytest.mark.parametrize(("point", "committed"), list(crash_histories.DEATHS.items())[2:4])
def test_over_http(tmp_path, point, committed):
    """The answers before the death repeat after it, and the request that it hit is answered once."""
    url = f"sqlite:///{tmp_path}/t.db"
    served = ServerProcess(url, tmp_path, before=TRAPPED.format(point=point))
    try:
        served.create()
        responses = [served.pull(number) for number in range(5)]
        assert [answer is None for answer in responses] == [False] * 4 + [True]
    finally:
        assert served.end() == -signal.SIGKILL
    served = ServerProcess(url, tmp_path)
    try:
        again = [served.pull(number).json()["pulls"][0] for number in range(8)]
    finally:
        served.end()
    assert again[:4] == [answer.json()["pulls"][0] | {"replayed": True} for answer in responses[:4]]
    assert [answer["replayed"] for answer in again[4:]] == [committed, False, False, False]
    with contextlib.closing(open_reader(url)) as reader:
        assert verify_ledger(reader, "c") == (9, [])
        rows = [row.id for row in pages(reader, "c") if isinstance(row, PullRow)]
    assert rows == [f"p{number}" for number in range(8)]
