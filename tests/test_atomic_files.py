"""Files are written completely, and unfinished files of killed processes are removed without harm to others."""

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


def test_unfinished_file_of_a_killed_process_is_removed(tmp_path, python):
    """At once, however new it is; the file itself does not exist."""
    ended = python("-c", _KILLED, tmp_path / "x", check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.match(".tutelage-*.part")
    atomic_files.remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


def test_file_being_written_is_not_removed(tmp_path, monkeypatch):
    """The file is there when it is complete."""
    real = os.fsync

    def fsync(descriptor):
        real(descriptor)
        atomic_files.remove_unfinished(tmp_path)

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    atomic_files.write_atomically(tmp_path / "x", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"whole")]


def test_file_removed_before_it_is_locked(tmp_path, monkeypatch):
    """Writing starts again."""
    removed = []
    real = atomic_files.fcntl.flock

    def flock(file, operation):
        if operation == atomic_files.fcntl.LOCK_EX and not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        real(file, operation)

    monkeypatch.setattr(atomic_files.fcntl, "flock", flock)
    atomic_files.write_atomically(tmp_path / "x", b"whole")
    assert removed
    assert (tmp_path / "x").read_bytes() == b"whole"


def test_other_files_stay(tmp_path):
    """Only files with the names of unfinished files are removed."""
    for name in ("x.part", ".tutelage-1.part", ".tutelage-mine.part"):
        (tmp_path / name).touch()
    (tmp_path / LEFT).touch()
    atomic_files.remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".tutelage-1.part", ".tutelage-mine.part", "x.part"]


def test_folder_is_locked_for_one_process(tmp_path):
    """The second process is refused until the first has finished."""
    with (
        atomic_files.lock_folder(tmp_path),
        pytest.raises(InputError, match="Another tutelage process is writing"),
        atomic_files.lock_folder(tmp_path),
    ):
        pass
    with atomic_files.lock_folder(tmp_path):
        pass


def test_a_copy_of_the_process_holds_no_lock(tmp_path, python):
    """The lock ends where its block ends, also if a process that was forked in it is still there."""
    code = """
import os, sys, time
from pathlib import Path
from tutelage.atomic_files import lock_folder
with lock_folder(Path(sys.argv[1])):
    copy = os.fork()
    if copy == 0:
        time.sleep(60)
        os._exit(0)
with lock_folder(Path(sys.argv[1])):
    os.kill(copy, 9)
"""
    python("-c", code, tmp_path)
