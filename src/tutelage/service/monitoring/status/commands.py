"""Command lines for an operator to copy, quoted for a shell."""

from tutelage.service.monitoring.campaign_view import Metrics
from tutelage.text import quote_for_shell


def start_command(metrics: Metrics) -> str:
    """The command that starts the campaign, or continues it after a stop."""
    return f"tutelage campaign start {metrics.name}"


def stop_command(metrics: Metrics) -> str:
    """The command that stops the campaign; clients then see their rewards unchanged."""
    return f"tutelage campaign stop {metrics.name}"


def exclude_command(metrics: Metrics, client: int) -> str:
    """The command that excludes a client, so that no decision waits for it."""
    name = metrics.clients[client]
    dashes = "-- " if name.startswith("-") else ""
    return f"tutelage campaign exclude {dashes}{metrics.name} {quote_for_shell(name)}"


def exclude_action(metrics: Metrics, client: int, repair: str) -> tuple[str, str]:
    """What to do about a client that others wait for, and the command if ``repair`` is not possible."""
    if int(metrics.is_evidence.sum()) < 2:
        return f"{repair}. It is the only client left, so it cannot be excluded.", ""
    return f"{repair}, or exclude the client:", exclude_command(metrics, client)
