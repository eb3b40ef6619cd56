"""A session: a campaign that this server leads, with its settings, its memory and the rows not yet on disk.

It answers pulls; what operators do to a campaign is in :mod:`tutelage.service.campaigns.actions`.  A request is
checked completely before anything changes.  The changes are collected as rows of the ledger, which
:meth:`Session.pending_change` returns for the commit.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any

import msgspec

from tutelage.service.campaigns.campaign import Assignment, Campaign, Decision
from tutelage.service.campaigns.entry_contents import BypassedPull, EntryContent, describe_decision, encode_content
from tutelage.service.campaigns.messages import Fault, PullRequest, PullResponse, Reason, Refusal
from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.service.campaigns.series import Series
from tutelage.service.campaigns.settings import (
    MOST_CELLS,
    MOST_CLIENTS,
    MOST_NAME,
    check_names,
    decode_settings,
    name_fault,
)
from tutelage.service.campaigns.snapshot_format import StoredSession, dump_campaign, encode_snapshot
from tutelage.service.campaigns.standing import Standing
from tutelage.stores.base import (
    AuditRow,
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
from tutelage.text import format_exact, name_arms, quote

SNAPSHOT_PULLS, SNAPSHOT_SECONDS = 100_000, 5.0
_ENCODER = msgspec.msgpack.Encoder()


@dataclass
class Tally:
    """Pulls that were replayed and requests refused for a conflict, since this server leads the campaign."""

    replays: int = 0
    conflicts: int = 0


class Session:
    """A campaign in memory and its pending rows.  ``last_id`` is the greatest id among its stored pulls.

    ``clients`` are the clients by number, including those that registered; ``bypassed`` counts the pulls whose
    clients used the observed reward.  ``elsewhere`` are the names of clients whose pulls are answered elsewhere: in
    an edge's copy all but those that the edge holds.
    """

    def __init__(self, stored: StoredCampaign, token: int, last_id: str = "") -> None:
        self.name, self.settings, self.token = stored.name, decode_settings(stored.settings), token
        self.created = stored.created
        self.status, self.position, self.step = "registering", 0, 0
        self.clients = list(self.settings.clients)
        self.client_numbers = {client: number for number, client in enumerate(self.clients)}
        self._arm_numbers = {arm: number for number, arm in enumerate(self.settings.arms)}
        self.elsewhere = set(self.clients if self.settings.edge else ())
        self.campaign: Campaign | None = None
        self.bypassed = 0
        self.series = Series(len(self.settings.arms))
        self.cache = PullCache(last_id)
        self.tally = Tally()
        self.digest = b""
        self._extend_digest(stored.name, stored.settings, stored.rules_version, stored.created)
        self.snapshot_position, self.snapshot_time = 0, time.monotonic()
        self.mark_committed()

    @property
    def begun(self) -> Campaign:
        """The campaign, once it has been started."""
        if self.campaign is None:
            raise Refusal("not-started", f"The campaign {self.name} has not started: start it first.")
        return self.campaign

    @property
    def is_over(self) -> bool:
        """Whether the campaign is stopped, or every client that is not excluded has reached the horizon."""
        if self.campaign is None or self.status == "stopped":
            return self.status == "stopped"
        horizon, is_evidence = self.settings.horizon, self.campaign.collected.is_evidence
        return all(made >= horizon or not is_evidence[client] for client, made in enumerate(self.campaign.rounds))

    def _extend_digest(self, *what: Any) -> None:
        """Extend the hash of all rows so far, which reveals any change of a stored row."""
        self.digest = hashlib.blake2b(_ENCODER.encode((self.digest, what)), digest_size=16).digest()

    def mark_committed(self) -> None:
        """Note that all rows so far are on disk."""
        self.after = self.position
        self.new_pulls: list[PullRow] = []
        self.new_entries: list[EntryRow] = []
        self.new_audit: list[AuditRow] = []
        self.consulted: list[tuple[int, int]] = []  # when consultations of the pending rows began and ended
        self.has_decided = self.has_new_state = False
        self.cache.drop_oldest()  # never within a group, whose ids were looked up before

    def pending_change(self) -> Change | None:
        """Return what must be committed; None if nothing is new."""
        if self.position == self.after:
            return None
        rows = (self.new_pulls, self.new_entries, self._snapshot(), self.new_audit)
        return Change(self.name, self.token, self.after, self._make_head(has_state=self.has_new_state), *rows)

    @property
    def state(self) -> str:
        """The teacher's state as JSON, empty before the start; encoded when asked, as it can be large."""
        return "" if self.campaign is None else encode_state(self.campaign.state)

    @property
    def head(self) -> Head:
        """The head of the ledger, as it is stored."""
        return self._make_head(has_state=True)

    def _make_head(self, *, has_state: bool) -> Head:
        return Head(self.position, self.step, self.status, self.state if has_state else None, self.digest.hex())

    def _snapshot(self) -> Snapshot | None:
        due = (
            self.has_decided
            or self.position - self.snapshot_position >= SNAPSHOT_PULLS
            or time.monotonic() - self.snapshot_time >= SNAPSHOT_SECONDS
        )
        if not due or self.campaign is None:
            return None
        return self._make_snapshot()

    def _make_snapshot(self) -> Snapshot:
        self.snapshot_position, self.snapshot_time = self.position, time.monotonic()
        return Snapshot(self.position, self.dump())

    def save(self) -> Change:
        """Return a change that adds a snapshot of the committed rows, and no row."""
        head = self._make_head(has_state=False)
        return Change(self.name, self.token, self.position, head, snapshot=self._make_snapshot())

    def is_unsaved(self, seconds: float) -> bool:
        """Whether committed rows have been without a snapshot for that time."""
        is_behind = self.campaign is not None and self.snapshot_position < self.position == self.after
        return is_behind and time.monotonic() - self.snapshot_time >= seconds

    def dump(self) -> bytes:
        """Return the content of a snapshot: what all rows so far have led to."""
        stored = self.status, self.step, self.digest, dump_campaign(self.begun), self.series.dump()
        return encode_snapshot(StoredSession(list(self.clients), *stored, self.describe_standing()))

    def describe_standing(self) -> Standing:
        """Return what lists show."""
        campaign, arms = self.campaign, self.settings.arms
        if campaign is None:
            return Standing()
        return Standing(
            excluded=[self.clients[number] for number in campaign.excluded],
            num_pulls=sum(campaign.rounds),
            bypassed=self.bypassed,
            round=campaign.round,
            beyond_horizon=campaign.beyond_horizon,
            directive=1 + campaign.consultations,
            cost=campaign.cost,
            report=name_arms(campaign.report().sentence, arms),
            active_arms=[arms[arm] for arm in campaign.directive.active_arms],
            target=None if campaign.target is None else arms[campaign.target],
        )

    def enter(
        self, kind: EntryKind, now: int, content: EntryContent | None = None, id: str = "", key: str = ""
    ) -> None:
        """Add an entry to the ledger."""
        self.position += 1
        text = encode_content(content)
        self.new_entries.append(EntryRow(self.position, self.step, kind, now, text, id, key))
        self._extend_digest(self.new_entries[-1])

    def admit(self, client: str) -> None:
        """Add a client.  Raises ``InputError`` for an invalid name, and :class:`Refusal` if the campaign is full."""
        most = min(MOST_CLIENTS, MOST_CELLS // len(self.settings.arms))
        if len(self.clients) == most:
            sentence = f"The campaign {self.name} is full: it has {most} clients, the most that it can have."
            raise Refusal("registration-closed", sentence)
        check_names("client", [client], 1)
        self.client_numbers[client] = len(self.clients)
        self.clients.append(client)

    def assign(self, client: int, assignment: Assignment) -> None:
        """Set where a client's pulls are answered."""
        self.begun.assignments[client] = assignment
        own = self.settings.edge.name if self.settings.edge else ""
        (self.elsewhere.discard if assignment.edge == own else self.elsewhere.add)(self.clients[client])

    def find_uncertain(self, pulls: Sequence[PullRequest]) -> list[str]:
        """Return the ids that must be looked up in the store."""
        return self.cache.find_uncertain([pull.id for pull in pulls])

    def answer(self, pulls: Sequence[PullRequest], known: Mapping[str, StoredPull], now: int) -> list[PullResponse]:
        """Answer a request.  ``known`` are its stored pulls that are not in the cache."""
        self._check(pulls)
        if self._have_repeated([pull.id for pull in pulls], known):
            return self._answer_repeated(pulls, known, now)
        self._require_running(pulls)
        return self._answer_step(pulls, now)

    def answer_new(
        self, pulls: Sequence[PullRequest], known: Mapping[str, StoredPull], now: int
    ) -> list[PullResponse] | None:
        """Answer the pulls of several requests as one step; None, and no change, unless all are new and valid.

        Only at an edge, whose directive does not depend on steps.
        """
        if self.status != "running" or not self._are_valid(pulls) or self._have_repeated([p.id for p in pulls], known):
            return None
        if not self.elsewhere.isdisjoint([pull.client for pull in pulls]):
            return None
        return self._answer_step(pulls, now)

    def _answer_step(self, pulls: Sequence[PullRequest], now: int) -> list[PullResponse]:
        return [
            PullResponse(row.id, row.revealed, row.revealed - row.observed, row.directive, False, row.directive == 0)
            for row in self._step(pulls, now, count())
        ]

    def _have_repeated(self, ids: Sequence[str], known: Mapping[str, StoredPull]) -> bool:
        """Whether one of these ids was sent before, or twice now."""
        return len(set(ids)) < len(ids) or self.cache.has_any(ids) or not known.keys().isdisjoint(ids)

    def _are_valid(self, pulls: Sequence[PullRequest]) -> bool:
        low, high = self.settings.low, self.settings.high
        return (
            _are_plain([pull.id for pull in pulls])
            and self.client_numbers.keys() >= {pull.client for pull in pulls}
            and self._arm_numbers.keys() >= {pull.arm for pull in pulls}
            and all([low <= pull.reward <= high for pull in pulls])  # noqa: C419 - a list is quicker
        )

    def _check(self, pulls: Sequence[PullRequest]) -> None:
        """Raise ``Refusal`` with all faults of these pulls."""
        if self._are_valid(pulls):
            return
        low, high = self.settings.low, self.settings.high
        faults: list[Fault] = []
        for index, pull in enumerate(pulls):
            if fault := name_fault(pull.id):
                faults.append(Fault(index, pull.id, "id", f"The id {fault}."))
            if pull.client not in self.client_numbers:
                faults.append(Fault(index, pull.id, "client", f"Unknown client {quote(pull.client)}."))
            if pull.arm not in self._arm_numbers:
                faults.append(Fault(index, pull.id, "arm", f"Unknown arm {quote(pull.arm)}."))
            if not low <= pull.reward <= high:
                what = f"The reward {pull.reward!r} is outside [{format_exact(low)}, {format_exact(high)}]."
                faults.append(Fault(index, pull.id, "reward", what))
        if faults:
            number = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
            raise Refusal("invalid", f"The pulls have {number}; none of them was stored.", tuple(faults))

    def _answer_repeated(
        self, pulls: Sequence[PullRequest], known: Mapping[str, StoredPull], now: int
    ) -> list[PullResponse]:
        """Answer a request in which an id was sent before, or twice."""
        stored = {pull.id: self.cache.get(pull.id) or known.get(pull.id) for pull in pulls}
        fresh = self._select_new(pulls, stored)
        self._require_running(list(fresh.values()))
        for pull in pulls:
            old = stored[pull.id]
            if pull.bypassed and old is not None:
                stored[pull.id] = self.bypass(old, now)
        places = {pull.id: index for index, pull in reversed(list(enumerate(pulls)))}
        rows = self._step(list(fresh.values()), now, [places[id] for id in fresh])
        new = {row.id: StoredPull(row, corrected=False) for row in rows}
        responses, answered = [], set()
        for pull in pulls:
            is_new = pull.id in new and pull.id not in answered
            answered.add(pull.id)
            self.tally.replays += not is_new
            found = new.get(pull.id) or stored[pull.id]
            assert found is not None  # noqa: S101 - it was stored before, or is new
            row = found.pull
            reward = row.observed if found.corrected else row.revealed
            adjustment, is_beyond = reward - row.observed, row.directive == 0
            responses.append(PullResponse(row.id, reward, adjustment, row.directive, not is_new, is_beyond))
        return responses

    def _require_running(self, fresh: Sequence[PullRequest]) -> None:
        """Refuse new pulls of a campaign that is not running, except bypassed ones, and those of another server."""
        if self.elsewhere:
            self._require_here(fresh)
        if self.status == "running" or not fresh:
            return
        if self.campaign is None or not all(pull.bypassed for pull in fresh):
            what = "is stopped" if self.status == "stopped" else "has not started"
            reason: Reason = "stopped" if self.status == "stopped" else "not-started"
            raise Refusal(reason, f"The campaign {self.name} {what}: it accepts no new pulls.")

    def _require_here(self, fresh: Sequence[PullRequest]) -> None:
        for pull in fresh:
            if pull.client in self.elsewhere:
                known = self.begun.assignments.get(self.client_numbers[pull.client])
                place = f"the edge {known.edge!r}" if known and known.edge else "the leader"
                raise Refusal("moved", f"The pulls of the client {pull.client!r} are answered by {place}, not here.")

    def _select_new(
        self, pulls: Sequence[PullRequest], stored: Mapping[str, StoredPull | None]
    ) -> dict[str, PullRequest]:
        """Return the new pulls, each once; of a pull and its bypass report, the report."""
        fresh: dict[str, PullRequest] = {}
        for index, pull in enumerate(pulls):
            old, first = stored[pull.id], fresh.setdefault(pull.id, pull)
            if old is not None:
                del fresh[pull.id]
                if not self._is_same(old.pull, pull):
                    self._raise_conflict(index, pull)
            elif first is pull:
                continue
            elif (first.client, first.arm, first.reward) != (pull.client, pull.arm, pull.reward):
                self._raise_conflict(index, pull)
            elif pull.bypassed:
                fresh[pull.id] = pull
        return fresh

    def _is_same(self, row: PullRow, pull: PullRequest) -> bool:
        """Whether a checked pull has the content of a stored one."""
        sent = (self.client_numbers[pull.client], self._arm_numbers[pull.arm], pull.reward)
        return sent == (row.client, row.arm, row.observed)

    def _raise_conflict(self, index: int, pull: PullRequest) -> None:
        self.tally.conflicts += 1
        raise Refusal(
            "conflict",
            f"The id {pull.id!r} was sent before with another client, arm or reward: use a new id for each pull.",
            (Fault(index, pull.id, "id", "The id belongs to another pull."),),
        )

    def bypass(self, stored: StoredPull, now: int) -> StoredPull:
        """Take back an adjustment that came too late; return the pull as it is now."""
        row = stored.pull
        if stored.corrected or row.bypassed or row.revealed == row.observed:
            return stored
        self.record_series(now)
        self.begun.correct(row.client, row.arm, row.observed, row.revealed, row.number)
        self.bypassed += 1
        self.enter("bypassed", now, BypassedPull(row._asdict()), row.id)
        self.cache.correct(row)
        return StoredPull(row, corrected=True)

    def note_decision(self, decision: Decision) -> None:
        """Note that the teacher's state has changed, and when it was consulted."""
        self.has_decided = self.has_new_state = True
        if decision.span is not None:
            self.consulted.append(decision.span)

    def record_series(self, now: int) -> None:
        """Record a point of the charts, if one is due, before the counters change."""
        if self.series.is_due(now):
            self.series.keep(now, self.begun.cost, self.begun.pulls.sum(axis=0))
        self.series.change(now)

    def _step(self, pulls: Sequence[PullRequest], now: int, indexes: Iterable[int]) -> list[PullRow]:
        if not pulls:
            return []
        clients = [self.client_numbers[pull.client] for pull in pulls]
        arms = [self._arm_numbers[pull.arm] for pull in pulls]
        rewards = [pull.reward + 0.0 for pull in pulls]  # -0.0 becomes 0.0
        bypassed, ids = [pull.bypassed for pull in pulls], [pull.id for pull in pulls]
        return self.advance(clients, arms, rewards, bypassed, ids, now, indexes)

    def advance(
        self,
        clients: Sequence[int],
        arms: Sequence[int],
        rewards: Sequence[float],
        bypassed: Sequence[bool],
        ids: Sequence[str],
        now: int,
        indexes: Iterable[int],
    ) -> list[PullRow]:
        """Make a step with new pulls and return its rows; ``indexes`` are their places in the request."""
        self.record_series(now)
        numbers, revealed, directives, decision = self.begun.step(clients, arms, rewards, bypassed)
        self.step += 1
        self.bypassed += sum(bypassed)
        columns = (
            count(self.position + 1),
            repeat(self.step),
            indexes,
            clients,
            arms,
            numbers,
            rewards,
            revealed,
            directives,
            bypassed,
            repeat(now),
            ids,
        )
        rows = list(map(PullRow._make, zip(*columns, strict=False)))  # some of them are endless
        self.position += len(rows)
        self.cache.add(dict(zip(ids, rows, strict=True)))
        self.new_pulls += rows
        self._extend_digest(rows)
        if decision:
            self.note_decision(decision)
            self.enter("decided", now, describe_decision(decision, self.begun, self.settings.arms))
        return rows


def _are_plain(ids: Sequence[str]) -> bool:
    """Whether all ids are printable ASCII of valid length, checked together for speed."""
    together = "".join(ids)
    sizes = [len(id) for id in ids]
    return together.isascii() and together.isprintable() and min(sizes) >= 1 and max(sizes) <= MOST_NAME
