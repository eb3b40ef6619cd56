"""Counts and numbers as people read them."""


def plain(number: float) -> str:
    """A number as short as it can be written without changing it."""
    return repr(number).removesuffix(".0")


def quoted(name: str, most: int = 130) -> str:
    """A name as it was sent, in quotes; a very long one is cut."""
    return repr(name) if len(name) <= most else f"{name[:most]!r}…"


def counted(number: int, what: str) -> str:
    """``1 run``, ``2,000 runs``."""
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def some_of(some: int, runs: int) -> str:
    """``3 of 20 runs``, ``all 20 runs``, ``its only run``."""
    if some == runs:
        return "its only run" if runs == 1 else f"all {runs} runs"
    return f"{some} of {runs} runs"


def short(value: float) -> str:
    """The whole part, or three digits: 12,345, 123, 12.3, 0.0123."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
