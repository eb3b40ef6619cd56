"""Verification that everything stored of a campaign follows from the first row of its ledger on."""

import msgspec

from tutelage.service.campaigns.rebuilding import Disagreement, check_head, make_session, read_rows_between, replay_rows
from tutelage.service.campaigns.snapshot_format import decode_snapshot, encode_snapshot
from tutelage.stores.base import Reader

_MOST_BEYOND = 10_000  # positions after the head in which rows are searched


def _is_same(found: bytes, expected: bytes) -> bool:
    """Whether two snapshots are the same but for what a release words, or did not store."""
    try:
        stored, rebuilt = decode_snapshot(found), decode_snapshot(expected)
    except msgspec.MsgspecError:
        return False
    if stored.standing is None:
        rebuilt.standing = None
    elif rebuilt.standing is not None:
        rebuilt.standing.report = stored.standing.report
    return encode_snapshot(stored) == encode_snapshot(rebuilt)


def verify_ledger(reader: Reader, name: str) -> tuple[int, list[str]]:
    """Return a campaign's last position, and a sentence for each fault.  Raises ``CampaignNotFound``."""
    stored, snapshot = reader.load(name)
    last, faults = stored.head.position, []
    try:
        session = make_session(stored)
        if snapshot is not None:
            replay_rows(session, read_rows_between(reader, name, 0, min(snapshot.position, last)))
            if session.position != snapshot.position or not _is_same(snapshot.content, session.dump()):
                faults.append(f"The snapshot of {name} differs from what its ledger leads to.")
        replay_rows(session, read_rows_between(reader, name, session.position, last))
        check_head(session, stored.head)
        beyond = reader.read(name, last, _MOST_BEYOND) or reader.entries(name, last, 1)
        if beyond and reader.load(name)[0].head.position == last:  # no row was added meanwhile
            faults.append(f"The ledger of {name} has rows after position {last}, the last one that the store notes.")
    except Disagreement as error:
        faults.append(str(error))
    return last, faults
