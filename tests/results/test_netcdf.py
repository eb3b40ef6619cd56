"""Results as files: saved whole or not at all, read back equal, refused if damaged."""

import json
import os
import stat

import numpy as np
import pytest
import xarray as xr

from tutelage import atomic_files, results, simulator
from tutelage.errors import InputError
from tutelage.instances import Instance


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
    named = Instance("named", np.array([[0.2, 0.7]]), np.array([1.0]), client_names=("Zoë",), arm_names=("thé", "café"))
    dataset = simulator.simulate(named, "none", horizon=5, runs=1, seed=2**64 - 1)
    results.save(dataset, tmp_path / "r.nc")
    again = results.load(tmp_path / "r.nc")
    xr.testing.assert_identical(again, dataset)
    assert int(again.attrs["seed"]) == 2**64 - 1
    assert again.arm_name.values.tolist() == ["thé", "café"]
    assert again.client_name.values.tolist() == ["Zoë"]


def test_saving_replaces_and_follows_the_umask(dataset, tmp_path):
    """An earlier file is replaced; the permissions of the new one follow the umask."""
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
    """A link stays a link, and the file that it names is written."""
    target, link = tmp_path / "target.nc", tmp_path / "link.nc"
    target.write_text("")
    link.symlink_to(target)
    results.save(dataset, link)
    assert link.is_symlink()
    assert results.load(target).sizes["run"] == 3


def test_interrupted_saving_leaves_nothing(dataset, tmp_path, monkeypatch):
    """After Ctrl-C while the file is written, an earlier file is unchanged and no part of the new one is left."""
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
    """On a full disk: status 1, an error that names the file, and no partial file."""
    path = tmp_path / "result.nc"
    ended = python("-c", _FULL_DISK, path, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"{path}: cannot be written: File too large."]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/result.nc", "The folder .*missing.* does not exist"),
        (".", "is a folder"),
        ("/dev/null", "is not a regular file"),
    ],
)
def test_places_that_cannot_be_written(dataset, tmp_path, name, message):
    """The error names the place."""
    with pytest.raises(InputError, match=message):
        results.save(dataset, tmp_path / name)


@pytest.mark.parametrize("name", ["r.csv", "r", "r.hdf5", "r.nc.png"])
def test_invalid_file_names(dataset, tmp_path, name):
    """A result must have a suffix of NetCDF; the error names them."""
    with pytest.raises(InputError, match=rf"Invalid file name '{name}' for a result.*\.nc or \.nc4"):
        results.save(dataset, tmp_path / name)
    assert not list(tmp_path.iterdir())
    results.save(dataset, tmp_path / "R.NC")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"hello", "cannot be read as a NetCDF file"),
        ("other", "is not a result of tutelage"),
        ("older", "is a result of an older layout: simulate again"),
    ],
)
def test_files_that_are_not_results(tmp_path, content, message):
    """A missing file, a file of another kind, a NetCDF file of something else, a result of an older version."""
    path = tmp_path / "x.nc"
    if content in ("other", "older"):
        attributes = {"request": "{}", "tutelage": "0"} if content == "older" else {}
        xr.Dataset({"a": 1}, attrs=attributes).to_netcdf(path, engine="h5netcdf")
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        results.load(path)


def test_paths_that_are_not_files(tmp_path, dataset):
    """A folder, and a result in the place of its path, in one line."""
    with pytest.raises(InputError, match="is a folder: name the file in it"):
        results.load(tmp_path)
    with pytest.raises(InputError, match=r"^Invalid path <xarray.Dataset>[^\n]{0,70}: use a text or a pathlib.Path"):
        results.load(dataset)


def test_name_that_is_not_unicode(tmp_path):
    """A name that is not Unicode is saved with its bytes escaped and read back unchanged."""
    name = "table:caf\udce9.csv"
    odd = Instance(name, np.array([[0.2, 0.6]]), np.array([1.0]))
    played = simulator.simulate(odd, "none", horizon=5, runs=1)
    results.save(played, tmp_path / "odd.nc")
    read = results.load(tmp_path / "odd.nc")
    assert read.identical(played)
    assert json.loads(read.attrs["request"])["instance"]["name"] == name


@pytest.mark.parametrize("path", ["~nouser/x.nc", "a\0b.nc", "\ud800.nc", "n" * 5000, None, 5])
def test_invalid_paths(path):
    """Saving and loading both give one sentence."""
    for refuse in (results.check_writable, results.load):
        with pytest.raises(InputError) as caught:
            refuse(path)
        assert str(caught.value).endswith(".")


def test_links_in_a_circle(tmp_path):
    """A circle of links cannot be written."""
    (tmp_path / "a.nc").symlink_to(tmp_path / "b.nc")
    (tmp_path / "b.nc").symlink_to(tmp_path / "a.nc")
    with pytest.raises(InputError, match=r"cannot be written"):
        results.check_writable(tmp_path / "a.nc")


@pytest.mark.parametrize("start", [0, 97, 194, 291])
def test_damaged_files(dataset, tmp_path, start):
    """A file with flipped bytes in the signature, the root group or its attributes is refused."""
    path = tmp_path / "damaged.nc"
    results.save(dataset, path)
    content = bytearray(path.read_bytes())
    for at in range(start, start + 16):
        content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read as a NetCDF file \(.+\): restore it, or simulate again\.$"):
        results.load(path)


def test_readers_may_raise_anything(dataset, tmp_path, monkeypatch):
    """Whatever h5netcdf raises on a damaged file becomes an InputError."""
    path = tmp_path / "damaged.nc"
    results.save(dataset, path)
    for error in (KeyError("x"), RuntimeError("two\nlines"), IndexError()):
        monkeypatch.setattr(xr, "load_dataset", lambda *_, error=error, **__: (_ for _ in ()).throw(error))
        with pytest.raises(
            InputError, match=r"cannot be read as a NetCDF file \(.+\): restore it, or simulate again\.$"
        ):
            results.load(path)
