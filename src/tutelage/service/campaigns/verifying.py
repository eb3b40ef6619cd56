"""Verification that everything stored of a campaign follows from the first row of its ledger on."""

from tutelage.service.campaigns.rebuilding import Disagreement, check_head, make_session, read_rows_between, replay_rows
from tutelage.stores.base import Reader

_MOST_BEYOND = 10_000  # positions after the head in which rows are searched


def verify_ledger(reader: Reader, name: str) -> tuple[int, list[str]]:
    """Return a campaign's last position, and a sentence for each fault.  Raises ``CampaignNotFound``."""
    stored, snapshot = reader.load(name)
    last, faults = stored.head.position, []
    try:
        session = make_session(stored)
        if snapshot is not None:
            replay_rows(session, read_rows_between(reader, name, 0, min(snapshot.position, last)))
            if session.position != snapshot.position or session.dump() != snapshot.content:
                faults.append(f"The snapshot of {name} differs from what its ledger leads to.")
        replay_rows(session, read_rows_between(reader, name, session.position, last))
        check_head(session, stored.head)
        beyond = reader.read(name, last, _MOST_BEYOND) or reader.entries(name, last, 1)
        if beyond and reader.load(name)[0].head.position == last:  # no row was added meanwhile
            faults.append(f"The ledger of {name} has rows after its head, position {last}.")
    except Disagreement as error:
        faults.append(str(error))
    return last, faults
