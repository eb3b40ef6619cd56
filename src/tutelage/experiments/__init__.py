"""Experiments as data: a TOML file with instances, clients, teachers and horizons, and panels of them.

``read`` a file or take the ``paper``'s own, ``play`` it into a folder, where finished cells are kept and not
played again, and look at ``Played.panels``.  ``check`` of a copy of a real data set is in ``data_sets``.
"""

from tutelage.experiments.claim_kinds import Claim
from tutelage.experiments.claims import Verdict
from tutelage.experiments.definition import ClientsEntry, Experiment, InstanceEntry, Panel
from tutelage.experiments.parsing import read
from tutelage.experiments.playing import KeptCell, PanelData, Played, play
from tutelage.experiments.preparing import Missing
from tutelage.experiments.published import figures, paper

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
