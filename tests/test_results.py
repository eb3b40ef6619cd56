"""What is kept, what is saved, what is read back."""

import json
import os
import stat

import numpy as np
import pytest
import xarray as xr

from tutelage import atomic_files, lab, results
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.teachers.base import Problem

TIED = Instance("tied", np.array([[0.2, 0.6, 0.6], [0.4, 0.8, 0.8]]), np.array([0.5, 0.5]))


@pytest.fixture(scope="module")
def outcome() -> results.SimulationResult:
    """Three teachers, one of which decides within the horizon."""
    request = lab.make_request("paper", ["twl", "known", "none"], "3*ucb1,2*ts", horizon=4500, runs=3, seed=7)
    return lab.run(request)


@pytest.fixture(scope="module")
def dataset(outcome):
    """The same with names."""
    return outcome.to_dataset()


def test_dataset_holds_every_run(outcome, dataset):
    """Pulls, cost, target, decision and events of each run are those that simulate_run gives."""
    request = outcome.request
    for n, spec in enumerate(request.teacher_specs):
        for number in range(request.runs):
            played = simulate_run(
                request.instance,
                request.policies,
                request.teachers[n],
                horizon=4500,
                seed=7,
                run=number,
                checkpoints=request.checkpoints,
            )
            kept = dataset.sel(teacher=spec, run=number)
            assert np.array_equal(kept.pulls.transpose("client", "checkpoint", "arm"), played.pulls)
            assert np.array_equal(kept.cost.transpose("client", "checkpoint"), played.costs)
            assert int(kept.target) == (-1 if played.target is None else played.target)
            assert int(kept.decided_in) == (-1 if played.decided_in is None else played.decided_in)
            happened = kept.event_round.values > 0
            assert kept.event_round.values[happened].tolist() == [event.round for event in played.events]
            targets = [-1 if event.target is None else event.target for event in played.events]
            assert kept.event_target.values[happened].tolist() == targets
            active = [np.flatnonzero(row).tolist() for row in kept.event_active.values[happened]]
            assert active == [list(event.active_arms) for event in played.events]
            assert kept.event_num_active.values[happened].tolist() == [len(arms) for arms in active]


def test_events_are_padded(dataset):
    """Runs without events hold round 0, target -1 and no active arm there."""
    none = dataset.sel(teacher="none")
    assert not none.event_round.any()
    assert (none.event_target == -1).all()
    assert not none.event_active.any()


def test_regret_follows_from_pulls_and_gaps(dataset):
    """The stored regret is pulls times gaps at every checkpoint, within rounding."""
    assert np.allclose(dataset.regret, (dataset.pulls * dataset.gap).sum("arm"), rtol=1e-12, atol=0)


def test_pulls_add_up_to_the_rounds(dataset):
    """Every client pulls one arm a round."""
    assert (dataset.pulls.sum("arm") == dataset.checkpoint).all()


def test_attributes_hold_the_whole_request(outcome, dataset):
    """The request can be read from the file alone, with the seed and the versions."""
    request = json.loads(dataset.attrs["request"])
    assert request == outcome.request.as_json()
    assert request["instance"]["name"] == outcome.request.instance.name
    assert request["teachers"] == ["twl(gamma1=1,gamma2=0)", "known", "none"]
    assert request["clients"] == ["ucb1"] * 3 + ["ts(update=bernoulli)"] * 2
    assert int(dataset.attrs["seed"]) == request["seed"] == 7
    assert {"tutelage", "numpy", "numba", "python"} <= dataset.attrs.keys()


def test_read_back_equal(dataset, tmp_path):
    """Values, types, names and attributes survive the file; nothing else is left in the folder."""
    path = tmp_path / "result.nc"
    results.save(dataset, path)
    again = results.load(path)
    xr.testing.assert_identical(again, dataset)
    assert {name: again[name].dtype for name in again.variables} == {
        name: dataset[name].dtype for name in dataset.variables
    }
    assert list(tmp_path.iterdir()) == [path]


def test_largest_seed_and_names_survive_the_file(tmp_path):
    """A seed of 64 bits, and names that are not ASCII."""
    named = Instance(
        "named",
        np.array([[0.2, 0.7]]),
        np.array([1.0]),
        client_names=("Zoë",),
        arm_names=("thé", "café"),
    )
    dataset = lab.simulate(named, "none", horizon=5, runs=1, seed=2**64 - 1)
    results.save(dataset, tmp_path / "r.nc")
    again = results.load(tmp_path / "r.nc")
    xr.testing.assert_identical(again, dataset)
    assert int(again.attrs["seed"]) == 2**64 - 1
    assert again.arm_name.values.tolist() == ["thé", "café"]
    assert again.client_name.values.tolist() == ["Zoë"]


