"""The contract of a store: what survives a restart, and what a transaction promises.

A store knows rows and JSON; it knows no teacher and no reward.  For each campaign it keeps one append-only
sequence of *positions*, 1, 2, ..., without gaps.  A position is a pull or an entry (a decision, a bypass
report, a exclusion, a start or stop ...).  Rows are never changed or deleted while their campaign lives:
the database itself refuses it.

* :meth:`Store.append` is one transaction.  Either all of its changes are on disk when it returns, or, if it
  raises, none of them is; only after :class:`CommitUncertain` and :class:`StoreBroken` is it not known which.
* A change is refused with :class:`LeaseLost` unless the campaign's head still has the token and the position
  that the change goes on from: whoever has been overtaken by another leader writes nothing any more.
* After any other :class:`StoreError` nothing was written and the same call may be tried again.
* :meth:`Store.load` reads a head, and a snapshot that is no newer; the rows between the two are read by
  :meth:`Store.read`, in pages.  Together they give the campaign as it was committed last.
* Strings are compared byte by byte, and hold anything but NUL and lone surrogates.  Numbers come back as the
  very floats and 64-bit integers that went in, -0.0 and subnormal numbers too.
* Everything but ``reader`` and ``close`` may be called from any thread, one call at a time: the writer's.
  Pages, exports and keys are read through :meth:`Store.reader`, which gives a connection of its own.

Times are whole microseconds since 1970, UTC.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from tutelage.errors import InputError

EntryKind = Literal[
    "created", "registered", "started", "stopped", "decided", "excluded", "bypassed", "exported"
]


class StoreError(Exception):
    """A store could not do what it was asked; the text is a sentence for an operator."""


class StoreFull(StoreError):
    """There is no room left; nothing was written, and it may be tried again."""


class LeaseLost(StoreError):
    """Another leader has taken the campaign over, or its head has moved; nothing was written.

    Of several changes, ``name`` tells the campaign that was refused.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class CommitUncertain(StoreError):
    """Whether the transaction was committed is not known: load the campaign anew before going on."""


class StoreBroken(StoreError):
    """The disk or the database failed in a way that a retry cannot mend.

    What the transaction wrote may or may not be found after a restart.  A store that has raised it once
    raises it at every further write.
    """


class CampaignNotFound(InputError):
    """There is no such campaign or key."""


class CampaignExists(InputError):
    """There is such a campaign or key already."""


class StoreInUse(InputError):
    """Another process serves this store."""


class PullRow(NamedTuple):
    """A pull in the ledger.  ``observed`` and ``revealed`` are in the sender's units.

    ``step`` counts the steps of the campaign; ``index`` is the pull's place in its request, from 0; and
    ``number`` counts the pulls of this (client, arm), from 1.  ``directive`` is 1 + the consultations before it
    was revealed.

    A named tuple and not a dataclass: a thousand of them are made in a quarter of the time.
    """

    position: int
    step: int
    index: int  # type: ignore[assignment]
    client: int
    arm: int
    number: int
    observed: float
    revealed: float
    directive: int
    bypassed: bool
    time: int
    id: str


@dataclass(frozen=True, slots=True)
class EntryRow:
    """Anything else in the ledger; ``content`` is JSON, ``id`` a bypass report's pull, else empty."""

    position: int
    step: int
    kind: EntryKind
    time: int
    content: str
    id: str = ""


@dataclass(frozen=True)
class Head:
    """Where a campaign stands.  ``state`` is the teacher's, as JSON.

    ``status`` is registering, running or stopped; ``digest`` is made of all rows up to here.
    """

    position: int
    step: int
    status: str
    state: str
    digest: str = ""


@dataclass(frozen=True)
class Snapshot:
    """Counters and sums as of a position: a cache, which the rows up to there give again."""

    position: int
    content: bytes


@dataclass(frozen=True)
class StoredCampaign:
    """A campaign as it is kept.  ``settings`` is JSON; ``rules_version`` that of the rules it began with.

    ``leader`` is the address of the server that leads it now; None if none does.
    """

    name: str
    settings: str
    rules_version: int
    created: int
    head: Head
    leader: str | None = None


class CampaignListing(NamedTuple):
    """A campaign among others: its status, and the address of the server that leads it now, None if none."""

    name: str
    status: str
    leader: str | None


