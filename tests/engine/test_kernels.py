"""Kernels: cached by all that they are made of, and called without numba."""

import math
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.engine.test_kernel_compiler import functions

from tutelage.engine import kernel_compiler, kernels, machine_code
from tutelage.engine.kernels import compiled_main
from tutelage.read_only_arrays import read_only


def digest(**changes):
    """The digest of the outer function."""
    return kernels._digest(functions(**changes)["outer"], {})


def test_digest_is_of_the_content():
    """The same code and constants made twice have the same digest."""
    assert digest() == digest()


@pytest.mark.parametrize("change", [{"scale": 3.0}, {"more": " - 1"}, {"plus": 2}])
def test_digest_changes_with_what_a_kernel_reaches(change):
    """A constant, the body or a literal of a function that is called makes another kernel."""
    assert digest(**change) != digest()


def test_digest_changes_with_a_binding():
    """Bound to another function, the same main function is another kernel."""
    names, other = functions(), functions(plus=5)
    mine = kernels._digest(names["outer"], {"step": other["step"]})
    assert mine != digest()
    assert mine == digest(plus=5)


def test_digest_changes_with_a_default_argument():
    """Defaults are part of what a kernel does."""
    names = functions()
    before = kernels._digest(names["outer"], {})
    names["outer"].__defaults__ = (1.0,)
    assert kernels._digest(names["outer"], {}) != before


def make(arm):
    """Functions that differ in nothing but what they close over."""

    def choose(x):
        return x + arm

    return choose


def test_digest_changes_with_what_a_function_closes_over():
    """Two closures of one code are two kernels."""
    assert kernels._digest(make(0), {}) != kernels._digest(make(3), {})
    assert kernels._digest(make(3), {}) == kernels._digest(make(3), {})
    assert compiled_main(make(3), "close")(1) == 4
    assert compiled_main(make(0), "close")(1) == 1


PROGRAM = """
    import sys
    from types import FunctionType
    from main import main
    from tutelage.engine.kernels import compiled_main
    foreign = compiled_main(main, "foreign")
    copy = FunctionType(main.__code__, main.__globals__, "main")
    copy.__module__ = "tutelage.main"  # as if it were Tutelage's own
    own = compiled_main(copy, "own")
    was_cached = own.is_cached
    print(own(1.0), was_cached, "numba" not in sys.modules)
    stats = foreign.numba_kernel.dispatcher.stats
    print(foreign(1.0), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


PART = """
import math

FACTOR = {factor}

def part(x):
    return math.ldexp(math.frexp(x)[0], 1) * FACTOR  # which are numba's, too
