"""Where a campaign stands: what lists show of it, also from its newest snapshot alone."""

import msgspec


class Standing(msgspec.Struct):
    """Counts, the directive in force and the teacher's report; clients and arms by name.

    The defaults are those of a campaign that has not started.
    """

    excluded: list[str] = []
    num_pulls: int = 0
    round: int = 0
    beyond_horizon: int = 0
    bypassed: int = 0
    directive: int = 1
    cost: float = 0.0
    report: str = "has not started"
    active_arms: list[str] = []
    target: str | None = None
