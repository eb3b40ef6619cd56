"""Packet delivery of radio links, from connectivity traces in the K7 format."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.instances.readers.k7 import read_k7
from tutelage.instances.readers.reward_counts import RewardCounts
from tutelage.instances.support.building import (
    build,
    make_generators,
    rewards_parameter,
    seed_parameter,
    shuffle,
    weights_parameter,
)
from tutelage.registry import check_parameters, parameter

IMPERFECT = (0.1, 0.95)  # mean delivery of a link that is neither dead nor almost perfect


@dataclass(frozen=True)
class Radio:
    """Mean packet delivery per link and channel, from a K7 file; clients are links or senders.

    A burst for which a listening receiver has no line did not arrive: it counts as delivery 0 (see
    ``readers/k7.py``).

    ``of=links``: ``clients`` random ones of the links whose mean delivery over the channels lies in ``least``
    to ``most``, by default 0.1 to 0.95: imperfect links.  ``of=senders``: a client is a sender, its mean is
    over the bursts of all its links; by default all senders can be drawn.  PATH is a ``.k7`` file, plain or
    ``.gz``, or a folder or archive that holds one.
    """

    path: str = parameter(help="K7 file (.k7, .k7.gz), or the folder or archive that holds it")
    of: Literal["links", "senders"] = parameter("links", help="what the clients are")
    clients: int = parameter(15, help="number of clients, drawn from those in the range", minimum=1)
    seed: int = seed_parameter("choice of clients")
    least: float | None = parameter(
        None,
        help="smallest mean delivery of a client, by default 0.1 for links and 0 for senders",
        minimum=0,
        maximum=1,
    )
    most: float | None = parameter(
        None,
        help="largest mean delivery of a client, by default 0.95 for links and 1 for senders",
        minimum=0,
        maximum=1,
    )
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Read the file and draw the clients.  Raises ``InputError`` with what is wrong and the remedy."""
        low, high = self._range()
        trace = read_k7(self.path)
        names: tuple[str, ...] = tuple(f"{sender} -> {receiver}" for sender, receiver in trace.links)
        observed = trace.observed
        if self.of == "senders":
            senders, observed = trace.by_sender()
            names = tuple(f"sender {sender}" for sender in senders)
        within = np.flatnonzero(inside(observed, low, high))
        which = f"mean delivery {low:g} to {high:g}"
        chosen = within[choose("radio", within.size, self.clients, self.seed, self.of, which)]
        picked = observed.of_clients(chosen)
        arms, clients = channel_names(trace.channels), tuple(names[row] for row in chosen)
        remedy = "use another seed, or of=senders"
        notes = [
            ("seed", str(self.seed)),
            (self.of, f"{chosen.size} of the {within.size} with {which}; {len(names)} delivered anything"),
            ("smallest cell", picked.smallest(clients.__getitem__, arms.__getitem__, "bursts", remedy)),
        ]
        if trace.skipped:
            notes.append(("skipped", f"{trace.skipped} lines that lack a sender, a receiver or a channel"))
        return build(
            "radio",
            self,
            picked.means,
            client_names=clients,
            arm_names=arms,
            samples=picked.samples(),
            notes=notes,
            resolved={"least": low, "most": high},
        )

    def _range(self) -> tuple[float, float]:
        default = IMPERFECT if self.of == "links" else (0.0, 1.0)
        low = default[0] if self.least is None else self.least
        high = default[1] if self.most is None else self.most
        if low > high:
            raise InputError(f"radio: least={low:g} is above most={high:g}: use least <= most.")
        return low, high


def channel_names(channels: tuple[int, ...]) -> tuple[str, ...]:
    """The arms' names."""
    return tuple(f"channel {channel}" for channel in channels)


def inside(observed: RewardCounts, low: float, high: float) -> NDArray[np.bool_]:
    """Whether the mean delivery of a row, over the channels with bursts, lies in the range."""
    means = observed.means.sum(axis=1) / (observed.sizes > 0).sum(axis=1)
    wanted: NDArray[np.bool_] = (means >= low) & (means <= high)
    return wanted


def choose(source: str, there: int, wanted: int, seed: int, what: str, which: str) -> NDArray[np.int64]:
    """Draw ``wanted`` of 0 .. there - 1 with the seed; return them in ascending order."""
    (generator,) = make_generators(seed)
    if wanted > there:
        raise InputError(f"{source}: clients={wanted}, but only {there} {what} have {which}: use at most {there}.")
    return np.sort(shuffle(there, generator)[:wanted])
