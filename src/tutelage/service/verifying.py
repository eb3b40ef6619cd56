"""Whether all that is kept of a campaign follows from its ledger's first row on."""

from collections.abc import Iterator

import msgspec

from tutelage.errors import InputError
from tutelage.service.live import Live
from tutelage.service.rebuilding import Disagreement, check_rules, repeat, settle
from tutelage.stores.base import EntryRow, PullRow, Reader, pages


def verified(reader: Reader, name: str) -> tuple[int, list[str]]:
    """A campaign's last position, and what does not agree, a sentence each.  Raises ``Missing``."""
    stored, snapshot = reader.load(name)
    last, faults = stored.head.position, []
    try:
        check_rules(stored)
        live = Live(stored, 0)
        if snapshot is not None:
            repeat(live, between(reader, name, 0, min(snapshot.position, last)))
            if live.position != snapshot.position or live.dump() != snapshot.content:
                faults.append(f"The snapshot of {name} holds something else than its ledger gives.")
        repeat(live, between(reader, name, live.position, last))
        settle(live, stored.head)
        if reader.read(name, last, 1) and reader.load(name)[0].head.position == last:
            faults.append(f"The ledger of {name} goes on behind its head, position {last}.")
    except Disagreement as error:
        faults.append(str(error))
    except (InputError, msgspec.MsgspecError) as error:
        faults.append(f"The settings of {name} cannot be read: {error}.")
    return last, faults


def between(reader: Reader, name: str, after: int, last: int) -> Iterator[PullRow | EntryRow]:
    """A campaign's rows behind a position, up to the last one asked for."""
    for row in pages(reader, name, after):
        if row.position > last:
            return
        yield row
