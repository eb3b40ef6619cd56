"""Whether all that is kept of a campaign follows from its ledger's first row on."""

from tutelage.service.campaigns.rebuilding import Disagreement, repeat, rows_between, settle, without_rows
from tutelage.stores.base import Reader

_FAR = 10_000  # positions behind the head that are looked into for rows


def verified(reader: Reader, name: str) -> tuple[int, list[str]]:
    """A campaign's last position, and what does not agree, a sentence each.  Raises ``CampaignNotFound``."""
    stored, snapshot = reader.load(name)
    last, faults = stored.head.position, []
    try:
        session = without_rows(stored)
        if snapshot is not None:
            repeat(session, rows_between(reader, name, 0, min(snapshot.position, last)))
            if session.position != snapshot.position or session.dump() != snapshot.content:
                faults.append(f"The snapshot of {name} holds something else than its ledger gives.")
        repeat(session, rows_between(reader, name, session.position, last))
        settle(session, stored.head)
        behind = reader.read(name, last, _FAR) or reader.entries(name, last, 1)
        if behind and reader.load(name)[0].head.position == last:  # the campaign has not gone on meanwhile
            faults.append(f"The ledger of {name} goes on behind its head, position {last}.")
    except Disagreement as error:
        faults.append(str(error))
    return last, faults
