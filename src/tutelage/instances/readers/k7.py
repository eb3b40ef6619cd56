"""Connectivity traces in the K7 format: the share of each burst of packets that each receiver got.

The format (github.com/keomabrun/k7): a line of JSON that describes the measurement, a line of column names,
then a line for each burst of which a receiver got a part: datetime, src, dst, channel, mean_rssi, pdr, tx_count.
**A receiver that got nothing of a burst writes no line.**  The mean over lines would make a link that
rarely works look good, so a burst that a listening receiver has no line for counts as delivery 0 (the
format's own ``--fill`` adds such lines).  A receiver counts as listening in a round - an unbroken stretch of
lines on one channel, or one ``transaction_id`` on one channel - if it has any line in it: one that broke down
counts only while it worked.  A link that never delivered a packet is not in the file and not a link here.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.readers.delimited import Layout, first_lines, split_line, stream_columns, whole_ids
from tutelage.instances.readers.files import DataFile, locate, parse_json
from tutelage.instances.readers.reward_counts import RewardCounts, tally

if TYPE_CHECKING:
    import polars as pl

_NEEDED = ("datetime", "src", "dst", "channel", "pdr")
_LARGEST_CHANNEL = 2**31 - 1
_MAY_LACK = ("src", "dst", "channel", "transaction_id")


@dataclass(frozen=True, eq=False)
class RadioTrace:
    """The content of a K7 file: for each link, the delivery ratios of its bursts on each channel.

    ``links`` are (sender, receiver) in ascending order, ``observed`` counts the ratios by link and channel.
    """

    data: DataFile
    header: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    channels: tuple[int, ...]
    observed: RewardCounts
    skipped: int

    def by_sender(self) -> tuple[tuple[str, ...], RewardCounts]:
        """The senders, and the bursts of all links of a sender together."""
        senders = tuple(dict.fromkeys(sender for sender, _ in self.links))
        place = {sender: number for number, sender in enumerate(senders)}
        owner = np.array([place[sender] for sender, _ in self.links], dtype=np.int64)
        link, channel = np.divmod(self.observed.cells, len(self.channels))
        cells = owner[link] * len(self.channels) + channel
        return senders, tally(cells, self.observed.values, self.observed.counts, len(senders), len(self.channels))


def read_k7(path: str) -> RadioTrace:
    """Read a K7 file, or the one in a folder or archive.  Raises ``InputError`` with the line at fault."""
    data = locate(path, ("*.k7",), "K7 file")
    first = first_lines(data, 2)
    if not first[0].lstrip().startswith("{") or len(first) < 2:
        raise InputError(
            f"{data.label!r} is not a K7 file: it must begin with a line of JSON and a line of column names."
        )
    header = parse_json(first[0], data.label)
    frame, skipped = _measured(data, split_line(first[1], ",", f"line 2 of {data.label!r}"))
    if not frame.height:
        raise InputError(f"{data.label!r} has no measurement of a link: give a K7 file with lines for links.")
    channels = tuple(sorted({*_declared(header, data), *frame["channel"].unique().to_list()}))
    pairs = frame.select("src", "dst").unique().rows()
    links = tuple(sorted(((str(src), str(dst)) for src, dst in pairs), key=_by_number))
    return RadioTrace(data, header, links, channels, _observe(frame, links, channels), skipped)


def _declared(header: dict[str, Any], data: DataFile) -> list[int]:
    """The channels that the header lists; text among them is ignored."""
    listed = header.get("channels")
    declared = [item for item in listed if isinstance(item, int)] if isinstance(listed, list) else []
    for channel in declared:
        if isinstance(channel, bool) or not 0 <= channel <= _LARGEST_CHANNEL:
            raise InputError(
                f"The channel {json.dumps(channel)} in the first line of {data.label!r} is not "
                f"a whole number from 0 to {_LARGEST_CHANNEL}; correct it."
            )
    return declared


def _by_number(link: tuple[str, str]) -> list[tuple[int, int, str, str]]:
    """Sort key: node 9 before node 10, and numbers of any length before other names."""
    key = []
    for node in link:
        digits = node.lstrip("0") if node.isascii() and node.isdecimal() else None
        key.append((1, 0, "", node) if digits is None else (0, len(digits), digits, node))
    return key


def _measured(data: DataFile, names: list[str]) -> tuple["pl.DataFrame", int]:
    """The lines of one sender, receiver and channel, by time, with their round; how many others."""
    import polars as pl

    column = ["channel" if name == "channels" else name for name in names]
    for name in _NEEDED:
        if column.count(name) != 1:
            raise InputError(f"{data.label!r} has no column {name!r}; a K7 file has {', '.join(_NEEDED)}.")
    wanted = {column.index(name): name for name in (*_NEEDED, "transaction_id") if name in column}
    layout = Layout(",", len(names), skip=2)
    frames = list(stream_columns(data, layout, dict(sorted(wanted.items())), _MAY_LACK))
    if not frames:
        raise InputError(f"{data.label!r} has no lines of measurements; give a K7 file that has.")
    lines = pl.concat(frames)
    lines = lines.with_columns(whole_ids(lines[name]) for name in ("src", "dst", "channel"))
    ratio = lines["pdr"].cast(pl.Float64, strict=False)
    bad = lines.filter(~((ratio >= 0.0) & (ratio <= 1.0)).fill_null(False))
    if bad.height:
        raise InputError(
            f"The packet delivery {bad['pdr'][0]} in line {bad['line'][0]} of {data.label!r} is not "
            "a number in [0, 1]; divide percentages by 100."
        )
    channel = pl.col("channel").str.extract(r"^\[?(\d+)\]?$").cast(pl.Int64, strict=False)
    typed = lines.with_columns(channel, pdr=ratio).drop("line")
    kept = typed.drop_nulls(("src", "dst", "channel")).sort("datetime", maintain_order=True)
    if "transaction_id" in kept.columns:
        rounds = kept.select(pl.struct("transaction_id", "channel").rank("dense").alias("round"))
    else:
        changes = pl.col("channel") != pl.col("channel").shift(1)
        rounds = kept.select(changes.fill_null(True).cum_sum().alias("round"))
    return kept.hstack(rounds), lines.height - kept.height


def _observe(frame: "pl.DataFrame", links: tuple[tuple[str, str], ...], channels: tuple[int, ...]) -> RewardCounts:
    """The ratios by link and channel, with a 0 for each burst that a listening receiver has no line for."""
    import polars as pl

    bursts = (
        frame.group_by("round", "channel", "src", "dst").len().group_by("round", "channel", "src").agg(pl.max("len"))
    )
    listening = frame.select("round", "dst").unique()
    number = pl.DataFrame(
        {"src": [src for src, _ in links], "dst": [dst for _, dst in links], "link": range(len(links))},
        schema={"src": pl.String, "dst": pl.String, "link": pl.Int64},
    )
    place = pl.DataFrame({"channel": channels, "arm": range(len(channels))}, schema_overrides={"arm": pl.Int64})
    heard = frame.join(number, on=("src", "dst")).join(place, on="channel")
    sent = bursts.join(listening, on="round").join(number, on=("src", "dst")).join(place, on="channel")
    size = len(links) * len(channels)
    heard_in = np.bincount(_cells(heard, len(channels)), minlength=size)
    sent_in = np.bincount(_cells(sent, len(channels)), weights=sent["len"].to_numpy(), minlength=size)
    unheard = sent_in.astype(np.int64) - heard_in
    silent = np.flatnonzero(unheard > 0)
    return tally(
        np.concatenate([_cells(heard, len(channels)), silent]),
        np.concatenate([heard["pdr"].to_numpy(), np.zeros(silent.size)]),
        np.concatenate([np.ones(heard.height, dtype=np.int64), unheard[silent]]),
        len(links),
        len(channels),
    )


def _cells(table: "pl.DataFrame", num_channels: int) -> NDArray[np.int64]:
    cells: NDArray[np.int64] = (table["link"] * num_channels + table["arm"]).to_numpy()
    return cells
