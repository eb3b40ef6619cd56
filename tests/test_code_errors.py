"""An error in the code of another package is one sentence with its file, line and function."""

import pytest

import tutelage
from tutelage.cli.app import execute
from tutelage.errors import InputError

TEACHER = """
from dataclasses import dataclass
from tutelage.rules import KEEP
from tutelage.teachers.base import Directive, Quota, Report, Teacher

@dataclass(frozen=True)
class State:
    num_arms: int

@dataclass(frozen=True)
class Plain(Teacher):
    '''Asks after three pulls and again and again.'''
    state_type = State
    def segments(self, problem):
        return (3, 10)
    def begin(self, problem, generator):
        return State(problem.num_arms)
    def directive(self, state):
        return Directive((KEEP,) * state.num_arms, Quota((3,) * state.num_arms), tuple(range(state.num_arms)))
    def advance(self, state, evidence):
        return state
    def exclude(self, state, client):
        return state
    def report(self, state):
        return Report(0, (0,), None, (), (), True, "x")
"""
POLICY = """
from dataclasses import dataclass
import numpy as np
from tutelage.policies.base import no_learning

class Plain:
    learn = staticmethod(no_learning)
    def state_size(self, num_arms):
        return 0
    def parameters(self):
        return ()
"""
SOURCE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Own:
    '''An instance.'''
    def load(self):
"""
DISTRIBUTION = """
from dataclasses import dataclass

def draw(rewards, client, arm, stream):
    rewards.local_means[0, 0] = 1.0  # HERE
    return 0.5

@dataclass(frozen=True)
class Own:
    '''A distribution.'''
    draw = staticmethod(draw)
    needs_samples = False
    def parameters(self):
