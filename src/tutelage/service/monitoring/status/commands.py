"""The lines to type, as a shell reads them."""

from tutelage.service.display import quoted
from tutelage.service.monitoring.figures import Taken


def start_command(taken: Taken) -> str:
    """The line that begins, or goes on after a stop."""
    return f"tutelage campaign start {taken.name}"


def stop_command(taken: Taken) -> str:
    """The line after which clients are shown their rewards as they are."""
    return f"tutelage campaign stop {taken.name}"


def exclude_command(taken: Taken, client: int) -> str:
    """The line after which nobody waits for a client."""
    name = taken.clients[client]
    dashes = "-- " if name.startswith("-") else ""
    return f"tutelage campaign exclude {dashes}{taken.name} {quoted(name)}"
