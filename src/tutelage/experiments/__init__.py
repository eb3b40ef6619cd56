"""Experiments as data: a TOML file with instances, clients, teachers and horizons, and panels of them.

``read_experiment`` reads a file and ``load_paper_experiments`` returns the paper's own.  ``run_experiment``
simulates one into a folder, where complete cells are reused, and returns ``ExperimentResult.panels``.
Copies of real data sets are checked in ``data_sets``.
"""

from tutelage.experiments.claims import Claim
from tutelage.experiments.definition import ClientsEntry, Experiment, InstanceEntry, Panel
from tutelage.experiments.execution import CellFile, ExperimentResult, PanelResult, run_experiment
from tutelage.experiments.paper_figures import list_paper_figures, load_paper_experiments
from tutelage.experiments.parsing import read_experiment
from tutelage.experiments.preparation import MissingPanel
from tutelage.experiments.verdicts import Verdict

__all__ = [
    "CellFile",
    "Claim",
    "ClientsEntry",
    "Experiment",
    "ExperimentResult",
    "InstanceEntry",
    "MissingPanel",
    "Panel",
    "PanelResult",
    "Verdict",
    "list_paper_figures",
    "load_paper_experiments",
    "read_experiment",
    "run_experiment",
]
