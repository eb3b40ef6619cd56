"""Cells: what their hash depends on, and that they hold what the simulator gives."""

import importlib
import shutil
import sys

import numpy as np
import pytest
from msgspec.structs import replace

import tutelage
from tutelage import experiments, results
from tutelage.distributions import bernoulli
from tutelage.engine import run_clients
from tutelage.experiments import cells
from tutelage.experiments.cells import load_entry, make_cells
from tutelage.experiments.parsing import parse_experiment
from tutelage.policies import moss, ucb1
from tutelage.teachers import tal, twl


def hash_cells(experiment, number=0):
    """Return the hashes of the cells of one instance."""
    loaded = load_entry(experiment.instances[number], "test", None)
    return [cell.digest for cell in make_cells(experiment, loaded, experiment.clients[0], 300)]


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("runs = 2\nseed", "runs = 3\nseed"),
        ("seed = 7", "seed = 8"),
        ("checkpoints = 6", "checkpoints = 5"),
        ('spec = "ucb1"', 'spec = "eps-greedy"'),
        ('spec = "paper"', 'spec = "paper:rewards=constant"'),
        ('spec = "paper"', 'spec = "paper:weights=.1;.2;.2;.2;.3"'),
        ('spec = "paper"', 'spec = "planted:seed=1"'),
    ],
)
def test_a_setting_changes_the_hash(small, written, instead):
    """The hash covers everything that a result depends on, and each teacher has its own."""
    before = hash_cells(parse_experiment(small, "a"))
    after = hash_cells(parse_experiment(small.replace(written, instead, 1), "a"))
    assert len(set(before) | set(after)) == 2 * len(before)


def test_the_set_and_its_seeds_change_the_hash(small):
    """A set of the same size with other seeds has other hashes."""
    before = hash_cells(parse_experiment(small, "a"), 1)
    after = hash_cells(parse_experiment(small.replace("4..6", "5..7"), "a"), 1)
    assert not set(before) & set(after)


def test_shifts_change_the_hash(small):
    """The hash covers the conditions of an instance."""
    one = small.replace('"paper"', '"shift:paper,then=planted:seed=1,at=100"')
    other = small.replace('"paper"', '"shift:paper,then=planted:seed=1,at=101"')
    third = small.replace('"paper"', '"shift:paper,then=planted:seed=2,at=100"')
    found = {tuple(hash_cells(parse_experiment(text, "a"))) for text in (small, one, other, third)}
    assert len(found) == 4


@pytest.mark.parametrize(
    ("module", "name", "value", "changed"),
    [
        (run_clients, "SLICE", 1, [True, True, True]),
        (ucb1, "_WINDOW", 32, [True, True, True]),
        (bernoulli, "random", lambda stream: 0.5, [True, True, True]),
        (twl, "has_epoch", lambda *arguments: False, [True, False, False]),
        (moss, "moss_index", lambda *arguments: 0.0, [False, False, False]),
        (tal, "has_epoch", lambda *arguments: False, [False, False, False]),
    ],
)
def test_only_code_that_a_cell_reaches_changes_its_hash(small, monkeypatch, module, name, value, changed):
    """Engine, policy, reward distribution and the cell's own teacher count; other policies and teachers do not."""
    before = hash_cells(parse_experiment(small, "a"))
    assert hasattr(module, name)
    monkeypatch.setattr(module, name, value)
    after = hash_cells(parse_experiment(small, "a"))
    assert [mine != its for mine, its in zip(after, before, strict=True)] == changed


OWN = """
from dataclasses import dataclass
from tutelage.distributions.bernoulli import Bernoulli
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers.baselines import NoTeaching
from own_part import SCALE

UNUSED = 1
OFFSET, SIZE, REWARD = 1, 2, 3

@dataclass(frozen=True)
class Policy(UCB1):
    def state_size(self, num_arms):
        return 5 + 0 * SIZE

@dataclass(frozen=True)
class Teacher(NoTeaching):
    def note(self):
        return OFFSET * SCALE

@dataclass(frozen=True)
class Rewards(Bernoulli):
    def parameters(self):
        return () if REWARD else ()
"""


