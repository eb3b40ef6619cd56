"""The whole ledger as a file, and that a campaign is deleted only after all of it was handed out."""

import csv
import io
import json
import sys
from datetime import datetime

import pytest
from tests.service.api.messages import kind, pull

from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.writer import ActionJob, PullJob

NUM_PULLS = 2_500  # more than one page


def export(server, format):
    """The file."""
    response = server.call("GET", "/v1/campaigns/c/export", params={"format": format})
    assert response.status_code == 200
    return response


def filled(server):
    """A campaign with pulls of all kinds, its lines of JSON."""
    server.create(teacher="known(target=0)", horizon=10**6, low=-2, high=3)
    server.pull(*(pull(str(n), "ab"[n % 2], "xy"[n % 3 % 2], n / 1e3) for n in range(NUM_PULLS)))
    server.pull(pull("odd", reward=0.1 + 0.2), pull('"é,', "b", "y", 1 / 3, bypassed=True))
    server.pull(pull("1", "b", "y", 1e-3, bypassed=True))
    return [json.loads(line) for line in export(server, "ndjson").text.splitlines()]


def test_csv_holds_what_json_holds(server):
    """Row by row; numbers read back equal."""
    rows = filled(server)
    lines = list(csv.DictReader(io.StringIO(export(server, "csv").text)))
    assert len(lines) == len(rows) > NUM_PULLS
    for row, flat in zip(rows, lines, strict=True):
        content = json.loads(flat["content"]) if flat["content"] else None
        assert content == row.get("content")
        for name in ("observed", "revealed"):
            assert (float(flat[name]) if flat[name] else None) == row.get(name)
        for name in ("kind", "client", "arm", "time", "id"):
            assert flat[name] == row.get(name, "")


def test_no_cell_of_the_csv_is_a_formula(server):
    """A name or id that could be one has an apostrophe before it, and so has one with an apostrophe."""
    names = ["=1+1", "+1", "-1", "@x", "'=1", "a=1"]
    server.create(clients=names, arms=["-x", "y"])
    for name in names:
        server.pull(pull(name, name, "-x", 0.5))
    lines = list(csv.DictReader(io.StringIO(export(server, "csv").text)))
    pulls = [flat for flat in lines if flat["kind"] == "pull"]
    assert [flat["client"] for flat in pulls] == ["'=1+1", "'+1", "'-1", "'@x", "''=1", "a=1"]
    assert [flat["id"].removeprefix("'") for flat in pulls] == names
    assert {flat["arm"] for flat in pulls} == {"'-x"}


def test_parquet_holds_what_json_holds(server):
    """The same through pyarrow."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = filled(server)
    response = export(server, "parquet")
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    table = parquet.read_table(io.BytesIO(response.content)).to_pylist()
    assert len(table) == len(rows)
    for row, line in zip(rows, table, strict=True):
        found = {name: value for name, value in line.items() if value is not None}
        if "content" in found:
            found["content"] = json.loads(found["content"])
        assert found == row | {"time": datetime.fromisoformat(row["time"])}


def test_without_pyarrow_it_is_refused(server, monkeypatch):
    """In one sentence, with what helps."""
    server.create()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused = server.call("GET", "/v1/campaigns/c/export", params={"format": "parquet"})
    assert (refused.status_code, kind(refused)) == (422, "invalid")
    assert "bin/pip install pyarrow`" in refused.json()["detail"]


def test_what_comes_after_an_export_is_not_covered_by_it(server, monkeypatch):
    """A report that a pull was bypassed arrives between the last row and the note: no deletion."""
    server.create(teacher="known(target=0)")
    server.pull(pull(arm="y"))
    server.call("POST", "/v1/campaigns/c/stop")
    handoff = server.gateway.handoff
    ask = handoff.ask

    async def late(job):
        if isinstance(job, ActionJob) and job.act == "exported":
            await ask(PullJob("c", pulls=[PullRequest("1", "a", "y", 0.5, bypassed=True)]))
        return await ask(job)

    with monkeypatch.context() as patch:
        patch.setattr(handoff, "ask", late)
        first = export(server, "ndjson").text
    assert '"kind":"bypassed"' not in first
    assert kinds(server)[-1] == "bypassed"
    assert kind(server.call("DELETE", "/v1/campaigns/c")) == "not-removable"
    assert '"kind":"bypassed"' in export(server, "ndjson").text
    assert kinds(server)[-1] == "exported"
    assert server.call("DELETE", "/v1/campaigns/c").status_code == 204


def kinds(server):
    """The kinds of all rows."""
    rows = server.call("GET", "/v1/campaigns/c/ledger").json()["rows"]
    return [row["kind"] for row in rows]
