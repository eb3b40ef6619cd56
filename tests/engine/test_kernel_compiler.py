"""Kernels: linked to what they call, cached by all that they are made of."""

import os
import subprocess
import sys
import textwrap

import numba
import pytest

from tutelage.engine import kernel_compiler
from tutelage.engine.kernel_compiler import compiled, compiled_main

INNER = "SCALE = {scale}\ndef inner(x):\n    return x * SCALE{more}\n"
OUTER = "def outer(x, y=0.0):\n    return inner(x) + step(x)\n"
STEP = "def step(x):\n    return x + {plus}\n"


def functions(scale=2.0, more="", plus=1):
    """A function that calls two others, as if they stood in files of their own."""
    names: dict = {"__name__": "made_here"}
    for source in (INNER.format(scale=scale, more=more), STEP.format(plus=plus), OUTER):
        exec(source, names)  # noqa: S102
    return names


def digest(**changes):
    """The digest of the outer function."""
    return kernel_compiler._digest(functions(**changes)["outer"], {})


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
    mine = kernel_compiler._digest(names["outer"], {"step": other["step"]})
    assert mine != digest()
    assert mine == digest(plus=5)


def test_digest_changes_with_a_default_argument():
    """Defaults are part of what a kernel does."""
    names = functions()
    before = kernel_compiler._digest(names["outer"], {})
    names["outer"].__defaults__ = (1.0,)
    assert kernel_compiler._digest(names["outer"], {}) != before


def test_compiled_equals_plain():
    """A compiled function calls compiled versions of what it names, with the same result."""
    outer = functions()["outer"]
    assert compiled(outer)(1.5) == outer(1.5) == 1.5 * 2 + 2.5
    assert compiled(outer) is compiled(outer)


def test_plain_function_stays_plain():
    """Compiling works on a copy: the original goes on calling the originals."""
    names = functions()
    inner = names["inner"]
    compiled(names["outer"])
    assert names["inner"] is inner


def test_no_folder_to_cache_in(monkeypatch):
    """Where numba finds no folder that it can write, the kernel is compiled without one."""
    asked = []
    njit = numba.njit

    def refuse(*functions, cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'outer': no locator available for file")
        return njit(*functions, **options)  # also for modules of numba that are imported now

    monkeypatch.setattr(numba, "njit", refuse)
    names = functions(scale=7.0)
    assert compiled_main(names["outer"], "outer", step=names["step"])(1.0) == 9.0
    first = asked.index(True)
    assert asked[first : first + 2] == [True, False]


PROGRAM = """
    from main import main
    from tutelage.engine.kernel_compiler import compiled_main
    kernel = compiled_main(main, "main")
    stats = kernel.dispatcher.stats
    print(kernel(1.0), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_program(folder):
    """Result, cache hits and misses of the little program in a fresh interpreter."""
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result, hits, misses = done.stdout.split()
    return float(result), int(hits), int(misses)


def test_kernel_is_reused_until_something_it_reaches_changes(tmp_path):
    """A second process takes the kernel from disk; an edit in another file that it calls makes a new one."""
    (tmp_path / "main.py").write_text("from part import part\n\ndef main(x):\n    return part(x) + 1.0\n")
    (tmp_path / "part.py").write_text("FACTOR = 2.0\n\ndef part(x):\n    return x * FACTOR\n")
    assert run_program(tmp_path) == (3.0, 0, 1)
    assert run_program(tmp_path) == (3.0, 1, 0)
    (tmp_path / "part.py").write_text("FACTOR = 5.0\n\ndef part(x):\n    return x * FACTOR\n")
    assert run_program(tmp_path) == (6.0, 0, 1)


def make(arm):
    """Functions that differ in nothing but what they close over."""

    def choose(x):
        return x + arm

    return choose


def test_digest_changes_with_what_a_function_closes_over():
    """Two closures of one code are two kernels."""
    assert kernel_compiler._digest(make(0), {}) != kernel_compiler._digest(make(3), {})
    assert kernel_compiler._digest(make(3), {}) == kernel_compiler._digest(make(3), {})
    assert compiled_main(make(3), "close")(1) == 4
    assert compiled_main(make(0), "close")(1) == 1


def test_a_damaged_cache_is_done_without(tmp_path):
    """A kernel whose file on disk is cut short is compiled again, and gives the same."""
    (tmp_path / "main.py").write_text("from part import part\n\ndef main(x):\n    return part(x) + 1.0\n")
    (tmp_path / "part.py").write_text("FACTOR = 2.0\n\ndef part(x):\n    return x * FACTOR\n")
    run_program(tmp_path)
    for path in (tmp_path / "cache").rglob("*.nb?"):
        path.write_bytes(path.read_bytes()[:50])
    assert run_program(tmp_path)[0] == 3.0


def test_a_kernel_in_the_cache_need_not_be_compiled(tmp_path, monkeypatch):
    """A kernel is to be compiled until some process has compiled it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second = (compiled_main(add_one, "add_one") for _ in range(2))
    assert not first.is_cached
    assert not second.is_cached
    assert first(1.5) == 2.5
    assert first.is_cached
    assert second.is_cached


def add_one(x):
    """Stand in for a kernel."""
    return x + 1.0


_LOADED = """if True:
    import sys
    from tests.engine.test_kernel_compiler import add_one
    from tutelage.engine.kernel_compiler import compiled_main
    print(compiled_main(add_one, "add_one")(1.5), "numba.np.linalg" in sys.modules)
"""


def test_a_kernel_is_loaded_without_what_only_compiling_needs(tmp_path):
    """The second process finds the kernel in the cache, and imports less of numba than the one that compiled it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", _LOADED], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert printed == ["2.5 True\n", "2.5 False\n"]
