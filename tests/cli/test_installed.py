"""A policy and a teacher that an installed package brings work by ``package.module:Name(...)``."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "ownwares"
version = "1.0"
"""

WARES = '''
"""A policy and a teacher from outside."""

from dataclasses import dataclass
from typing import ClassVar

from tutelage.draws import random
from tutelage.policies.base import first_pulls
from tutelage.registry import parameter
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Quota, Report, Teacher


def choose(round, learner, parameters, stream):
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    if random(stream) < parameters[0]:
        return int(learner.state[0])
    return round % learner.counts.size


def learn(arm, reward, learner, parameters, stream):
    if reward > 0.5:
        learner.state[0] = arm


@dataclass(frozen=True)
class Sticky:
    """Sticks to the arm that paid last."""

    loyalty: float = parameter(0.5, help="how often it sticks, in [0, 1]")

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms):
        return 1

    def parameters(self):
        return (self.loyalty,)


@dataclass(frozen=True)
class Broken(Sticky):
    """Its choose names what is not there."""

    choose = staticmethod(lambda round, learner, parameters, stream: learner.moods)


def choose_endlessly(round, learner, parameters, stream):
    while True:
        if round < 0:
            return 0


@dataclass(frozen=True)
class Endless(Sticky):
    """Never comes to a choice."""

    choose = staticmethod(choose_endlessly)


def choose_until_two(round, learner, parameters, stream):
    if round > 2:
        raise ValueError("tired")
    return 0


@dataclass(frozen=True)
class Tired(Sticky):
    """Fails in round 3."""

    choose = staticmethod(choose_until_two)


@dataclass(frozen=True)
class Sizeless(Sticky):
    """Fails before it chooses."""

    def state_size(self, num_arms):
        raise KeyError("size")


@dataclass(frozen=True)
class State:
    num_arms: int
    asked: int = 0


@dataclass(frozen=True)
class Patient(Teacher):
    """Waits for some pulls of every arm, then teaches the last arm."""

    pulls: int = parameter(3, help="how long it waits")

    state_type: ClassVar[type] = State

    def segments(self, problem):
        return (self.pulls,)

    def begin(self, problem, generator):
        return State(problem.num_arms)

    def directive(self, state):
        arms = tuple(range(state.num_arms))
        if not state.asked:
            return Directive((KEEP,) * state.num_arms, Quota((self.pulls,) * state.num_arms), arms)
        target = arms[-1]
        return Directive((Set(0.0),) * target + (KEEP,), None, (target,), target=target)

    def advance(self, state, evidence):
        assert all(len(sums) == 1 for sums in evidence.sums)
        return State(state.num_arms, state.asked + 1)

    def exclude(self, state, client):
        return state

    def report(self, state):
        nothing = (None,) * state.num_arms
        return Report(1, tuple(range(state.num_arms)), None, nothing, nothing, True, "waiting")
'''

TEACHER, POLICY = "ownwares.shelf:Patient(pulls=4)", "ownwares.shelf:Sticky(loyalty=0.25)"


@pytest.fixture(scope="module")
def site(python, tmp_path_factory):
    """The folder that the package has been installed into."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "ownwares").mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "ownwares" / "__init__.py").write_text("")
    (source / "ownwares" / "shelf.py").write_text(WARES)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    python("-m", "pip", "install", "--quiet", *offline, "--target", site, source)
    return site


@pytest.fixture
def environment(site):
    """The variables with which a process finds the package."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


@pytest.fixture
def simulate(python, environment):
    """``tutelage simulate paper ...`` in a process that finds the package; without the line that it compiles."""

    def run(*arguments):
        ended = python("-m", "tutelage", "simulate", "paper", *arguments, check=False, env=environment)
        lines = ended.stderr.splitlines(keepends=True)
        ended.stderr = "".join(line for line in lines if not line.startswith("Compiling the simulator for "))
        return ended

    return run


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_policy_and_teacher_of_an_installed_package(simulate, executor):
    """Both are compiled and consulted like and together with built-in ones, in threads and processes."""
    clients = f"2*{POLICY},3*ucb1"
    ended = simulate(
        *("--teacher", TEACHER, "--teacher", "none", "--clients", clients),
        *("--horizon", "300", "--runs", "2", "--json", "--executor", executor),
    )
    assert all(line.startswith("simulating: ") for line in ended.stderr.splitlines())  # on a slow machine
    document = json.loads(ended.stdout)
    assert document["clients"] == [POLICY, POLICY, "ucb1", "ucb1", "ucb1"]
    own = document["teachers"][0]
    assert own["teacher"] == TEACHER
    assert own["learning"]["decided"] == 2
    assert all(20 <= round < 300 for round in own["learning"]["rounds"])
    assert (own["target"]["counts"], own["target"]["wrong"]) == ([0, 0, 0, 0, 2], 0)


def test_its_parameters_are_checked(simulate):
    """An unknown one is named, with the nearest."""
    ended = simulate("--clients", "ownwares.shelf:Sticky(loyalti=1)")
    assert ended.returncode == 2
    assert "'loyalti' (did you mean 'loyalty'?)" in ended.stderr


def test_a_policy_that_numba_refuses(simulate):
    """One sentence that names the policy and has numba's own words."""
    ended = simulate("--clients", "ownwares.shelf:Broken", "--horizon", "10", "--runs", "1")
    assert ended.returncode == 2
    assert ended.stderr.startswith("The policy ownwares.shelf:Broken(loyalty=0.5) cannot be compiled by numba: ")
    assert "'moods'" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_policy_that_fails_while_it_plays(simulate, executor):
    """One sentence that names the policy and has its own words, from wherever it played."""
    ended = simulate(
        *("--clients", "2*ucb1,3*ownwares.shelf:Tired", "--teacher", "none"),
        *("--horizon", "10", "--runs", "1", "--executor", executor),
    )
    assert ended.returncode == 2
    sentence = ended.stderr.splitlines()[-1]
    assert sentence.startswith("The policy ownwares.shelf:Tired(loyalty=0.5) failed: ValueError: tired (")
    assert re.search(r"shelf\.py, line \d+, in choose_until_two\)\.$", sentence)


def test_a_policy_that_fails_before_it_plays(simulate):
    """Not numba's doing, and not said to be."""
    ended = simulate("--clients", "ownwares.shelf:Sizeless", "--horizon", "10", "--runs", "1")
    assert ended.returncode == 2
    said = "The policy ownwares.shelf:Sizeless(loyalty=0.5) failed in state_size(): KeyError: 'size' ("
    assert ended.stderr.startswith(said)
    assert re.search(r"shelf\.py, line \d+, in state_size\)\.\n$", ended.stderr)
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_a_policy_that_never_chooses_can_be_interrupted(environment):
    """Ctrl-C ends compiled code that does not come back to Python."""
    command = ["simulate", "paper", "--clients", "ownwares.shelf:Endless", "--teacher", "none"]
    with subprocess.Popen(
        [sys.executable, "-m", "tutelage", *command], stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        time.sleep(8)  # compiled, most likely; the outcome is the same if not
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=60)
    assert (running.returncode, error) == (130, "Interrupted.\n")
