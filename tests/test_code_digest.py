"""Digests of code: changed by what is reached, and by nothing else."""

import functools
import os
import re
import sys
import types

import pytest

from tutelage import code_digest, simulator
from tutelage.code_digest import CodeDigest
from tutelage.engine.simulation import simulate_run
from tutelage.policies import POLICIES, moss, ucb1
from tutelage.teachers import TEACHERS, twl

BASE = '''
"""What the policy is about."""

import functools
import math
import re
from dataclasses import dataclass, field

FACTOR = 2.0
TABLE = {"a": [1, 2], "b": {3, 4}}
PATTERN = re.compile("x+")
UNRELATED = 1

class Base:
    LIMIT = 10

    def limit(self):
        return self.LIMIT

def helper(x):
    return [x * FACTOR for _ in range(2)]

@functools.cache
def cached(x):
    return x + 1

def unrelated():
    return UNRELATED

@dataclass
class Thing(Base):
    size: int = 3
    parts: list = field(default_factory=list)

    @property
    def double(self):
        """Twice."""
        return helper(self.size)

    @staticmethod
    def choose(x, y=5):
        return cached(x) + TABLE["a"][0] + len(PATTERN.findall("xx"))

    @functools.cached_property
    def late(self):
        from made_part import part
        import made_part as other
        return part(self.size)
'''
PART = "SCALE = 1\ndef part(x):\n    return x * SCALE\n"


def make_digest(monkeypatch, base=BASE, part=PART):
    """Return the digest of the class in modules of this content."""
    for name, source in (("made_part", part), ("made_base", base)):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(source, vars(module))  # noqa: S102
    digest = CodeDigest()
    digest.add(sys.modules["made_base"].Thing())
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("FACTOR = 2.0", "FACTOR = 2.5"),
        ("[1, 2]", "[1, 3]"),
        ("{3, 4}", "{3, 5}"),
        ('"x+"', '"x*"'),
        ("LIMIT = 10", "LIMIT = 11"),
        ("return self.LIMIT", "return self.LIMIT + 1"),
        ("range(2)", "range(3)"),
        ("return x + 1", "return x + 2"),
        ("size: int = 3", "size: int = 4"),
        ("default_factory=list", "default_factory=lambda: [1]"),
        ("y=5", "y=6"),
        ("helper(self.size)", "helper(self.size + 1)"),
    ],
)
def test_what_is_reached_changes_the_digest(monkeypatch, written, instead):
    """Constants, base classes, comprehensions, cached functions, defaults and properties are reached."""
    assert written in BASE
    assert make_digest(monkeypatch, BASE.replace(written, instead)) != make_digest(monkeypatch)


def test_a_module_imported_in_a_function_is_reached(monkeypatch):
    """Its constants count, too."""
    assert make_digest(monkeypatch, part=PART.replace("SCALE = 1", "SCALE = 2")) != make_digest(monkeypatch)


def hash_engine():
    """Return the digest of the function that plays a run."""
    digest = CodeDigest()
    digest.add(simulate_run)
    return digest.hexdigest()


_WITHOUT_NUMBA = """
import sys
from tutelage.code_digest import CodeDigest
from tutelage.engine.simulation import simulate_run
digest = CodeDigest()
digest.add(simulate_run)
print("numba" in sys.modules, digest.hexdigest())
"""


def test_modules_that_import_numba_are_read(monkeypatch, python):
    """The compiler and the draws count, and numba is not imported; whether it has been changes nothing."""
    answer = python("-c", _WITHOUT_NUMBA).stdout.split()
    assert answer[0] == "False"
    assert python("-c", f"import tutelage.engine.kernel_compiler\n{_WITHOUT_NUMBA}").stdout.split() == [
        "True",
        answer[1],
    ]
    texts = code_digest.read_compilers("tutelage.engine.kernel_compiler")
    assert {b"class NumbaKernel" in text for text in texts} == {True, False}
    assert any(b"random_standard_gamma" in text for text in texts)
    simulator.simulate("paper", "twl", horizon=30, runs=1)
    assert hash_engine() == answer[1], "what a simulation leaves in this process counts"
    with monkeypatch.context() as patch:
        patch.setattr(code_digest, "read_compilers", lambda name: (b"another text",) if "kernel_com" in name else ())
        assert hash_engine() != answer[1]
    version = code_digest._version
    monkeypatch.setattr(code_digest, "_version", lambda package: "0" if package == "numba" else version(package))
    assert hash_engine() != answer[1]


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("UNRELATED = 1", "UNRELATED = 2"),
        ("return UNRELATED", "return -UNRELATED"),
        ('"""Twice."""', '"""Two times."""'),
        ('"""What the policy is about."""', "# A comment.\n\n"),
        ("import math\n", "import math  # unused\n"),
    ],
)
def test_what_is_not_reached_changes_nothing(monkeypatch, written, instead):
    """Other functions, comments, docstrings and line numbers do not count."""
    assert written in BASE
    assert make_digest(monkeypatch, BASE.replace(written, instead)) == make_digest(monkeypatch)


def hash_entries():
    """Return the digests of some policies and teachers."""
    found = {}
    for table, names in ((POLICIES, ("ucb1", "moss", "ts")), (TEACHERS, ("twl", "tal", "blt", "change-detector"))):
        for name in names:
            digest = CodeDigest()
            digest.add(table.parse(name))
            found[name] = digest.hexdigest()
    return found


@pytest.mark.parametrize(
    ("module", "name", "value", "changed"),
    [
        (ucb1, "_WINDOW", 32, {"ucb1"}),
        (moss, "moss_index", lambda *arguments: 0.0, {"moss"}),
        (twl, "has_epoch", lambda *arguments: False, {"twl", "change-detector"}),
    ],
)
def test_only_what_uses_a_changed_constant_changes(monkeypatch, module, name, value, changed):
    """The change detector reaches the teacher that it is given."""
    before = hash_entries()
    assert hasattr(module, name)
    monkeypatch.setattr(module, name, value)
    after = hash_entries()
    assert {name for name in before if before[name] != after[name]} == changed


def test_the_digest_is_the_same_in_every_process(python):
    """Addresses and the order of sets have no part in it."""
    code = "from tests.test_code_digest import hash_entries; print(hash_entries())"
    found = {python("-c", code, env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert found == {f"{hash_entries()}\n"}


def test_a_value_with_an_address_counts_by_its_type():
    """A lock or an object of another package has no content that is the same in every process."""
    digests = []
    for _ in range(2):
        digest = CodeDigest()
        digest.add([object(), functools.partial(re.sub, "a", "b"), {1: object()}])
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]
