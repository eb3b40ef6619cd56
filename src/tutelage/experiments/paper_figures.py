"""The paper's own experiments: Figures 2 and 3 of Shi et al., Section VIII, as files in ``paper/``."""

import functools
from collections.abc import Sequence
from importlib import resources

from msgspec.structs import replace

from tutelage.errors import InputError
from tutelage.experiments.definition import Experiment, Panel
from tutelage.experiments.parsing import parse_experiment
from tutelage.validation import check_whole

_FILES = ("figure-2-fixed.toml", "figure-2-random.toml", "figure-3-movielens.toml")


def load_paper_experiments(
    figures: Sequence[str] = (),
    *,
    runs: int | None = None,
    horizon: int | None = None,
    runs_per_instance: int | None = None,
    seed: int | None = None,
) -> tuple[Experiment, ...]:
    """Return the experiments behind some of the paper's figures (``fig2a``, ``fig3``, ...), by default all.

    ``runs`` is for the curves, ``runs_per_instance`` for each of the 100 random instances.  By default there
    are 100 runs, 1 on each random instance, and the horizon is 50,000.  Raises ``InputError`` for an unknown
    figure and for a number out of range.
    """
    experiments = tuple(_read(name) for name in _FILES)
    if not isinstance(figures, Sequence):
        raise InputError(f"Invalid figures {figures!r}: give a list of names, as in ['fig2a'].")
    chosen = _select([figures] if isinstance(figures, str) else figures, experiments)
    return tuple(
        _adapt(each.select(chosen), runs, horizon, runs_per_instance, seed)
        for each in experiments
        if any(panel.name in chosen for panel in each.panels)
    )


def list_paper_figures() -> tuple[str, ...]:
    """Return the names of all panels: ``fig2a`` to ``fig2l``, ``fig3a``, ``fig3b``."""
    return tuple(panel.name for name in _FILES for panel in _read(name).panels)


def has_paper_claims(experiment: Experiment, panel: Panel) -> bool:
    """Whether a panel's claims are those of the package's own file, not a user's."""
    file = f"{experiment.name}.toml"
    return file in _FILES and any((each.name, each.claims) == (panel.name, panel.claims) for each in _read(file).panels)


@functools.cache
def _read(name: str) -> Experiment:
    file = resources.files("tutelage.experiments") / "paper" / name
    return parse_experiment(file.read_text(encoding="utf-8"), name)


def _select(figures: Sequence[str], experiments: Sequence[Experiment]) -> set[str]:
    names = [panel.name for experiment in experiments for panel in experiment.panels]
    if not figures:
        return set(names)
    chosen: set[str] = set()
    for figure in figures:
        hits = {name for name in names if name == figure or name[:-1] == figure}
        if not hits:
            raise InputError(f"Unknown figure {figure!r} of the paper: use fig2, fig3, {', '.join(names)}.")
        chosen |= hits
    return chosen


def _adapt(
    experiment: Experiment, runs: int | None, horizon: int | None, runs_per_instance: int | None, seed: int | None
) -> Experiment:
    for name, value, least in (
        ("number of runs", runs, 1),
        ("number of runs per instance", runs_per_instance, 1),
        ("horizon", horizon, 1),
        ("seed", seed, 0),
    ):
        if value is not None:
            check_whole(name, value, least, 2**53 - 1)
    return replace(
        experiment,
        runs=experiment.runs if runs is None else runs,
        horizons=experiment.horizons if horizon is None else (horizon,),
        seed=experiment.seed if seed is None else seed,
        instances=tuple(
            replace(entry, runs=runs_per_instance) if entry.is_set and runs_per_instance else entry
            for entry in experiment.instances
        ),
    )
