"""``tutelage audit``: who did what to campaigns and keys of a store."""

import contextlib
import getpass
import platform
import time
from typing import TYPE_CHECKING, Annotated

from tutelage.cli.options import Json, option
from tutelage.cli.printing import print_answer
from tutelage.cli.server_options import ConfigFile, StoreUrl, store_url
from tutelage.text import format_name

if TYPE_CHECKING:
    from tutelage.service.api.schemas import AuditRecord
    from tutelage.stores.base import AuditRow

_PAGE = 5_000


def audit(
    campaign: Annotated[str | None, option("NAME", "Campaign whose records to print; deleted ones too.")] = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Print who created, changed and deleted campaigns and keys.

    Records outlive the campaigns and keys that they are about.
    """
    import msgspec

    from tutelage.service.api.ledger_pages import describe_audit
    from tutelage.stores import open_reader

    with store_url(store, config) as url, contextlib.closing(open_reader(url)) as reader:
        rows, after = [], 0
        while page := reader.audit(after, _PAGE):
            rows += [row for row in page if campaign in {None, row.campaign}]
            after = page[-1].number
    records = [describe_audit(row) for row in rows]
    print_answer(lambda: {"records": msgspec.to_builtins(records)}, lambda: map(_describe, records), as_json=as_json)


def _describe(record: "AuditRecord") -> str:
    what = [record.action, *(format_name(name) for name in (record.campaign, record.subject) if name)]
    who = format_name(record.actor) if record.actor else "without a key"
    return f"{record.time}  {' '.join(what)}: {who}, {record.source}"


def audit_row(action: str, campaign: str = "", subject: str = "") -> "AuditRow":
    """Return the row of the audit log for what this command does now."""
    from tutelage.stores.base import AuditRow

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = "unknown"
    actor = f"{user}@{platform.node()}"
    return AuditRow(time.time_ns() // 1000, actor, "command line", action, campaign, subject)
