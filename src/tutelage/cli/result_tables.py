"""Tables of results and the text in their cells."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from tutelage.inference import interval_of_share
from tutelage.metrics import RunStatistics, summarize_runs
from tutelage.registry import split_top
from tutelage.text import format_table_number

SPEC_WIDTH = 22  # characters of a teacher's SPEC on one line
_RANGE_WIDTH = 13  # characters of a range on one line


def create_table(*names: str, first: str | None = None, width: int | None = None) -> Table:
    """Return an empty table without lines, its columns aligned right.

    A column named ``first`` comes before them, aligned left and ``width`` characters wide at most.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False, pad_edge=False)
    if first is not None:
        table.add_column(first, overflow="fold", max_width=width)
    for name in names:
        table.add_column(name, no_wrap=True, justify="right")
    return table


def fold_spec(spec: str) -> Text:
    """Put the arguments of a SPEC on lines of their own, for rows that have two lines anyway.

    A line longer than :data:`SPEC_WIDTH` is broken after a parenthesis, a comma or an equals sign.
    """
    name, parenthesis, rest = spec.partition("(")
    lines = f"{name}{parenthesis}" + ",\n".join(split_top(rest[:-1], ",")) + ")" if rest else spec
    folded: list[str] = []
    for line in lines.split("\n"):
        folded.append("  " if folded else "")
        for part in re.findall("[^(,=]*[(,=]?", line):
            if folded[-1].strip() and len(folded[-1] + part) > SPEC_WIDTH:
                folded.append("  ")
            folded[-1] += part
    return Text("\n".join(folded))


def format_mean(over: RunStatistics) -> Text:
    """Format the mean over runs with half its confidence interval and, below it, the range of 80 % of the runs."""
    if over.half_width is None or over.q10 == over.q90 == over.mean:
        return Text(format_table_number(over.mean))
    mean, width = format_table_number(over.mean), f"+- {format_table_number(over.half_width)}"
    between = " " if len(mean) + len(width) < _RANGE_WIDTH else "\n"
    return Text.assemble(mean, between, width, "\n", (format_range(over), "dim"))


def explain_outlying_mean(label: str, quantity: str, values: NDArray[np.float64]) -> Iterator[str]:
    """Explain a mean over runs [R] that lies outside the range of 80 % of them."""
    over = summarize_runs(values)
    if (
        over.sd is None
        or over.q10 <= over.mean <= over.q90
        or format_table_number(over.q10) == format_table_number(over.q90)
    ):
        return
    is_above = over.mean > over.q90
    runs = int((values > over.q90).sum() if is_above else (values < over.q10).sum())
    side, extreme = ("above", values.max()) if is_above else ("below", values.min())
    yield (
        f"The mean {quantity} of {label} lies {side} the range of 80 % of its runs, because {runs} of {values.size} "
        f"runs {'is' if runs == 1 else 'are'} far {side} the range: up to {format_table_number(float(extreme))}."
    )


def format_percents(share: float, interval: tuple[float, float] | None) -> str:
    """Format a share with half of its interval, if it has any width: ``61.3 +- 2.4 %``."""
    width = 0.0 if interval is None else interval[1] - share
    return f"{format_table_number(100 * share)}{f' +- {format_table_number(100 * width)}' if width else ''} %"


def format_most(hits: int, runs: int) -> str:
    """Format the largest probability that so many hits allow (Clopper-Pearson): ``<= 13.9 %``."""
    return f"<= {format_table_number(100 * interval_of_share(hits, runs)[1])} %"


def format_range(over: RunStatistics) -> str:
    """Format the range of 80 % of the runs, on two lines where one would be too wide."""
    low, high = format_table_number(over.q10), format_table_number(over.q90)
    return f"{low}-{high}" if len(low) + len(high) < _RANGE_WIDTH else f"{low}-\n{high}"