"""


def run_program(folder):
    """What the little program prints in a fresh interpreter: of its kernel, and of the same one that numba calls."""
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_kernel_is_reused_until_something_it_reaches_changes(tmp_path):
    """A second process takes both from disk, its own without numba; an edit in another file makes new ones.

    Files that are cut short are compiled again, and give the same.
    """
    (tmp_path / "main.py").write_text("from part import part\n\ndef main(x):\n    return part(x) + 1.0\n")
    (tmp_path / "part.py").write_text(PART.format(factor=2.0))
    assert run_program(tmp_path) == ["3.0", "False", "False", "3.0", "0", "1"]
    assert run_program(tmp_path) == ["3.0", "True", "True", "3.0", "1", "0"]
    for path in (tmp_path / "cache").rglob("*.*"):
        path.write_bytes(path.read_bytes()[:50])
    damaged = run_program(tmp_path)
    assert (damaged[0], damaged[2], damaged[3]) == ("3.0", "False", "3.0")
    (tmp_path / "part.py").write_text(PART.format(factor=5.0))
    assert run_program(tmp_path) == ["6.0", "False", "False", "6.0", "0", "1"]


class Pair(NamedTuple):
    """Arguments of several types."""

    counts: np.ndarray
    is_on: bool
    table: np.ndarray


def mix(pair, word, share, written):
    """Stand in for a kernel of Tutelage: all types of arguments, a function of libm and an error."""
    total = share * len(pair.counts)
    for row in range(pair.table.shape[0]):
        for column in range(pair.table.shape[1]):
            total += math.log(pair.table[row, column]) * (row + 2 * column)
    total += math.frexp(share)[1] * math.frexp(share)[0]
    if word < 0:
        raise IndexError("a negative word")
    written[0] = pair.counts[word]
    return total if pair.is_on else -total


mix.__module__ = "tutelage.mix"


def make_arguments(**changes):
    """Arguments of :func:`mix`: a table that is not contiguous, 32-bit counts, one array that it writes."""
    table = np.arange(1.0, 25.0).reshape(4, 6)[::2, ::-3]
    given = {"counts": np.arange(5, dtype=np.int32), "is_on": True, "table": table, "word": 3, "share": 0.25} | changes
    return Pair(given["counts"], given["is_on"], given["table"]), given["word"], given["share"], np.zeros(1)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with that kernel, compiled for these arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        kernel = compiled_main(mix, "mix")
        assert not kernel.is_cached
        kernel(*make_arguments())
        return kernels.find_cache_folders()[0]


@pytest.fixture
def cache(stored, tmp_path, monkeypatch):
    """A copy of that folder, which is the cache, without anything that compiles."""
    shutil.copytree(stored, tmp_path / "cache")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_compiler, "compile_main", None)
    return tmp_path / "cache"


@pytest.fixture
def compile_again(cache, monkeypatch):
    """The cache, empty, and a list of the names of what is compiled then; its content is not made again."""
    (file,) = cache.glob("*.o")
    content, names = file.read_bytes()[32:], []

    def compile_main(function, bindings, arguments, name):
        names.append(name)
        return content

    file.unlink()
    monkeypatch.setattr(kernel_compiler, "compile_main", compile_main)
    return names


@pytest.mark.parametrize(
    "changes", [{}, {"is_on": False}, {"is_on": np.True_, "word": np.int64(1), "share": np.float64(-0.5)}]
)
def test_a_stored_kernel_equals_plain(cache, changes):
    """Results, arrays that it writes and errors; nothing is compiled."""
    kernel, arguments, plain = compiled_main(mix, "mix"), make_arguments(**changes), make_arguments(**changes)
    assert kernel.is_cached
    assert kernel(*arguments) == mix(*plain)
    assert arguments[-1] == plain[-1]
    with pytest.raises(IndexError, match=r"^a negative word$"):
        kernel(*make_arguments(**changes | {"word": -1}))


def test_repeated_calls_pack_what_changes(cache, monkeypatch):
    """Only objects that are not those of the call before; results are those of calls on their own."""
    packed, pack = [], machine_code.pack_argument
    monkeypatch.setattr(machine_code, "pack_argument", lambda argument: packed.append(argument) or pack(argument))
    calls, (pair, word, share, written) = kernels.RepeatedCalls(compiled_main(mix, "mix")), make_arguments()
    other = pair._replace(counts=pair.counts[::-1].copy())
    for arguments, changed in [
        ((pair, word, share, written), [pair, word, share, written]),
        ((pair, word, share, written), []),
        ((other, word, share, written), [other]),
        ((other, 1, 0.5, written), [1, 0.5]),
    ]:
        packed.clear()
        found = calls(*arguments)
        assert len(packed) == len(changed)
        assert all(one is another for one, another in zip(packed, changed, strict=True))
        assert (found, written[0]) == (mix(*arguments), arguments[0].counts[arguments[1]])


@pytest.mark.parametrize(
    "changes",
    [
        {"table": np.ones((2, 2))},
        {"table": np.asfortranarray(np.ones((2, 2)))},
        {"table": np.ones(2)},
        {"counts": np.arange(5)},
        {"counts": read_only(np.arange(5, dtype=np.int32))},
        {"word": 3.0},
        {"share": 1},
        {"is_on": 1},
    ],
)
def test_types_of_arguments_are_told_apart(changes):
    """Each of these needs machine code of its own."""
    types, words = machine_code.pack_argument(make_arguments())
    assert machine_code.pack_argument(make_arguments())[0] == types
    assert machine_code.pack_argument(make_arguments(**changes))[0] != types
    assert len(words) == 8 * (7 + 1 + 9 + 1 + 1 + 7)


@pytest.mark.parametrize("value", [None, "text", 1j, 2**63, np.int32(1), np.array([None]), np.array(["text"]), [1.0]])
def test_other_arguments_are_for_numba(value):
    """They have no words here."""
    with pytest.raises(TypeError, match="has no words"):
        machine_code.pack_argument((1, (value,)))


def test_words_of_an_array_are_remembered_while_it_exists():
    """A new array in its place gets its own."""
    array = np.zeros(3)
    key, words = id(array), machine_code.pack_argument((array,))
    assert machine_code.pack_argument((array,)) == words
    assert key in machine_code.known_arrays()
    del array
    assert key not in machine_code.known_arrays()


def test_a_kernel_of_another_machine_is_not_used(cache, monkeypatch):
    """Its name holds processor, LLVM and numba with its settings, but not how many threads there are."""
    describe = machine_code.describe_machine.__wrapped__
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setattr(kernels, "_machine_digest", lambda: kernels._shorten(describe()))
    assert compiled_main(mix, "mix").is_cached
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert not compiled_main(mix, "mix").is_cached


def test_symbols_that_only_numba_has(cache, monkeypatch):
    """LLVM would end the process; numba calls the kernel instead, with the same result."""
    (file,) = cache.glob("*.o")
    symbols = machine_code.find_undefined_symbols(file.read_bytes()[32:])
    assert "log" in symbols
    assert {each for each in symbols if each.startswith(("mix", "numba", "Py"))} == {"numba_frexp"}
    monkeypatch.setattr(machine_code, "find_undefined_symbols", lambda _: [*symbols, "numba_has_it"])
    kernel = compiled_main(mix, "mix")
    assert kernel(*make_arguments()) == mix(*make_arguments())
    assert list(kernel.entries.values()) == [None]


def test_a_kernel_for_numba_is_not_compiled_again(compile_again, cache, monkeypatch):
    """An empty file says so to the next process."""
    monkeypatch.setattr(machine_code, "load_entry", lambda *_: None)
    monkeypatch.setattr(kernel_compiler, "NumbaKernel", lambda *_: mix)
    for _ in range(2):
        kernel = compiled_main(mix, "mix")
        assert kernel(*make_arguments()) == mix(*make_arguments())
        assert kernel.is_cached
    assert len(compile_again) == 1


def test_a_full_disk(compile_again, cache, monkeypatch):
    """The kernel runs and is compiled again by the next process."""

    def refuse(path, content):
        raise OSError(28, "cannot be written: No space left on device", str(path))

    monkeypatch.setattr(kernels, "write_atomically", refuse)
    kernel = compiled_main(mix, "mix")
    assert kernel(*make_arguments()) == mix(*make_arguments())
    assert kernel.is_cached
    assert kernel.has_cache
    assert not compiled_main(mix, "mix").is_cached
    assert not list(cache.glob("*.o"))


def test_threads_compile_a_kernel_once(compile_again, cache):
    """All get the same result, and the file appears complete."""
    kernel, barrier = compiled_main(mix, "mix"), threading.Barrier(4)

    def call(_):
        barrier.wait()
        return kernel(*make_arguments())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(call, range(4))) == {mix(*make_arguments())}
    assert len(compile_again) == 1
    assert compiled_main(mix, "mix")(*make_arguments()) == mix(*make_arguments())
    assert len(compile_again) == 1


def test_a_package_that_cannot_be_written(tmp_path, monkeypatch):
    """Kernels are read from its folder and stored in the user's."""
    own = Path(kernels.__file__).parent
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernels.os, "access", lambda path, _: own not in Path(path).parents)
    assert kernels._find_cache_folders.__wrapped__(None) == (own / "__pycache__", tmp_path / "tutelage")
    assert (tmp_path / "tutelage").is_dir()