def test_saving_replaces_and_keeps_to_the_umask(dataset, tmp_path):
    """An earlier file is replaced; the new one may be read by whoever the umask lets."""
    path = tmp_path / "result.nc"
    path.write_text("earlier")
    before = os.umask(0o022)
    try:
        results.save(dataset, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert results.load(path).sizes["run"] == 3


def test_saving_follows_a_link(dataset, tmp_path):
    """A link stays one: the file that it names is written."""
    target, link = tmp_path / "target.nc", tmp_path / "link.nc"
    target.write_text("")
    link.symlink_to(target)
    results.save(dataset, link)
    assert link.is_symlink()
    assert results.load(target).sizes["run"] == 3


def test_interrupted_saving_leaves_nothing(dataset, tmp_path, monkeypatch):
    """Ctrl-C while the file is written: an earlier file stays as it was, no part of the new one is left."""
    path = tmp_path / "result.nc"
    path.write_text("earlier")

    def stopped(descriptor):
        assert len(list(tmp_path.iterdir())) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        results.save(dataset, path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


_FULL_DISK = """
import resource, signal, sys
from tutelage.cli.app import execute
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
small = ["--teacher", "none", "--horizon", "400", "--runs", "30"]
sys.exit(execute(["simulate", "paper", *small, "--out", sys.argv[1]]))
"""


def test_full_disk_is_one_sentence(python, tmp_path):
    """No room for the file: status 1, one sentence that names it, nothing half-written left."""
    path = tmp_path / "result.nc"
    ended = python("-c", _FULL_DISK, path, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"{path}: cannot be written: File too large."]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/result.nc", "There is no folder"),
        (".", "is a folder"),
        ("/dev/null", "is no ordinary file"),
    ],
)
def test_places_that_cannot_be_written(dataset, tmp_path, name, said):
    """Each is an InputError that names the place."""
    with pytest.raises(InputError, match=said):
        results.save(dataset, tmp_path / name)


@pytest.mark.parametrize("name", ["r.csv", "r", "r.hdf5", "r.nc.png"])
def test_names_that_are_no_results(dataset, tmp_path, name):
    """A NetCDF file under another ending would be taken for what it is not; the right ones are named."""
    with pytest.raises(InputError, match=rf"'{name}' is no name for a result.*\.nc or \.nc4"):
        results.save(dataset, tmp_path / name)
    assert not list(tmp_path.iterdir())
    results.save(dataset, tmp_path / "R.NC")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "There is no file"), (b"hello", "is not a NetCDF file"), ("other", "holds no result")],
)
def test_files_that_are_no_results(tmp_path, content, said):
    """A missing file, a file of another kind, and a NetCDF file of something else."""
    path = tmp_path / "x.nc"
    if content == "other":
        xr.Dataset({"a": 1}).to_netcdf(path, engine="h5netcdf")
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        results.load(path)


def test_a_tied_arm_is_not_wrong():
    """Arms 1 and 2 are tied for best: either is right, arm 0 is wrong."""
    request = lab.make_request(
        TIED, ["known(target=1)", "known(target=2)", "known(target=0)"], horizon=10, runs=2
    )
    told = lab.run(request).summary()
    assert [teacher["target"]["wrong"] for teacher in told["teachers"]] == [0, 0, 2]
    assert told["instance"]["best_arms"] == [1, 2]
    assert told["instance"]["min_gap"] == 0


def test_summary_is_finite_and_complete(outcome):
    """The keys of the document, in order; finished counts known from the start and none never."""
    told = outcome.summary()
    json.dumps(told, allow_nan=False)
    assert list(told) == ["tutelage", "instance", "clients", "horizon", "runs", "seed", "teachers"]
    twl, known, none = told["teachers"]
    assert list(twl) == [
        "teacher",
        "regret",
        "cost",
        "regret_per_client",
        "cost_per_client",
        "learning",
        "target",
        "pulls",
    ]
    assert list(twl["regret"]) == list(twl["cost"]) == ["mean", "sd", "q10", "q50", "q90"]
    assert known["learning"] == {"finished": 3, "rounds": [0, 0, 0]}
    assert known["target"] == {"counts": [0, 0, 0, 0, 3], "wrong": 0}
    assert none["learning"] == {"finished": 0, "rounds": []}
    assert none["target"] == {"counts": [0] * 5, "wrong": 0}
    assert none["cost"]["mean"] == 0
    assert len(twl["learning"]["rounds"]) == twl["learning"]["finished"]


