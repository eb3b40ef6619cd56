"""Thresholds from which the server reports a problem of a campaign."""

from dataclasses import dataclass

from tutelage.service.settings_field import setting


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Settings of the server: when a status item becomes true.

    A client's usual interval is the usual time between two of its pulls.
    """

    slow_intervals: float = setting(
        5.0,
        above=0,
        metavar="TIMES",
        help="Mark a client slow after this many times its usual interval between pulls.",
    )
    slow_seconds: float = setting(
        10.0,
        minimum=0,
        metavar="SECONDS",
        help="Minimum silence, in seconds, before a client is marked slow.",
    )
    slow_forecast: float = setting(
        3.0,
        minimum=1,
        metavar="TIMES",
        help="Mark a client slow when its forecast time exceeds the clients' median by this factor.",
    )
    stalled_intervals: float = setting(
        20.0,
        above=0,
        metavar="TIMES",
        help="Count a client as silent after this many times its usual interval between pulls.",
    )
    stalled_seconds: float = setting(
        60.0,
        minimum=0,
        metavar="SECONDS",
        help="Minimum silence, in seconds, before a client counts as silent.",
    )
    avoided_pulls: int = setting(
        20,
        minimum=1,
        metavar="N",
        help="Report an avoided arm after this many pulls of the client per arm it still has to pull.",
    )
    lag_seconds: float = setting(
        0.25,
        above=0,
        metavar="SECONDS",
        help="Warn when the 99th-percentile commit time exceeds this many seconds.",
    )
    lag_red_seconds: float = setting(
        10.0,
        above=0,
        metavar="SECONDS",
        help="Report an error when the 99th-percentile commit time exceeds this many seconds.",
    )
    waiting_pulls: int = setting(
        5_000, minimum=1, metavar="N", help="Warn when this many pulls wait to be stored."
    )
    idle_seconds: float = setting(
        120.0, above=0, metavar="SECONDS", help="Report missing data after this many seconds without a pull."
    )
    replay_share: float = setting(
        0.05,
        minimum=0,
        maximum=1,
        metavar="SHARE",
        help="Warn when more than this share of the pulls, from 0 to 1, were sent before.",
    )
    replay_least: int = setting(
        20, minimum=1, metavar="N", help="Minimum number of repeated pulls before the server warns of them."
    )
    cut_off_seconds: float = setting(
        5.0,
        minimum=2,
        metavar="SECONDS",
        help="Mark the dashboard page out of date when its figures are older than this many seconds.",
    )
