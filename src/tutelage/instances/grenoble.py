"""The built-in real instance: packet delivery of imperfect radio links, measured in Grenoble.

``python -m tutelage.instances.grenoble grenoble.k7.gz > grenoble.csv`` makes the table in ``data/`` from the
K7 file.
"""

import csv
import importlib.resources
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.instances.radio import IMPERFECT, channel_names, choose, inside
from tutelage.instances.readers.k7 import read_k7
from tutelage.instances.support.building import build, rewards_parameter, seed_parameter, weights_parameter
from tutelage.registry import check_parameters, parameter

_TABLE = "data/grenoble.csv"
_PAPER = (
    "K. Brun-Laguna, P. Minet, T. Watteyne, P. H. Gomes, "
    "Moving Beyond Testbeds? Lessons (We) Learned about Connectivity, IEEE Pervasive Computing, 2018"
)
_REMEDY = "use rewards=bernoulli, or the K7 file itself: radio:PATH,rewards=empirical"


@dataclass(frozen=True)
class Grenoble:
    """Measured means: packet delivery of imperfect links on the 16 channels, FIT IoT-lab Grenoble, January 2018.

    The same links as ``radio:PATH`` draws from the K7 file with the same ``clients`` and ``seed``, with means
    of six decimals.  Source, licence and command: ``data/grenoble.csv`` and ``data/grenoble-LICENSE.txt``.
    """

    clients: int = parameter(15, help="number of links, drawn from the imperfect ones", minimum=1)
    seed: int = seed_parameter("choice of links")
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Draw the links from the packaged table."""
        facts, names, channels, means = packaged_table()
        low, high = IMPERFECT
        chosen = choose("grenoble", len(names), self.clients, self.seed, "links", f"mean delivery {low:g} to {high:g}")
        return build(
            "grenoble",
            self,
            means[chosen],
            client_names=tuple(names[row] for row in chosen),
            arm_names=channel_names(channels),
            no_samples_remedy=_REMEDY,
            notes=[
                ("seed", str(self.seed)),
                ("links", f"{len(chosen)} of the {facts['links']}"),
                ("source", facts["source"]),
            ],
        )


def packaged_table() -> tuple[dict[str, str], list[str], tuple[int, ...], NDArray[np.float64]]:
    """The table's facts (its comment lines), its links, its channels, and its means [links, channels]."""
    text = importlib.resources.files("tutelage.instances").joinpath(_TABLE).read_text(encoding="utf-8")
    lines = text.splitlines()
    comments = [line.removeprefix("# ").partition(": ")[::2] for line in lines if line.startswith("# ")]
    header, *cells = csv.reader(line for line in lines if not line.startswith("#"))
    channels = tuple(int(channel) for channel in header[1:])
    means = np.array([[float(cell) for cell in row[1:]] for row in cells])
    return dict(comments), [row[0] for row in cells], channels, means


def table_text(path: str) -> str:
    """The table that a K7 file gives: comment lines of facts, then a line for each imperfect link."""
    trace = read_k7(path)
    low, high = IMPERFECT
    imperfect = np.flatnonzero(inside(trace.observed, low, high))
    observed, channels = trace.observed.of_clients(imperfect), channel_names(trace.channels)
    names = [f"{trace.links[row][0]} -> {trace.links[row][1]}" for row in imperfect]
    observed.smallest(names.__getitem__, channels.__getitem__, "bursts", "leave the link out")
    place, nodes, start, stop = (
        str(trace.header.get(key, "?")) for key in ("location", "node_count", "start_date", "stop_date")
    )
    facts = {
        "content": "mean packet delivery of each imperfect link (sender -> receiver), by channel",
        "source": f"K7 trace by Inria, FIT IoT-lab {place.capitalize()}, {nodes} nodes, {start[:10]} to {stop[:10]}",
        "described in": _PAPER,
        "licence": "BSD, Copyright (c) Inria, see grenoble-LICENSE.txt",
        "made by": "python -m tutelage.instances.grenoble grenoble.k7.gz > grenoble.csv",
        "mean": "over the bursts in which the receiver listened; one that it has no line for is delivery 0",
        "links": f"{imperfect.size} with mean delivery {low:g} to {high:g}; {len(trace.links)} delivered",
    }
    lines = [f"# {key}: {fact}" for key, fact in facts.items()]
    lines.append(",".join(["link", *(str(channel) for channel in trace.channels)]))
    for name, means in zip(names, observed.means, strict=True):
        lines.append(",".join([name, *(f"{mean:.6f}".rstrip("0").rstrip(".") for mean in means)]))
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the table of the K7 file that is named to standard output; 2 where it cannot be made."""
    if len(arguments) != 1:
        sys.stderr.write("Name the K7 file: python -m tutelage.instances.grenoble FILE > grenoble.csv.\n")
        return 2
    try:
        sys.stdout.write(table_text(arguments[0]))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