@pytest.mark.parametrize(
    ("written", "instead", "changed"),
    [
        ("SIZE, REWARD = 1, 2, 3", "SIZE, REWARD = 1, 2, 4", True),
        ("SIZE, REWARD = 1, 2, 3", "SIZE, REWARD = 1, 9, 3", True),
        ("SIZE, REWARD = 1, 2, 3", "SIZE, REWARD = 8, 2, 3", True),
        ("SCALE = 1", "SCALE = 2", True),
        ("UNUSED = 1", "UNUSED = 2", False),
    ],
)
def test_code_of_other_packages_changes_the_hash(small, tmp_path, monkeypatch, written, instead, changed):
    """A constant of one's own policy, teacher or distribution counts, also in a module that these import."""
    monkeypatch.syspath_prepend(tmp_path)
    text = small.replace('"twl", "known", "none"', '"own:Teacher"').replace('spec = "ucb1"', 'spec = "own:Policy"')
    text = text.replace('spec = "paper"', "spec = \"paper:rewards='own:Rewards'\"")
    text = text[: text.index("[[panels]]")]
    found = []
    for step in range(2):
        for name, source in (("own", OWN), ("own_part", "SCALE = 1\n")):
            monkeypatch.delitem(sys.modules, name, raising=False)
            (tmp_path / f"{name}.py").write_text(source.replace(written, instead) if step else source)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        found.append(hash_cells(parse_experiment(text, "a")))
    monkeypatch.delitem(sys.modules, "own")
    monkeypatch.delitem(sys.modules, "own_part")
    assert (found[0] != found[1]) is changed


def test_the_version_changes_the_hash(small, monkeypatch):
    """Another version of Tutelage may simulate differently."""
    before = hash_cells(parse_experiment(small, "a"))
    monkeypatch.setattr(cells, "package_version", lambda package="tutelage": "99.0")
    assert not set(before) & set(hash_cells(parse_experiment(small, "a")))


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ('title = "A small experiment"', 'title = "Another"'),
        ('section = "I"', 'section = "II"'),
        ('"twl", "known", "none"', '"none", "known", "twl"'),
    ],
)
def test_other_keys_do_not_change_the_hash(small, written, instead):
    """Titles, claims and the order of the teachers can be changed without simulating again."""
    before = hash_cells(parse_experiment(small, "a"))
    assert sorted(hash_cells(parse_experiment(small.replace(written, instead, 1), "a"))) == sorted(before)


def test_moved_data_has_the_same_hash(small, tmp_path):
    """The hash covers the means, not the path of their file."""
    found = []
    for name in ("here.csv", "there.csv"):
        (tmp_path / name).write_text("0.1,0.9\n0.3,0.2\n")
        found.append(hash_cells(parse_experiment(small.replace('"paper"', f'"{tmp_path / name}"'), "a")))
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def small_result(small, tmp_path_factory):
    """The result of the small experiment."""
    return experiments.run_experiment(parse_experiment(small, "small.toml"), tmp_path_factory.mktemp("small"))


def test_a_panel_equals_one_simulation(small_result):
    """The joined cells of all teachers equal one simulation of all teachers."""
    panel = small_result.panels[0]
    once = tutelage.simulate("paper", ["twl", "known", "none"], "ucb1", horizon=300, runs=2, seed=7, checkpoints=6)
    assert panel.panel.name == "curves"
    assert panel.dataset.equals(once)
    assert panel.dataset.attrs == once.attrs | {"command": ""}  # a panel has an experiment instead of a command