@dataclass(frozen=True)
class Change:
    """What one campaign gains in a transaction: rows that go on from position ``after``, and its new head.

    ``head.position`` is ``after`` plus the number of rows.  A snapshot replaces the one before it.
    """

    name: str
    token: int
    after: int
    head: Head
    pulls: Sequence[PullRow] = ()
    entries: Sequence[EntryRow] = ()
    snapshot: Snapshot | None = None


class StoredPull(NamedTuple):
    """A pull that is stored, and whether a bypass report has corrected it since."""

    pull: PullRow
    corrected: bool


Role = Literal["admin", "reporter", "viewer"]


@dataclass(frozen=True)
class KeyRow:
    """An access key: the SHA-256 of its secret, its role, and for a reporter its campaign and clients.

    No clients named means all of them.
    """

    name: str
    digest: bytes
    role: Role
    campaign: str | None
    clients: tuple[str, ...]
    created: int
    revoked: int | None = None


class Reader(Protocol):
    """Reads what is committed, on a connection of its own; no snapshot is held between two calls."""

    def campaigns(self) -> list[CampaignListing]:
        """Every campaign, in the order of their names."""

    def load(self, name: str) -> tuple[StoredCampaign, Snapshot | None]:
        """A campaign and its newest snapshot, as of one moment; raises Missing."""

    def read(self, name: str, after: int, limit: int) -> list[PullRow | EntryRow]:
        """The first ``limit`` rows behind position ``after``, in order; none if the campaign is missing."""

    def entries(self, name: str, after: int, limit: int) -> list[EntryRow]:
        """The same without the pulls."""

    def keys(self) -> list[KeyRow]:
        """Every key, the revoked ones too, in the order of their names."""

    def close(self) -> None:
        """Ends the connection; a second time does nothing."""


class Keys(Reader, Protocol):
    """A reader that can also hand out and revoke keys: it works beside a server and without one."""

    @property
    def url(self) -> str:
        """The address as it may be shown: without a password."""

    @property
    def notes(self) -> Sequence[str]:
        """What an operator should be told at the start: a file was created, a library has a known fault."""

    def create_key(self, key: KeyRow) -> None:
        """Stores a key; raises Exists if its name is taken, if only by a revoked one."""

    def revoke_key(self, name: str, time: int) -> None:
        """Marks a key as revoked, for good; the first time counts.  Raises Missing."""


class Store(Keys, Protocol):
    """A place where campaigns are kept."""

    def reader(self) -> Reader:
        """A connection of its own for one other thread."""

    def create(self, name: str, settings: str, rules_version: int, time: int, state: str) -> None:
        """A new campaign: status registering, position 0, step 0, led by nobody.  Raises Exists."""

    def delete(self, name: str) -> None:
        """Removes a campaign with all of its rows, and the keys that are good for it alone.

        One that has never been started goes at once.  Raises InputError for another unless it is stopped
        and an ``exported`` entry stands behind its last pull and bypass report, Fenced while another leads
        it, and Missing.
        """

    def lead(self, name: str, address: str) -> int | None:
        """Takes a campaign over: the token for its changes, larger than every earlier one, or None.

        None means that another's lease is valid, or that its transaction is at work.  To be called before
        the campaign is loaded.  A lease lasts ten seconds of the database's clock.  The own lease may be
        taken again; another store with the same address is another.  Raises Missing.
        """

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Extends the leases of the campaigns that this store leads; returns those that it still holds."""

    def release(self, name: str) -> None:
        """Gives a campaign up, so that another need not wait for the lease to end."""

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """The stored ones among pulls of these ids; raises Missing."""

    def last_id(self, name: str) -> str:
        """The greatest id, byte by byte, among a campaign's pulls; "" if it has none.  Raises Missing."""

    def append(self, changes: Sequence[Change]) -> None:
        """Commits all changes, of different campaigns, in one transaction, or none: see the module's text."""

    def probe(self) -> None:
        """Commits a heartbeat: raises what an ``append`` would raise now."""


def pages(reader: Reader, name: str, after: int = 0, size: int = 10_000) -> Iterator[PullRow | EntryRow]:
    """Every row of a campaign after a position, in order, read in pages."""
    while rows := reader.read(name, after, size):
        yield from rows
        after = rows[-1].position
