"""Experiments as data: a TOML file with instances, clients, teachers and horizons, and panels of them.

``read`` a file or take the ``paper``'s own, ``play`` it into a folder, where finished cells are kept and not
played again, and look at ``Played.panels``.  ``check`` of a copy of a real data set is in ``data_sets``.
"""

from tutelage.experiments.claims import Verdict
from tutelage.experiments.definition import Claim, ClientsEntry, Experiment, InstanceEntry, Panel
from tutelage.experiments.playing import KeptCell, Missing, PanelData, Played, play
from tutelage.experiments.published import figures, paper
from tutelage.experiments.reading import read

__all__ = [
    "Claim",
    "ClientsEntry",
    "Experiment",
    "InstanceEntry",
    "KeptCell",
    "Missing",
    "Panel",
    "PanelData",
    "Played",
    "Verdict",
    "figures",
    "paper",
    "play",
    "read",
]
