"""What `tutelage serve` shows on a terminal when it has started."""

from typing import TextIO

from tutelage.service.configuration import SETTINGS, Configuration, find_command_server, find_own_address
from tutelage.text import format_count, format_name, name_place
from tutelage.versions import package_version

_FIRST_CAMPAIGN = (
    "tutelage campaign create first --arm red --arm blue --client anna --client ben --horizon 50000 "
    "--teacher blt --start"
)
_FIRST_KEY = "tutelage key create NAME --role admin"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads a stream; a closed one has no reader."""
    return stream is not None and not stream.closed and stream.isatty()


def format_start(configuration: Configuration, store: str, *, num_campaigns: int, has_keys: bool) -> str:
    """Format version, store, addresses, keys and the next command; ``store`` is its URL without a password."""
    address = find_own_address(configuration)
    place = "" if configuration.store == SETTINGS["store"].default else store
    access = "needed for every request"
    if not has_keys:
        whoever = "any machine" if configuration.insecure else "only this machine"
        access = f"none yet, so {whoever} may send requests; to make one: "
        access += name_place(_FIRST_KEY, "key", "--store", place)
    follow = _FIRST_CAMPAIGN if not num_campaigns else "tutelage campaign list"
    rows = [
        ("store", f"{format_name(store)} ({format_count(num_campaigns, 'campaign')})"),
        ("address", address),
        ("dashboard", f"{address}{configuration.root_path}/"),
        ("API", f"{address}{configuration.root_path}/docs"),
        ("keys", access),
        ("next", name_place(follow, "campaign", "--server", find_command_server(configuration))),
        ("end", "Ctrl-C"),
    ]
    lines = [f"  {name:<11}{text}" for name, text in rows]
    return "\n".join([f"Tutelage {package_version()}", *lines])