"""


def teacher_with(text):
    """The module of a teacher with one function replaced by this text."""
    return f"{TEACHER}\n@dataclass(frozen=True)\nclass Own(Plain):\n    '''Fails.'''\n    {text}\n"


def policy_with(text):
    """The module of a policy with this function ``choose``."""
    return f"{POLICY}\n{text}\n@dataclass(frozen=True)\nclass Own(Plain):\n    choose = staticmethod(choose)\n"


CASES = {
    "advance returns nothing": (
        "teacher", teacher_with("def advance(self, state, evidence):  # HERE\n        pass"),
        "returned None from advance(): it must be a state, of the class State", "advance",
    ),
    "begin returns nothing": (
        "teacher", teacher_with("def begin(self, problem, generator):  # HERE\n        pass"),
        "returned None from begin(): it must be a state, of the class State", "begin",
    ),
    "evidence is read-only": (
        "teacher", teacher_with("def advance(self, state, evidence):\n        evidence.sums[0][0, 0] = 7.0  # HERE"),
        "failed in advance(): ValueError: assignment destination is read-only", "advance",
    ),
    "a state is changed": (
        "teacher", teacher_with("def advance(self, state, evidence):\n        state.num_arms = 3  # HERE"),
        "failed in advance(): FrozenInstanceError: cannot assign to field 'num_arms'", "advance",
    ),
    "a helper fails": (
        "teacher",
        teacher_with("def directive(self, state):\n        return self.help()\n    def help(self):\n"
                     "        return {}[3]  # HERE"),
        "failed in directive(): KeyError: 3", "help",
    ),
    "fields of another type": (
        "teacher", teacher_with("def directive(self, state):  # HERE\n        return Directive(None, None, None)"),
        "in which a field has another type than in Directive", "directive",
    ),
    "counts are read-only": (
        "policy", policy_with("def choose(round, learner, parameters, stream):\n    learner.counts[0] = 7  # HERE\n"
                              "    return 0\n"),
        "cannot be compiled by numba: it writes an array that it may only read", "choose",
    ),
    "means are read-only": (
        "policy", policy_with("def choose(round, learner, parameters, stream):\n    learner.means[0] = 7  # HERE\n"
                              "    return 0\n"),
        "it writes an array that it may only read", "choose",
    ),
    "parameters are read-only": (
        "policy", policy_with("def choose(round, learner, parameters, stream):\n    parameters[0] = 7  # HERE\n"
                              "    return 0\n"),
        "it writes an array that it may only read", "choose",
    ),
    "an array is created": (
        "policy", policy_with("def choose(round, learner, parameters, stream):  # HERE\n"
                              "    return len(learner.means * 2) * 0\n"),
        "cannot be compiled by numba: it creates an array or a list, which compiled functions cannot", "choose",
    ),
    "compiled code raises": (
        "policy", policy_with("def choose(round, learner, parameters, stream):\n    if round > 9:\n"
                              "        raise ValueError('too far')  # HERE\n    return 0\n"),
        "failed: ValueError: too far", "choose",
    ),
    "an index outside an array": (
        "policy", policy_with("def choose(round, learner, parameters, stream):\n"
                              "    return 1 if learner.means[90 + round] > 0 else 0  # HERE\n"),
        "used an index outside an array", "choose",
    ),
    "an arm that does not exist": (
        "policy", policy_with("def choose(round, learner, parameters, stream):  # HERE\n    return 77\n"),
        "chose an arm outside 0 to 4", "choose",
    ),
    "parameters that are not numbers": (
        "policy",
        policy_with("def choose(round, learner, parameters, stream):\n    return 0\n")
        + "    def parameters(self):  # HERE\n        return ['a']\n",
        "returned ['a'] from parameters(): it must be a tuple of numbers", "parameters",
    ),
    "a source fails": ("instance", f"{SOURCE}        return 1 / 0  # HERE\n", "ZeroDivisionError", "load"),
    "a source returns something else": (
        "instance", SOURCE.replace("def load(self):", "def load(self):  # HERE") + "        return 3\n",
        "returned 3 from load(): it must be an Instance", "load",
    ),
    "means of an instance are read-only": (
        "distribution", f"{DISTRIBUTION}        return ()\n", "it writes an array that it may only read", "draw",
    ),
    "parameters of a distribution fail": (
        "distribution", DISTRIBUTION.replace("  # HERE", "") + "        return 1 / 0  # HERE\n",
        "failed in parameters(): ZeroDivisionError: division by zero", "parameters",
    ),
    "the module fails": ("teacher", "import math\nmath.nothing  # HERE\n", "cannot be imported: AttributeError", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_place_is_named(name, tmp_path, monkeypatch):
    """The sentence says which entry, what is wrong, and where."""
    kind, code, fault, function = CASES[name]
    module = f"own_{abs(hash(name))}"
    path = tmp_path / f"{module}.py"
    path.write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    spec = f"{module}:Own"
    instance = {"instance": spec, "distribution": f"paper:rewards='{spec}'"}.get(kind, "paper")
    with pytest.raises(InputError) as error:
        tutelage.simulate(
            instance,
            spec if kind == "teacher" else "none",
            spec if kind == "policy" else "ucb1",
            horizon=40,
            runs=1,
            workers=1,
        )
    line = next(number for number, text in enumerate(code.splitlines(), 1) if "# HERE" in text)
    place = f"({path}, line {line}, in {function})." if function else f"({path}, line {line})."
    assert fault in str(error.value)
    assert str(error.value).endswith(place)
    assert spec in str(error.value)


def test_a_function_with_self(tmp_path, monkeypatch):
    """A policy whose ``choose`` is not static is refused with what to write."""
    code = policy_with("def choose(self, round, learner, parameters, stream):\n    return 0\n")
    (tmp_path / "own_method.py").write_text(code.replace("staticmethod(choose)", "choose"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"own_method:Own .*: write choose = staticmethod\(choose\)"):
        tutelage.simulate("paper", "none", "own_method:Own", horizon=40, runs=1, workers=1)


@pytest.mark.parametrize("arguments", [["simulate", "paper", "--teacher"], ["bound", "paper", "--teacher"]])
def test_traceback_shows_everything(arguments, tmp_path, monkeypatch, capsys):
    """``--traceback`` prints the traceback of the code, and the sentence comes last."""
    (tmp_path / "own_broken.py").write_text("import math\nmath.nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert execute([*arguments, "own_broken:Own", "--traceback"]) == 2
    shown = capsys.readouterr().err
    assert "    math.nothing\n" in shown
    assert shown.splitlines()[-1].startswith("The teacher 'own_broken:Own' cannot be imported")
    assert execute([*arguments, "own_broken:Own"]) == 2
    assert "Traceback" not in capsys.readouterr().err