def test_summary_agrees_with_the_dataset(outcome, dataset):
    """Means and quantiles of the document can be worked out from the file."""
    for teacher in outcome.summary()["teachers"]:
        last = dataset.sel(teacher=teacher["teacher"]).isel(checkpoint=-1)
        for name in ("regret", "cost"):
            totals = last[name].sum("client").values
            told = [teacher[name][key] for key in ("mean", "sd", "q10", "q50", "q90")]
            expected = [totals.mean(), totals.std(ddof=1), *np.quantile(totals, [0.1, 0.5, 0.9])]
            assert np.allclose(told, expected, rtol=1e-12, atol=1e-9)
            assert np.allclose(teacher[f"{name}_per_client"], last[name].mean("run"))
        assert np.allclose(teacher["pulls"], last.pulls.mean("run").transpose("client", "arm"))


def test_many_events_make_room():
    """Events beyond the room made so far are kept beside those of runs put earlier."""
    request = lab.make_request("paper", "none", horizon=100, runs=3)
    collector = results.Collector(request)
    pulls = np.zeros((5, 100, 5), dtype=np.int32)
    report = request.teachers[0].report(request.teachers[0].begin(_problem(), np.random.default_rng(0)))
    for run, count in enumerate((1, 7, 3)):
        events = [(run * 10 + n + 1, (n % 5,), None) for n in range(count)]
        collector.put(
            0,
            run,
            pulls=pulls,
            costs=np.zeros((5, 100)),
            events=events,
            target=None,
            decided_in=None,
            report=report,
        )
    finished = collector.finish()
    assert finished.event_round.shape == (1, 3, 7)
    assert finished.event_round[0].tolist() == [
        [1, 0, 0, 0, 0, 0, 0],
        [11, 12, 13, 14, 15, 16, 17],
        [21, 22, 23, 0, 0, 0, 0],
    ]
    assert finished.event_active[0].sum(axis=(1, 2)).tolist() == [1, 7, 3]


def _problem():
    return Problem(num_clients=5, num_arms=5, horizon=100, weights=(0.2,) * 5)


def test_name_that_is_not_unicode(tmp_path):
    """The request is saved with its bytes escaped, and reads back as it was."""
    name = "table:caf\udce9.csv"
    odd = Instance(name, np.array([[0.2, 0.6]]), np.array([1.0]))
    played = lab.simulate(odd, "none", horizon=5, runs=1)
    results.save(played, tmp_path / "odd.nc")
    read = results.load(tmp_path / "odd.nc")
    assert read.identical(played)
    assert json.loads(read.attrs["request"])["instance"]["name"] == name


@pytest.mark.parametrize("path", ["~nouser/x.nc", "a\0b.nc", "\ud800.nc", "n" * 5000, None, 5])
def test_what_is_no_path(path):
    """Neither a place to save to nor a file to load: one sentence each."""
    for refuse in (results.check_writable, results.load):
        with pytest.raises(InputError) as caught:
            refuse(path)
        assert str(caught.value).endswith(".")


def test_links_in_a_circle(tmp_path):
    """No place to save to."""
    (tmp_path / "a.nc").symlink_to(tmp_path / "b.nc")
    (tmp_path / "b.nc").symlink_to(tmp_path / "a.nc")
    with pytest.raises(InputError, match=r"cannot be written to"):
        results.check_writable(tmp_path / "a.nc")


@pytest.mark.parametrize("start", [0, 97, 194, 291])
def test_damaged_files(dataset, tmp_path, start):
    """Flipped bytes in the signature, the root group or its attributes are refused in one sentence."""
    path = tmp_path / "damaged.nc"
    results.save(dataset, path)
    content = bytearray(path.read_bytes())
    for at in range(start, start + 16):
        content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is not a NetCDF file that can be read \(.+\): get it anew\.$"):
        results.load(path)


def test_readers_may_raise_anything(dataset, tmp_path, monkeypatch):
    """What h5netcdf raises on a damaged file becomes a sentence."""
    path = tmp_path / "damaged.nc"
    results.save(dataset, path)
    for error in (KeyError("x"), RuntimeError("two\nlines"), IndexError()):
        monkeypatch.setattr(xr, "load_dataset", lambda *_, error=error, **__: (_ for _ in ()).throw(error))
        with pytest.raises(InputError, match=r"is not a NetCDF file that can be read \(.+\): get it anew\.$"):
            results.load(path)
