"""The paper's figures as data."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tutelage import experiments
from tutelage.errors import InputError

TEACHERS = ("tal", "tal(gamma1=0)", "twl", "ng", "na", "known", "none")


def map_panels():
    """Return all panels by name, each with its experiment."""
    return {panel.name: (panel, each) for each in experiments.load_paper_experiments() for panel in each.all_panels()}


def test_all_panels_are_listed():
    """There are twelve panels of Figure 2 and two of Figure 3, in their order."""
    names = [f"fig2{letter}" for letter in "abcdefghijkl"] + ["fig3a", "fig3b"]
    assert list(experiments.list_paper_figures()) == names
    assert list(map_panels()) == names


def test_panels_are_as_in_the_paper():
    """Clients, quantities, instances, teachers, T and the numbers of runs are those of Section VIII."""
    found = map_panels()
    kinds = ("ucb1", "eps-greedy", "ts", "2*ucb1,2*eps-greedy,1*ts")
    for letter, kind in zip("abcdefgh", [kind for kind in kinds for _ in range(2)], strict=True):
        panel, experiment = found[f"fig2{letter}"]
        assert panel.quantity == ("regret" if letter in "aceg" else "cost")
        assert experiment.instance(panel.instance).spec == "paper"
        assert experiment.runs == 100
        assert {entry.label: entry.spec for entry in experiment.clients}[panel.clients] == kind
    for letter, kind in zip("ijkl", kinds, strict=True):
        panel, experiment = found[f"fig2{letter}"]
        entry = experiment.instance(panel.instance)
        assert panel.quantity == "regret-cost"
        assert (entry.spec, len(entry.seed_numbers), entry.runs) == ("uniform:clients=5,arms=5", 100, 1)
        assert {entry.label: entry.spec for entry in experiment.clients}[panel.clients] == kind
    for name, quantity in (("fig3a", "regret"), ("fig3b", "cost")):
        panel, experiment = found[name]
        assert panel.quantity == quantity
        assert "clients=15,arms=15,group=random" in experiment.instance(panel.instance).spec
        assert [entry.spec for entry in experiment.clients] == ["5*ucb1,5*eps-greedy,5*ts"]
        assert experiment.runs == 100
    for panel, experiment in found.values():
        assert experiment.teachers == TEACHERS
        assert panel.horizon == 50_000
        assert panel.claims, "each panel has what the paper says of it"


def test_options_change_the_right_experiments():
    """Runs change the curves, runs per instance the dots, horizon and seed everything."""
    fixed, random, movies = experiments.load_paper_experiments(runs=7, horizon=900, runs_per_instance=3, seed=5)
    assert (fixed.runs, movies.runs, random.instances[0].runs) == (7, 7, 3)
    for each in (fixed, random, movies):
        assert each.horizons == (900,)
        assert each.seed == 5
        assert {panel.horizon for panel in each.all_panels()} == {900}


@pytest.mark.parametrize(
    ("figures", "names", "clients"),
    [
        (["fig2c"], ["fig2c"], ["eps-greedy"]),
        (["fig2k", "fig2a"], ["fig2a", "fig2k"], ["ucb1", "ts"]),
        (["fig3"], ["fig3a", "fig3b"], ["mixed"]),
    ],
)
def test_a_choice_of_figures(figures, names, clients):
    """Only what the chosen panels show remains."""
    chosen = experiments.load_paper_experiments(figures)
    assert [panel.name for each in chosen for panel in each.panels] == names
    assert [entry.label for each in chosen for entry in each.clients] == clients


@pytest.mark.parametrize("figure", ["fig4", "fig2m", "", "fig", 3, None])
def test_an_unknown_figure(figure):
    """The error lists the figures."""
    with pytest.raises(InputError, match="fig2a"):
        experiments.load_paper_experiments([figure])


@pytest.mark.parametrize(
    "options",
    [
        {"runs": 0},
        {"runs": 1.5},
        {"runs": "3"},
        {"runs": True},
        {"horizon": -1},
        {"horizon": float("nan")},
        {"runs_per_instance": 0},
        {"runs_per_instance": 2.0},
        {"seed": -1},
    ],
)
def test_numbers_out_of_range(options):
    """They are refused before anything is simulated."""
    with pytest.raises(InputError, match="use a whole number in"):
        experiments.load_paper_experiments(**options)


def test_a_short_version_runs(tmp_path, monkeypatch):
    """Each file gives its panels with a verdict on every claim, and MovieLens is missing."""
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    short = experiments.load_paper_experiments(["fig2a", "fig2i", "fig3"], runs=2, horizon=400)
    short = [replace(each, instances=tuple(_shrink(entry) for entry in each.instances)) for each in short]
    result = experiments.run_experiment(short, tmp_path)
    assert [data.panel.name for data in result.panels] == ["fig2a", "fig2i"]
    assert [missing.panel.name for missing in result.missing] == ["fig3a", "fig3b"]
    for data in result.panels:
        assert len(data.verdicts) == len(data.panel.claims)
        assert all(verdict.figures and verdict.section in ("VI-C", "VIII-A", "VIII-B") for verdict in data.verdicts)
        assert tuple(data.dataset["teacher"].values) == TEACHERS


def _shrink(entry):
    return replace(entry, seeds="0..3") if entry.is_set else entry


def test_movielens_as_published(data, tmp_path):
    """The real files give 15 clients and 15 arms, and are as published."""
    (movies,) = experiments.load_paper_experiments(["fig3a"], runs=1, horizon=50)
    movies = replace(movies, teachers=("known", "none"), panels=(_remove_claims(movies.panels[0]),))
    result = experiments.run_experiment(movies, tmp_path, data=str(data))
    assert not result.missing
    assert not result.notes
    assert result.panels[0].dataset.sizes["client"] == 15
    assert result.panels[0].dataset.sizes["arm"] == 15


def test_the_page_says_what_is_our_choice():
    """T of Figure 3, the runs, and the subset, groups and scale of MovieLens are not in the paper."""
    fixed, _, movies = experiments.load_paper_experiments()
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    chosen = page.partition("## What the paper does not say")[2].partition("\n## ")[0]
    assert f"T = {movies.horizons[0]:,} also for Figure 3" in chosen
    assert f"{fixed.runs} runs for the curves" in chosen
    assert f"`{movies.instances[0].data}`" in chosen
    assert "0.5 to 5 are mapped to [0, 1]" in chosen


def _remove_claims(panel):
    return replace(panel, claims=())


@pytest.mark.parametrize(
    ("panels", "kind", "teachers"),
    [
        ("ab", "growth", "tal twl ng na"),  # converge; almost linear
        ("abi", "below mostly-below", "twl"),  # TWL's advantage
        ("cdj", "below mostly-below", "twl"),  # over the theoretically sound TAL(0,0)
        ("cjglk", "reaches", "tal tal(gamma1=0) twl"),  # can successfully teach; guide
        ("efk", "spread", "tal twl"),  # highly unstable
        ("efk", "below", "tal(gamma1=0)"),  # competitive
        ("gil", "balance", "tal twl"),  # a balance between regret and cost
    ],
)
def test_every_claim_of_the_section_belongs_to_its_panels(panels, kind, teachers):
    """Section VIII-A makes these kinds of claims about these teachers and panels."""
    known = {panel.name: panel for experiment in experiments.load_paper_experiments() for panel in experiment.panels}
    named = "".join(panels)
    said = {name: known[f"fig2{name}"].claims for name in named}
    for teacher in teachers.split():
        found = [
            name
            for name, claims in said.items()
            if any(each.kind in kind.split() and teacher in each.teachers for each in claims)
        ]
        wanted = {"ng": "a", "na": "b"}.get(teacher, named)
        assert "".join(found) == wanted


def test_one_figure_may_be_a_text():
    """A text is one figure, not a list of letters; other values are refused."""
    (only,) = experiments.load_paper_experiments("fig2a")
    assert [panel.name for panel in only.panels] == ["fig2a"]
    with pytest.raises(InputError, match="Unknown figure ''"):
        experiments.load_paper_experiments("")
    with pytest.raises(InputError, match="Invalid figures None"):
        experiments.load_paper_experiments(None)


@pytest.mark.parametrize("each", [1, 2])
def test_instability_needs_several_runs_on_an_instance(tmp_path, each):
    """With one run per instance the claim of fig2k about instability is inconclusive."""
    (random,) = experiments.load_paper_experiments(["fig2k"], runs_per_instance=each, horizon=500)
    random = replace(
        random,
        instances=tuple(replace(entry, seeds="0..19") for entry in random.instances),
        teachers=("tal(gamma1=1,gamma2=0)", "tal(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)"),
    )
    (panel,) = experiments.run_experiment(random, tmp_path).panels
    (verdict,) = [one for one in panel.verdicts if "unstable" in one.text]
    assert (verdict.holds is None) is (each == 1)
    assert ("--runs-per-instance" in verdict.figures) is (each == 1)
