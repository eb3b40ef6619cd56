"""A campaign that this server leads: its settings, its memory, and what is new and not yet on disk.

Requests are checked whole before anything changes.  What they change in memory is drafted as rows of the
ledger; :meth:`Session.drafted` gives them to whoever commits.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import Campaign, Decision, Pull
from tutelage.service.campaigns.messages import Fault, PullRequest, PullResponse, Reason, Refusal
from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.service.campaigns.roster import Roster
from tutelage.service.campaigns.series import Series
from tutelage.service.campaigns.settings import decode_settings
from tutelage.stores.base import (
    Change,
    EntryKind,
    EntryRow,
    Head,
    PullRow,
    Snapshot,
    StoredCampaign,
    StoredPull,
)
from tutelage.teachers.base import encode_state

SNAPSHOT_PULLS, SNAPSHOT_SECONDS = 100_000, 5.0
_ENCODER = msgspec.msgpack.Encoder()


class Session:
    """A campaign in memory, with its draft.  ``last_id`` is the greatest id among its stored pulls."""

    def __init__(self, stored: StoredCampaign, token: int, last_id: str = "") -> None:
        self.name, self.settings, self.token = stored.name, decode_settings(stored.settings), token
        self.created = stored.created
        self.status, self.position, self.step, self.state = "registering", 0, 0, ""
        self.roster = Roster(self.settings)
        self.campaign: Campaign | None = None
        self.series = Series(len(self.settings.arms))
        self.remembered = PullCache(last_id)
        self.replays = self.conflicts = 0
        self.digest = b""
        self._digest(stored.name, stored.settings, stored.rules_version, stored.created)
        self.snapshot_position, self.snapshot_time = 0, time.monotonic()
        self.begin_draft()

    @property
    def clients(self) -> Sequence[str]:
        """The clients by number."""
        return self.roster.clients

    @property
    def begun(self) -> Campaign:
        """The campaign, once it has been started."""
        if self.campaign is None:
            raise Refusal("not-started", f"The campaign {self.name} has not started.")
        return self.campaign

    def _digest(self, *what: Any) -> None:
        """Add to what vouches for all so far: whoever changes a stored number does not come by its digest."""
        self.digest = hashlib.blake2b(_ENCODER.encode((self.digest, what)), digest_size=16).digest()

    def begin_draft(self) -> None:
        """All so far is on disk."""
        self.after = self.position
        self.new_pulls: list[PullRow] = []
        self.new_entries: list[EntryRow] = []
        self.has_decided = False
        self.remembered.forget_oldest()  # never within a group, which was told what is remembered

    def drafted(self) -> Change | None:
        """What is to be committed; None if nothing is new."""
        if self.position == self.after:
            return None
        self.note_state()
        return Change(
            self.name, self.token, self.after, self.head, self.new_pulls, self.new_entries, self._snapshot()
        )

    def note_state(self) -> None:
        """Write the teacher's state down, if it has changed."""
        if self.has_decided:
            self.state = encode_state(self.begun.state)

    @property
    def head(self) -> Head:
        """Where the campaign stands, as it is stored."""
        return Head(self.position, self.step, self.status, self.state, self.digest.hex())

    def _snapshot(self) -> Snapshot | None:
        due = (
            self.has_decided
            or self.position - self.snapshot_position >= SNAPSHOT_PULLS
            or time.monotonic() - self.snapshot_time >= SNAPSHOT_SECONDS
        )
        if not due or self.campaign is None:
            return None
        self.snapshot_position, self.snapshot_time = self.position, time.monotonic()
        return Snapshot(self.position, self.dump())

    def dump(self) -> bytes:
        """All that the rows so far have led to, as it is stored in a snapshot."""
        kept = (self.clients, self.status, self.step, self.digest, self.begun.dump(), self.series.dump())
        return _ENCODER.encode(kept)

    def _enter(self, kind: EntryKind, now: int, content: dict[str, Any], id: str = "") -> None:
        self.position += 1
        text = msgspec.json.encode(content).decode()
        self.new_entries.append(EntryRow(self.position, self.step, kind, now, text, id))
        self._digest(self.new_entries[-1])

    def register(self, client: str, now: int) -> None:
        """A client joins before the start; one that is in already stays."""
        if client in self.roster:
            return
        if self.status != "registering" or not self.settings.open_registration:
            raise Refusal("stopped", f"The campaign {self.name} takes no more clients.")
        try:
            self.roster.admit(client)
        except InputError as error:
            raise Refusal("invalid", str(error)) from error
        self._enter("registered", now, {"client": client})

    def start(self, now: int) -> None:
        """Begin, or go on after a stop."""
        if self.status == "running":
            return
        if not self.clients:
            raise Refusal(
                "invalid", f"The campaign {self.name} has no client yet: register one before the start."
            )
        if self.campaign is None:
            try:
                self.campaign = Campaign(self.settings.setup(self.clients))
            except InputError as error:
                raise Refusal("invalid", str(error)) from error
            self.state = encode_state(self.campaign.state)
        self.status = "running"
        self._enter("started", now, {})

    def stop(self, now: int) -> None:
        """Pause: new pulls are refused until the next start, but for what was bypassed."""
        if self.status == "registering":
            raise Refusal(
                "not-started",
                f"The campaign {self.name} has not started, so there is nothing to stop: "
                "it can be deleted as it is.",
            )
        if self.status == "running":
            self.status = "stopped"
            self._enter("stopped", now, {})

    def exclude(self, client: str, now: int) -> None:
        """This client is no evidence any more."""
        campaign, number = self.begun, self.roster.number(client)
        if why := campaign.stays(number):
            raise Refusal("invalid", f"The client {client!r} {why}.")
        try:
            decision = campaign.exclude(number)
        except InputError as error:
            raise Refusal("invalid", str(error)) from error
        self.step += 1
        self.has_decided = True
        self._enter("excluded", now, {"client": client} | self._decided(decision))

    def exported(self, position: int, now: int) -> None:
        """The ledger has been handed out up to a position: that is noted if it is all of it."""
        if position != self.position:
            return
        self._enter("exported", now, {"position": self.position})

    def perhaps_stored(self, pulls: Sequence[PullRequest]) -> list[str]:
        """The ids of which only the store can tell whether they are known."""
        return self.remembered.perhaps_stored([pull.id for pull in pulls])

    def take(
        self, pulls: Sequence[PullRequest], known: Mapping[str, StoredPull], now: int
    ) -> list[PullResponse]:
        """Answer a request.  ``known`` are the stored pulls among those that are not remembered."""
        self.roster.check(pulls)
        ids = [pull.id for pull in pulls]
        if len(set(ids)) < len(ids) or self.remembered.knows_any(ids) or not known.keys().isdisjoint(ids):
            return self._take_again(pulls, known, now)
        self._check_running(pulls)
        return [
            PullResponse(row.id, row.revealed, row.revealed - row.observed, row.directive, False)
            for row in self._step(pulls, now, count())
        ]

    def _take_again(
        self, pulls: Sequence[PullRequest], known: Mapping[str, StoredPull], now: int
    ) -> list[PullResponse]:
        """The same for a request in which an id was sent before, or twice."""
        stored = {pull.id: self.remembered.get(pull.id) or known.get(pull.id) for pull in pulls}
        fresh = self._fresh(pulls, stored)
        self._check_running(list(fresh.values()))
        for pull in pulls:
            old = stored[pull.id]
            if pull.bypassed and old is not None:
                stored[pull.id] = self.bypass(old, now)
        places = {pull.id: index for index, pull in reversed(list(enumerate(pulls)))}
        rows = self._step(list(fresh.values()), now, [places[id] for id in fresh])
        new = {row.id: StoredPull(row, corrected=False) for row in rows}
        told, seen = [], set()
        for pull in pulls:
            is_new = pull.id in new and pull.id not in seen
            seen.add(pull.id)
            self.replays += not is_new
            told.append(_told(new[pull.id] if pull.id in new else stored[pull.id], replayed=not is_new))
        return told

    def _check_running(self, fresh: Sequence[PullRequest]) -> None:
        """Refuse new pulls of a campaign that does not run, but for reports of what was bypassed."""
        if self.status == "running" or not fresh:
            return
        if self.campaign is None or not all(pull.bypassed for pull in fresh):
            what = "is stopped" if self.status == "stopped" else "has not started"
            reason: Reason = "stopped" if self.status == "stopped" else "not-started"
            raise Refusal(reason, f"The campaign {self.name} {what}: it takes no new pulls.")

    def _fresh(
        self, pulls: Sequence[PullRequest], stored: Mapping[str, StoredPull | None]
    ) -> dict[str, PullRequest]:
        """The pulls that are new, each once; a report that one was bypassed counts for it."""
        fresh: dict[str, PullRequest] = {}
        for index, pull in enumerate(pulls):
            old, first = stored[pull.id], fresh.setdefault(pull.id, pull)
            if old is not None:
                del fresh[pull.id]
                if not self.roster.agrees(old.pull, pull):
                    self._conflict(index, pull)
            elif first is pull:
                continue
            elif (first.client, first.arm, first.reward) != (pull.client, pull.arm, pull.reward):
                self._conflict(index, pull)
            elif pull.bypassed:
                fresh[pull.id] = pull
        return fresh

    def _conflict(self, index: int, pull: PullRequest) -> None:
        self.conflicts += 1
        raise Refusal(
            "conflict",
            f"The id {pull.id!r} has been sent before with another client, arm or reward.",
            (Fault(index, pull.id, "id", "It belongs to another pull."),),
        )

    def bypass(self, stored: StoredPull, now: int) -> StoredPull:
        """Take an adjustment back that came too late; the pull as it now stands."""
        row = stored.pull
        if stored.corrected or row.bypassed or row.revealed == row.observed:
            return stored
        self._trace(now)
        self.begun.correct(Pull(row.client, row.arm, row.observed), row.revealed, row.number)
        self._enter("bypassed", now, {"pull": row._asdict()}, row.id)
        self.remembered.correct(row)
        return StoredPull(row, corrected=True)

    def _trace(self, now: int) -> None:
        """Keep what the charts show, before a counter changes."""
        if self.series.is_due(now):
            self.series.keep(now, self.begun.cost, self.begun.pulls.sum(axis=0))
        self.series.change(now)

    def _step(self, fresh: Sequence[PullRequest], now: int, places: Iterable[int]) -> list[PullRow]:
        if not fresh:
            return []
        return self.advance(self.roster.numbered(fresh), [sent.id for sent in fresh], now, places)

    def advance(
        self, pulls: Sequence[Pull], ids: Sequence[str], now: int, places: Iterable[int]
    ) -> list[PullRow]:
        """A step with these pulls, which are new: its rows.  ``places`` are theirs in the request."""
        self._trace(now)
        step = self.begun.step(pulls)
        self.step += 1
        clients, arms, observed, bypassed = zip(*pulls, strict=True)
        revealed, directives, numbers = zip(*step.answers, strict=True)
        columns = (
            count(self.position + 1),
            repeat(self.step),
            places,
            clients,
            arms,
            numbers,
            observed,
            revealed,
            directives,
            bypassed,
            repeat(now),
            ids,
        )
        rows = list(map(PullRow._make, zip(*columns, strict=False)))  # some of them have no end
        self.position += len(rows)
        self.remembered.add(dict(zip(ids, rows, strict=True)))
        self.new_pulls += rows
        self._digest(rows)
        if step.decision:
            self.has_decided = True
            self._enter("decided", now, self._decided(step.decision))
        return rows

    def _decided(self, decision: Decision) -> dict[str, Any]:
        """A decision for people: arms by name, the evidence that was new."""
        directive, arms = decision.directive, self.settings.arms
        sums = [rows.tolist() for rows in decision.evidence.sums] if decision.evidence else []
        report = self.begun.report()
        return {
            "round": self.begun.round,
            "directive": self.begun.consultations,
            "cost": self.begun.cost,
            "active_arms": [arms[arm] for arm in directive.active_arms],
            "target": None if directive.target is None else arms[directive.target],
            "report": report.sentence,
            "lower": report.lower,
            "upper": report.upper,
            "evidence": sums,
        }


def _told(stored: StoredPull | None, *, replayed: bool) -> PullResponse:
    assert stored is not None  # noqa: S101 - it was stored before, or is new
    row = stored.pull
    reward = row.observed if stored.corrected else row.revealed
    return PullResponse(row.id, reward, reward - row.observed, row.directive, replayed)
