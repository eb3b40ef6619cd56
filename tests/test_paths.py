"""Users without a home: caches go to a private folder among the temporary files, and no folder ``~`` appears."""

import os
import tempfile

import pytest

from tutelage import paths


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


@pytest.mark.parametrize("home", [None, "", "/nowhere", "/proc", "relative"])
def test_homes_that_cannot_be_written(home, monkeypatch, tmp_path):
    """None, one that is not there and cannot be made, one that is read-only, and one of the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths.os, "access", lambda path, mode: str(path) not in {"/", "/proc"})
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: (_ for _ in ()).throw(KeyError(uid)))
    monkeypatch.delenv("HOME") if home is None else monkeypatch.setenv("HOME", home)
    assert not paths.has_writable_home()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert paths.has_writable_home()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.has_writable_home()


def test_the_private_folder_is_the_users_own(temporary):
    """The same one again; one that others can write, or a link, is not used."""
    folder = paths.make_private_folder()
    assert (folder, folder.stat().st_mode & 0o777) == (temporary / f"tutelage-{os.getuid()}", 0o700)
    assert paths.make_private_folder() == folder
    folder.chmod(0o777)
    assert paths.make_private_folder() != folder
    folder.rmdir()
    (temporary / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(temporary / "elsewhere")
    other = paths.make_private_folder()
    assert other != folder
    assert other.stat().st_mode & 0o777 == 0o700


_PROGRAM = """
import os, pwd, sys
def unknown(*arguments):
    raise KeyError("uid not found")
pwd.getpwuid = unknown  # a user that the system does not know
is_allowed = os.access
os.access = lambda path, mode: "/tutelage/engine" not in str(path) and is_allowed(path, mode)
import numpy as np
from tutelage.engine.kernels import compiled_main
from tutelage.engine.memory import add_to_segment
from tutelage.plots.matplotlib_import import load_matplotlib
cuts = np.zeros(1, np.int64)
compiled_main(add_to_segment, "small")(0, 0.5, cuts.copy(), cuts.copy(), np.zeros((1, 1)), cuts)
load_matplotlib()
"""


def test_a_user_without_a_home(temporary, python):
    """Kernels are cached in the private folder, matplotlib's files too, and nothing is left elsewhere."""
    work = temporary / "work"
    work.mkdir()
    names = {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    ended = python("-c", _PROGRAM, cwd=work, env=environment | {"TMPDIR": str(temporary)})
    assert (ended.stdout, ended.stderr, list(work.iterdir())) == ("", "", [])
    private = temporary / f"tutelage-{os.getuid()}"
    assert sorted(temporary.iterdir()) == [private, work]
    assert list(private.glob("*.o"))
    assert (private / "matplotlib").is_dir()
