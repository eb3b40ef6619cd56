"""A campaign comes back from an export of its ledger, on both stores, and from nothing that was changed."""

import contextlib
import json

import pytest
from tests.cli.commands import error_of, output_of
from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.errors import InputError
from tutelage.service.api.ledger_formats import NdjsonWriter
from tutelage.service.api.ledger_import import import_ledger
from tutelage.service.api.ledger_pages import load_names
from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.service.campaigns.writer import ActionJob
from tutelage.stores import open_store
from tutelage.stores.base import AuditRow, CampaignExists, CampaignNotFound, pages

AUDIT = AuditRow(1, "somebody", "command line", "import campaign")


def exported(reader):
    """The export's lines."""
    names = load_names(reader, "c")
    return NdjsonWriter().write_rows([names.describe_row(row) for row in pages(reader, "c")]).splitlines()


def played(path, **settings):
    """A store with a campaign that has every kind of row, pulls with rewards beyond [0, 1] among them."""
    bench = WriterBench(path)
    bench.create(clients=settings.pop("clients", ()), horizon=60, low=-1.0, high=3.0, seed=5, start=False, **settings)
    if bench.look(lambda session: session.settings.open_registration):
        for client in "abz":
            bench.do(ActionJob("c", act="register", client=client))
    bench.do(ActionJob("c", act="start"))
    for number in range(40):
        arm = "xy"[number % 2]
        bench.pull(*(sent(f"{number}{m}", m, arm, {"x": 2.1, "y": -0.3}[arm]) for m in "abz"))
        if number == 20:
            bench.do(ActionJob("c", act="exclude", client="z"))
    adjusted = next(row for row in bench.store.read("c", 0, 1000) if getattr(row, "revealed", 2.1) not in {2.1, -0.3})
    report = sent(adjusted.id, "abz"[adjusted.client], "xy"[adjusted.arm], adjusted.observed, bypassed=True)
    bench.pull(report, sent("new", "a", "x", 0.1, bypassed=True))
    for act in ("stop", "start", "stop", "exported"):
        bench.do(ActionJob("c", act=act))
    return bench.store


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The export of a campaign whose clients registered."""
    store = played(tmp_path_factory.mktemp("played") / "t.db", open_registration=True, teacher="blt")
    found = exported(store)
    store.close()
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {"open_registration": True, "teacher": "blt"},
        {"clients": ("a", "b", "z"), "weights": (0.5, 0.3, 0.2), "teacher": "twl(gamma1=1,gamma2=0)"},
    ],
)
def test_what_was_exported_comes_back(tmp_path, either_url, settings):
    """Settings, head with its digest, all rows, and what verifies them; the rows are once more the export."""
    store = played(tmp_path / "played.db", **settings)
    was, given = store.load("c")[0], exported(store)
    with contextlib.closing(open_store(either_url)) as target:
        assert import_ledger(target, given, AUDIT) == ("c", len(given))
        now = target.load("c")[0]
        assert [(row.action, row.campaign) for row in target.audit(0, 9)] == [("import campaign", "c")]
        assert (now.settings, now.rules_version, now.created, now.head) == (
            was.settings,
            was.rules_version,
            was.created,
            was.head,
        )
        assert now.leader is None
        assert list(pages(target, "c")) == list(pages(store, "c"))
        assert exported(target) == given
        assert verify_ledger(target, "c") == (len(given), [])
        with pytest.raises(CampaignExists):
            import_ledger(target, given, AUDIT)
    store.close()


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        (
            "pull",
            {"revealed": 0.5},
            r"^Position \d+ of c differs from what the earlier rows lead to: use an export that was not changed\.$",
        ),
        ("pull", {"number": 7}, "differs from what the earlier rows lead to"),
        ("pull", {"arm": "w"}, "cannot be rebuilt: 'w'"),
        ("pull", {"time": "noon"}, "cannot be rebuilt: Invalid isoformat string"),
        ("pull", {"observed": "0.5"}, r"^Line \d+ is not a row of a ledger \(Expected `float`"),
        ("decided", {"content": {}}, "differs"),
        ("excluded", {"content": {"client": "w"}}, "Unknown client 'w'"),
        ("exported", {"kind": "odd"}, "cannot be rebuilt: Invalid enum value 'odd'"),
        ("started", {"content": {}}, r"The settings in the row \d+ cannot be read: 'clients'"),
        ("started", {"kind": "stopped"}, "cannot be rebuilt|no row of the kind started|differs"),
    ],
)
def test_a_row_that_was_changed_is_refused(tmp_path, lines, kind, change, sentence):
    """Nothing is in the store then."""
    place = next(place for place, line in enumerate(lines) if json.loads(line)["kind"] == kind)
    changed = [*lines[:place], json.dumps(json.loads(lines[place]) | change).encode(), *lines[place + 1 :]]
    with contextlib.closing(open_store(f"sqlite:///{tmp_path}/t.db")) as target:
        with pytest.raises(InputError, match=sentence):
            import_ledger(target, changed, AUDIT)
        with pytest.raises(CampaignNotFound):
            target.load("c")


def test_a_row_that_is_missing_is_refused(tmp_path, lines):
    """Of a pull, a decision and an exclusion; and a file without the row that has the settings."""
    kinds = [json.loads(line)["kind"] for line in lines]
    with contextlib.closing(open_store(f"sqlite:///{tmp_path}/t.db")) as target:
        for kind in ("registered", "pull", "decided", "excluded", "bypassed", "stopped"):
            place = kinds.index(kind)
            with pytest.raises(InputError):
                import_ledger(target, lines[:place] + lines[place + 1 :], AUDIT)
        with pytest.raises(InputError, match=r"^The file has no row of the kind started, which has the campaign's"):
            import_ledger(target, lines[:3], AUDIT)


def test_the_commands_export_and_import(tmp_path, capsys):
    """What one prints the other reads; a second import and another format are refused."""
    played(tmp_path / "t.db", open_registration=True, teacher="blt").close()
    store, target = (f"sqlite:///{tmp_path}/{name}.db" for name in ("t", "u"))
    file = tmp_path / "c.ndjson"
    file.write_text(output_of(capsys, "ledger", "export", "c", "--store", store))
    number = len(file.read_text().splitlines())
    found = output_of(capsys, "ledger", "import", str(file), "--store", target)
    assert found == f"c: {number:,} rows imported.\n"
    assert f"c: {number:,} rows agree" in output_of(capsys, "ledger", "verify", "--store", target)
    assert "already exists" in error_of(capsys, 1, "ledger", "import", str(file), "--store", target)
    file.write_text(output_of(capsys, "ledger", "export", "c", "--format", "csv", "--store", store))
    assert "use an export in the format ndjson" in error_of(capsys, 2, "ledger", "import", str(file), "--store", target)
