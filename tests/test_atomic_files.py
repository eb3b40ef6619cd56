"""Files are whole, and what a killed process left is swept without harming who is at work."""

import os
import signal

import pytest

from tutelage import atomic_files
from tutelage.errors import InputError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such locks there")

LEFT = ".tutelage-0123456789abcdef.part"

_KILLED = """
import os, signal, sys
from pathlib import Path
from tutelage.atomic_files import write_atomically
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"half")
"""


def test_what_a_kill_left_is_swept_at_once(tmp_path, python):
    """However new it is; the file itself was not begun."""
    ended = python("-c", _KILLED, tmp_path / "x", check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.match(".tutelage-*.part")
    atomic_files.remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_being_written_is_not_swept(tmp_path, monkeypatch):
    """Nor is it missed when it is complete."""
    real = os.fsync

    def fsync(descriptor):
        real(descriptor)
        atomic_files.remove_unfinished(tmp_path)

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    atomic_files.write_atomically(tmp_path / "x", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"whole")]


def test_swept_between_opening_and_lock(tmp_path, monkeypatch):
    """It is begun once more."""
    swept = []
    real = atomic_files.fcntl.flock

    def flock(file, operation):
        if operation == atomic_files.fcntl.LOCK_EX and not swept:
            swept.extend(tmp_path.iterdir())
            swept[0].unlink()
        real(file, operation)

    monkeypatch.setattr(atomic_files.fcntl, "flock", flock)
    atomic_files.write_atomically(tmp_path / "x", b"whole")
    assert swept
    assert (tmp_path / "x").read_bytes() == b"whole"


def test_other_files_are_left_alone(tmp_path):
    """Only names that nobody else gives are swept."""
    for name in ("x.part", ".tutelage-1.part", ".tutelage-mine.part"):
        (tmp_path / name).touch()
    (tmp_path / LEFT).touch()
    atomic_files.remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".tutelage-1.part",
        ".tutelage-mine.part",
        "x.part",
    ]


def test_alone(tmp_path):
    """The second is told so, until the first has left."""
    with atomic_files.lock_folder(tmp_path), pytest.raises(InputError, match="Another tutelage process is writing"):  # noqa: SIM117
        with atomic_files.lock_folder(tmp_path):
            pass
    with atomic_files.lock_folder(tmp_path):
        pass
