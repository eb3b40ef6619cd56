"""``tutelage check``: the rules of the contract, one sentence for each that is broken."""

import json
import logging
import sys
from pathlib import Path

import pytest

from tests.cli.commands import error_of, output_of
from tutelage.cli import app
from tutelage.cli.app import execute
from tutelage.engine import kernels
from tutelage.testing import checked_teacher, single_client

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "tutelage-example" / "src"
FIRST = """
from dataclasses import dataclass
from tutelage.policies.base import no_learning

def choose(round, learner, parameters, stream):
    best = 0
    for arm in range(learner.counts.size):
        if learner.counts[arm] == 0:
            return arm
        if learner.means[arm] > learner.means[best]:
            best = arm
    return best

@dataclass(frozen=True)
class First:
    '''The first of the best arms.'''
    choose = staticmethod(choose)
    learn = staticmethod(no_learning)
    def state_size(self, num_arms):
        return 0
    def parameters(self):
        return ()

class Careless(First):
    '''Not a sentence'''
    def parameters(self):
        return (1,)
"""
TEACHER = """
from dataclasses import dataclass, replace
from tutelage_example.teachers import Explore
from tutelage.teachers.base import Quota

@dataclass(frozen=True)
class Careless(Explore):
    '''Cuts beyond the horizon, counts that are not cuts, strangers excluded.'''
    def segments(self, problem):
        return (100,)
    def directive(self, state):
        directive = super().directive(state)
        if directive.quota is None:
            return directive
        return replace(directive, quota=Quota(tuple(count + 7 for count in directive.quota.counts)))
    def exclude(self, state, client):
        return state

@dataclass(frozen=True)
class Forgetful(Explore):
    '''Returns no state.'''
    def advance(self, state, evidence):
        pass
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A package with careless entries, and the example package, on the path."""
    (tmp_path / "own_entries.py").write_text(FIRST)
    (tmp_path / "own_teachers.py").write_text(TEACHER)
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("own_entries", "own_teachers"):
        sys.modules.pop(name, None)


def broken_rules(capsys, spec):
    """Return the reasons of the rules that an entry breaks."""
    status = execute(["check", spec, "--json"])
    document = json.loads(capsys.readouterr().out)
    broken = {each["rule"]: each["reason"] for each in document["rules"] if each["outcome"] == "failed"}
    assert document["failed"] == len(broken)
    assert status == (1 if broken else 0)
    return broken


@pytest.mark.parametrize("spec", ["tutelage_example.teachers:Explore", "tutelage_example.teachers:Explore(pulls=7)"])
def test_the_documented_teacher_keeps_to_the_contract(spec, own, capsys):
    """The teacher that docs/extending.md shows whole breaks no rule."""
    assert broken_rules(capsys, spec) == {}


def test_the_documented_policy_keeps_to_the_contract(own, capsys):
    """The policy that docs/extending.md shows whole breaks no rule, and the output says so."""
    printed = output_of(capsys, "check", "tutelage_example.policies:Greedy")
    assert "failed" not in printed
    assert "15 of 15 rules hold." in printed


def test_a_policy_that_prefers_the_first_arm(own, capsys):
    """Ties by index are named with the arm and its pulls."""
    broken = broken_rules(capsys, "own_entries:First")
    assert set(broken) == {"ties_are_broken_uniformly", "equal_arms_share_pulls_evenly", "first_pull_is_uniform"}
    assert (
        broken["ties_are_broken_uniformly"]
        == "Ties are broken by the first index: arm 0 got 20,000 of 20,000 tied pulls; use argmax and first_pulls of "
        "tutelage.policies.base, or set breaks_ties_at_random = False."
    )


def test_a_policy_that_is_not_documented(own, capsys):
    """A docstring that is not a sentence and parameters that are not floats are named."""
    broken = broken_rules(capsys, "own_entries:Careless")
    assert "'Not a sentence'" in broken["is_documented"]
    assert broken["is_a_frozen_value"] == "parameters() returned 1, which is not a float."


def test_a_teacher_that_breaks_the_rules_of_quotas(own, capsys):
    """Cuts beyond the horizon, counts that are not cuts and strangers that are excluded are named."""
    broken = broken_rules(capsys, "own_teachers:Careless")
    assert "107 is not a cut" in broken["whole_runs"]
    assert "the cut 100" in broken["segments_increase_and_are_few"]
    assert "client 3 of three was not refused" in broken["clients_that_cannot_be_excluded"]
    assert "no count lies beyond the horizon" in broken["a_decision_out_of_reach_is_reported"]
    assert "own_teachers:Careless" in broken["smallest_problems"]


def test_a_teacher_that_returns_nothing(own, capsys):
    """``advance`` is blamed, not the function that is called next."""
    broken = broken_rules(capsys, "own_teachers:Forgetful")
    assert broken["whole_runs"].startswith("advance() returned None, which is not a ")


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("first-tie", "Compiling first-tie takes about 3 s."),
        (
            "none",
            "Compiling the simulator for eps-constant(epsilon=1) takes about 10 s; later runs find it in the cache.",
        ),
    ],
)
def test_it_says_that_it_compiles(spec, line, capsys, monkeypatch):
    """One line on standard error names for what and how long it takes, as in a simulation."""
    monkeypatch.setattr(app, "LOG_LEVEL", logging.INFO)
    monkeypatch.setattr(kernels.Kernel, "is_cached", False)
    single_client.announce_compilation.cache_clear()
    checked_teacher.warm_up_clients.cache_clear()
    assert execute(["check", spec, "--json"]) == 0
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nothing", "Unknown policy or teacher 'nothing'"),
        ("collections:OrderedDict", "is not a policy: it lacks choose"),
        ("nowhere.at:All", "cannot be imported"),
        ("ucb1(x=3)", "Unknown parameter 'x'"),
    ],
)
def test_what_cannot_be_checked(spec, said, capsys):
    """Anything else is one sentence."""
    assert said in error_of(capsys, 2, "check", spec)


def test_it_needs_no_test_tools(python, own):
    """The command runs where neither pytest, hypothesis nor scipy is installed."""
    code = """if True:
        import sys
        sys.modules |= dict.fromkeys(("pytest", "hypothesis", "scipy"))
        from tutelage.cli.app import execute
        sys.exit(execute(["check", "none"]))
    """
    assert "13 of 13 rules hold; 1 does not apply." in python("-c", code).stdout
