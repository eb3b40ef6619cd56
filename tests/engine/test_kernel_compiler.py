"""Kernels: linked to what they call, called by numba or without it."""

import os
import subprocess
import sys

import numba

from tutelage.engine.kernel_compiler import compiled
from tutelage.engine.kernels import compiled_main

INNER = "SCALE = {scale}\ndef inner(x):\n    return x * SCALE{more}\n"
OUTER = "def outer(x, y=0.0):\n    return inner(x) + step(x)\n"
STEP = "def step(x):\n    return x + {plus}\n"


def functions(scale=2.0, more="", plus=1):
    """A function that calls two others, as if they stood in files of their own."""
    names: dict = {"__name__": "made_here"}
    for source in (INNER.format(scale=scale, more=more), STEP.format(plus=plus), OUTER):
        exec(source, names)  # noqa: S102
    return names


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


def add_one(x):
    """Stand in for a kernel."""
    return x + 1.0


_LOADED = """if True:
    import sys
    from tests.engine.test_kernel_compiler import add_one
    from tutelage.engine.kernels import compiled_main
    print(compiled_main(add_one, "add_one")(1.5), "numba.np.linalg" in sys.modules)
"""


def test_a_kernel_of_another_package_is_numbas(tmp_path, monkeypatch):
    """numba calls and stores it; it is to be compiled until some process has compiled it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second = (compiled_main(add_one, "add_one") for _ in range(2))
    assert not first.is_cached
    assert not second.is_cached
    assert first.has_cache
    assert first(1.5) == 2.5
    assert first.is_cached
    assert second.is_cached
    assert not first.entries


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