def test_a_dot_can_be_simulated_by_itself(small_result):
    """Instance i of a set has the runs of seed + i, so one command repeats any dot."""
    dots = small_result.panels[2].dataset
    assert dots.sizes["instance"] == 3
    assert dots["instance"].values.tolist() == [4, 5, 6]
    for number, seed in enumerate((4, 5, 6)):
        one = tutelage.simulate(
            f"uniform:clients=3,arms=2,seed={seed}",
            ["twl", "known", "none"],
            "ucb1",
            horizon=300,
            runs=2,
            seed=7 + number,
            checkpoints=1,
        )
        mine = dots.isel(instance=number)
        for name, variable in one.data_vars.items():
            events = slice(0, one.sizes["event"]) if "event" in variable.dims else slice(None)
            chosen = mine[name].isel(event=events) if "event" in variable.dims else mine[name]
            assert chosen.dims == variable.dims
            np.testing.assert_array_equal(chosen.values, variable.values, err_msg=str(name))
        assert str(mine["instance_name"].values) == f"uniform:clients=3,arms=2,seed={seed},rewards=bernoulli"


def test_padding_of_events(small_result):
    """After a run's events there are round 0, no target and no active arm."""
    dots = small_result.panels[2].dataset
    empty = dots["event_round"].values == 0
    assert empty.any()
    assert (dots["event_target"].values[empty] == results.NONE).all()
    assert not dots["event_active"].values[empty].any()


def test_a_changed_value_changes_the_content(small_result):
    """The hash of the content covers every variable."""
    dataset = small_result.panels[0].dataset
    before = cells.hash_content(dataset)
    for name in dataset.variables:
        other = dataset.copy(deep=True)
        values = np.array(other[name].values)
        flat = values.reshape(-1)
        flat[0] = "x" if values.dtype.kind == "U" else 1 - flat[0]
        other = other.assign_coords({name: (other[name].dims, values)}) if name in other.coords else other
        if name not in other.coords:
            other[name] = (other[name].dims, values)
        assert cells.hash_content(other) != before, name


def test_names_of_files(small):
    """A cell's file name describes the cell and contains its hash."""
    experiment = parse_experiment(small, "a")
    experiment = replace(experiment, teachers=("blt", "tal(gamma1=0.5,gamma2=0)"))
    loaded = load_entry(experiment.instances[0], "test", None)
    made = make_cells(experiment, loaded, experiment.clients[0], 300)
    assert [cell.name for cell in made] == ["fixed-all-blt-300", "fixed-all-tal-gamma1-0.5-300"]
    assert made[0].file_name == f"fixed-all-blt-300-{made[0].digest[:16]}.nc"


def test_a_flipped_bit_is_never_accepted(small, tmp_path):
    """Wherever one bit is flipped, the cell is equal or is refused in one sentence."""
    experiment = parse_experiment(small, "small.toml")
    experiments.run_experiment(experiment, tmp_path)
    loaded = load_entry(experiment.instances[0], "test", None)
    cell = make_cells(experiment, loaded, experiment.clients[0], 300)[0]
    path = tmp_path / "cells" / cell.file_name
    whole = path.read_bytes()
    before, _ = cells.read_cell(cell, path.parent)
    texts = [whole.index(b'"num_clients"'), whole.index(b"pseudo-regret so far")]
    drawn = np.random.default_rng(5).integers(0, 8 * len(whole), size=24).tolist()
    outcomes = set()
    for position in [*drawn, *(8 * start + bit for start in texts for bit in range(0, 64, 7))]:
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        found, reason = cells.read_cell(cell, path.parent)
        if found is None:
            assert reason.endswith(f"; {cell.name} is simulated again."), position
            assert "\n" not in reason
        else:
            assert found.identical(before), position
        outcomes.add(found is None)
    assert outcomes == {True, False}


@pytest.mark.parametrize("text", ["\udce8", "x"])
def test_a_changed_text_changes_the_content(small_result, text):
    """The hash covers attributes, also of one variable and with lone surrogates, as in a damaged file."""
    before = small_result.panels[0].dataset
    changed = before.assign_attrs(request=text)
    assert cells.hash_content(changed) != cells.hash_content(before)
    changed = before.copy()
    changed["regret"].attrs = {"long_name": text}
    assert cells.hash_content(changed) != cells.hash_content(before)
