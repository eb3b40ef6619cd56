"""The file of a server of the first release can be verified, replayed and continued."""

import shutil

import pytest
from tests.service.campaigns.golden import make_served
from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.service.campaigns.writer import PullJob
from tutelage.stores import open_reader
from tutelage.stores.base import EntryRow, PullRow, pages


@pytest.fixture
def path(tmp_path):
    """A copy of the file."""
    return shutil.copy(make_served.FILE, tmp_path / "t.db")


def rows_of(path, name):
    """A campaign's rows."""
    reader = open_reader(f"sqlite:///{path}")
    found = list(pages(reader, name))
    reader.close()
    return found


@pytest.mark.parametrize("name", make_served.CAMPAIGNS)
def test_it_is_verified(path, name):
    """Every row follows from the ones before under this release's rules; every kind of row is there."""
    reader = open_reader(f"sqlite:///{path}")
    assert verify_ledger(reader, name) == (reader.load(name)[0].head.position, [])
    assert reader.load(name)[1] is not None
    reader.close()
    entries = [row for row in rows_of(path, name) if isinstance(row, EntryRow)]
    kinds = {"registered", "started", "decided", "bypassed", "excluded", "stopped", "exported"}
    assert {row.kind for row in entries} == kinds


@pytest.mark.parametrize("name", make_served.CAMPAIGNS)
def test_it_is_gone_on_from(path, name):
    """Each pull sent again is answered as then; new ones are stored, and the ledger is verified."""
    rows = rows_of(path, name)
    corrected = {row.id for row in rows if isinstance(row, EntryRow) and row.kind == "bypassed"}
    then = [row for row in rows if isinstance(row, PullRow)]
    bench = WriterBench(path)
    pulls = [
        sent(row.id, "abé"[row.client], make_served.ARMS[row.arm], row.observed, bypassed=row.bypassed) for row in then
    ]
    responses = bench.do(PullJob(name, pulls=pulls))
    shown = [row.observed if row.id in corrected else row.revealed for row in then]
    assert [(one.reward, one.directive) for one in responses] == [
        (reward, row.directive) for reward, row in zip(shown, then, strict=True)
    ]
    assert all(one.replayed for one in responses)
    bench.do(PullJob(name, pulls=[sent("new", "a", "y", 0.25)]))
    bench.store.close()
    assert verify_ledger(open_reader(f"sqlite:///{path}"), name)[1] == []
