"""A campaign from its ledger: after a start, a failure or a takeover, and when it is verified.

Everything that is not a row of the ledger follows from the rows, and must come out the same.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tutelage.service.campaign import Pull, restored
from tutelage.service.live import Live
from tutelage.stores.base import EntryRow, Head, Known, PullRow, Snapshot, Stored
from tutelage.teachers.base import encode_state


class Disagreement(Exception):
    """The ledger holds other answers than its pulls lead to; the text says where."""


def rebuilt(
    stored: Stored, token: int, snapshot: Snapshot | None, rows: Iterable[PullRow | EntryRow]
) -> Live:
    """The campaign as its ledger tells it; ``rows`` are those behind the snapshot, or all.

    Raises :class:`Disagreement`.
    """
    live = Live(stored, token)
    if snapshot is not None:
        _load(live, snapshot)
    repeat(live, rows)
    _settle(live, stored.head)
    return live


def repeat(live: Live, rows: Iterable[PullRow | EntryRow]) -> None:
    """Let a campaign go through the rows that come next in its ledger.  Raises :class:`Disagreement`."""
    step: list[PullRow] = []
    for row in rows:
        last = live.position + len(step)
        if row.position != last + 1:
            raise Disagreement(f"In the ledger of {live.name} position {row.position} follows {last}.")
        if step and not (isinstance(row, PullRow) and row.step == step[0].step):
            _repeat_step(live, step)
            step = []
        if isinstance(row, PullRow):
            step.append(row)
        else:
            _repeat_entry(live, row)
    if step:
        _repeat_step(live, step)


def _load(live: Live, snapshot: Snapshot) -> None:
    clients, step, content = msgspec.msgpack.decode(snapshot.content, type=tuple[list[str], int, bytes])
    for client in clients[len(live.clients) :]:
        live.admit(client)
    live.campaign = restored(live.settings.setup(live.clients), content)
    live.position = live.snapshot_position = snapshot.position
    live.step = step


def _repeat_step(live: Live, rows: Sequence[PullRow]) -> None:
    pulls = [Pull(row.client, row.arm, row.observed, row.bypassed) for row in rows]
    for row, answer in zip(rows, live.begun.step(pulls).answers, strict=True):
        if (answer.reward, answer.epoch, answer.number) != (row.revealed, row.epoch, row.number):
            raise Disagreement(
                f"Position {row.position} of {live.name} reveals {row.revealed!r} as pull {row.number} in "
                f"epoch {row.epoch}; what comes before leads to {answer.reward!r}, {answer.number}, "
                f"{answer.epoch}."
            )
        live.remember(Known(row, corrected=False))
    live.position, live.step = rows[-1].position, rows[-1].step


def _repeat_entry(live: Live, row: EntryRow) -> None:
    content = msgspec.json.decode(row.content)
    if row.kind == "enrolled":
        live.admit(content["client"])
    elif row.kind == "started":
        live.begin()
    elif row.kind == "retired":
        live.begun.retire(live.client_numbers[content["client"]])
    elif row.kind == "bypassed":
        pull = PullRow(**content["pull"])
        live.correct(pull)
        live.remember(Known(pull, corrected=True))
    live.position, live.step = row.position, row.step


def _settle(live: Live, head: Head) -> None:
    state = encode_state(live.campaign.state) if live.campaign else ""
    if (live.position, live.step, state) != (head.position, head.step, head.state):
        raise Disagreement(
            f"The head of {live.name} stands at position {head.position} in step {head.step}; its "
            f"ledger leads to position {live.position}, step {live.step}, or to another state of the teacher."
        )
    live.status, live.state = head.status, head.state
    live.begin_draft()
