"""Local means that people write down: CSV, Excel, JSON or TOML."""

from dataclasses import dataclass

import numpy as np

from tutelage.instances.base import Instance
from tutelage.instances.readers.means import read_means
from tutelage.instances.support.building import build, describe_names, rewards_parameter, weights_parameter
from tutelage.registry import check_parameters, parameter


@dataclass(frozen=True)
class MeansTable:
    """A table of local means from a CSV, Excel, JSON or TOML file, clients down and arms across.

    CSV (separated by commas, semicolons, tabs or spaces) and ``.xlsx``: one line for each client.  A first line
    of names names the arms; a first column of names (or one headed ``client``) names the clients; a column headed
    ``weight`` holds the weights.  Where the separator is not a comma, numbers may have decimal commas, and ``45 %``
    is 0.45.  Names that may as well be means, such as 0 and 1, are an ``InputError``.

    JSON and TOML: ``means`` is a list of rows, or an object of client -> row or of client -> {arm: mean}; next to
    it there may be ``clients``, ``arms`` (lists of names) and ``weights``.  JSON may be only the list of rows.
    ``weights=`` takes precedence over weights in the file.
    """

    path: str = parameter(help="file of local means: .csv, .xlsx, .json or .toml")
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Read the file.  Raises ``InputError`` with the line or key that cannot be used."""
        table = read_means(self.path)
        means = np.array(table.rows, dtype=np.float64)
        return build(
            "table",
            self,
            means,
            own_weights=None if table.weights is None else np.array(table.weights),
            client_names=table.clients,
            arm_names=table.arms,
            notes=[describe_names(table.clients, table.arms, *means.shape)],
        )
