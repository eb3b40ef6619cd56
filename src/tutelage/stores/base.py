"""The contract of a store: what survives a restart, and what a transaction promises.

A store holds rows and JSON; it knows no teacher and no reward.  For each campaign it keeps one append-only
sequence of *positions*, 1, 2, ..., without gaps.  A position is a pull or an entry (a decision, a bypass
report, an exclusion, a start or stop ...).  Rows are never changed or deleted as long as their campaign
exists: the database itself refuses it.

* :meth:`Store.append` is one transaction.  Either all of its changes are on disk when it returns, or, if it
  raises, none of them; only after :class:`CommitUncertain` and :class:`StoreBroken` it is not known which.
* A change is refused with :class:`LeaseLost` unless the campaign's head still has the token and the position
  from which the change starts: a server that was overtaken by another leader writes nothing any more.
* After any other :class:`StoreError` nothing was written and the same call may be tried again.
* :meth:`Store.load` reads a head, and a snapshot that is not newer; the rows between the two are read with
  :meth:`Store.read`, in pages.  Together they give the campaign as it was last committed.
* Strings are compared byte by byte, and may contain anything but NUL and lone surrogates.  Numbers come back
  as exactly the floats and 64-bit integers that went in, including -0.0 and subnormal numbers.
* Everything but ``reader`` and ``close`` may be called from any thread, one call at a time: the writer's.
  Pages, exports and keys are read through :meth:`Store.reader`, which gives a connection of its own.

Times are whole microseconds since 1970, UTC.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from tutelage.errors import RefusalError

EntryKind = Literal[
    "created",
    "registered",
    "started",
    "stopped",
    "decided",
    "excluded",
    "bypassed",
    "exported",
    "assigned",
    "reported",
    "directed",
]


class StoreError(Exception):
    """A store could not do what it was asked; the message is a sentence for an operator."""


class StoreFull(StoreError):
    """The disk is full; nothing was written, and the call may be tried again."""


class LeaseLost(StoreError):
    """Another leader has taken the campaign over, or its head has moved; nothing was written.

    ``name`` is the campaign whose change was refused.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class CommitUncertain(StoreError):
    """It is not known whether the transaction was committed: load the campaign again before continuing."""


class StoreBroken(StoreError):
    """The disk or the database failed in a way that a retry cannot mend.

    What the transaction wrote may or may not be there after a restart.  A store that has raised it once
    raises it at every later write.
    """


class CampaignNotFound(RefusalError):
    """A campaign or key with this name does not exist."""


class CampaignExists(RefusalError):
    """A campaign or key with this name already exists."""


class StoreInUse(RefusalError):
    """Another process serves this store."""


class PullRow(NamedTuple):
    """A pull in the ledger.  ``observed`` and ``revealed`` are in the sender's units.

    ``step`` counts the steps of the campaign; ``index`` is the pull's place in its request, from 0; and
    ``number`` counts the pulls of this (client, arm), from 1.  ``directive`` is 1 + the consultations before
    it was revealed.

    A named tuple instead of a dataclass because a thousand of them are made in a quarter of the time.
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
    """A row of the ledger that is not a pull; ``content`` is JSON, ``id`` the pull of a bypass report.

    ``key`` is the name of the key that asked for it; empty if no key did.
    """

    position: int
    step: int
    kind: EntryKind
    time: int
    content: str
    id: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the audit log, which outlives campaigns and keys: who did what, when and from where.

    ``actor`` is the name of a key (empty while no key exists) or of the user of a command, ``source`` the
    caller's address or ``command line``.  ``action`` is as in ``exclude client``; ``subject`` is the client or
    key that it concerns, if any.  The store numbers the rows in the order in which they are committed.
    """

    time: int
    actor: str
    source: str
    action: str
    campaign: str = ""
    subject: str = ""
    number: int = 0


@dataclass(frozen=True)
class Head:
    """The end of a campaign's ledger.  ``state`` is the teacher's, as JSON; None in a change that keeps the stored one.

    ``status`` is registering, running or stopped; ``digest`` is a hash of all rows up to here.
    """

    position: int
    step: int
    status: str
    state: str | None
    digest: str = ""


@dataclass(frozen=True)
class Snapshot:
    """Counters and sums as of a position: a cache, which can be computed again from the rows."""

    position: int
    content: bytes


@dataclass(frozen=True)
class StoredCampaign:
    """A campaign without its rows.  ``settings`` is JSON, ``rules_version`` that of the rules it began with.

    ``leader`` is the address of the server that leads it now, or None.
    """

    name: str
    settings: str
    rules_version: int
    created: int
    head: Head
    leader: str | None = None


class CampaignListing(NamedTuple):
    """An item of the list of campaigns; ``leader`` is the address of the server that leads it now, or None."""

    name: str
    status: str
    leader: str | None


@dataclass(frozen=True)
class Change:
    """What a transaction adds to one campaign: rows that follow position ``after``, and the new head.

    ``head.position`` is ``after`` plus the number of rows.  A snapshot replaces the previous one.
    """

    name: str
    token: int
    after: int
    head: Head
    pulls: Sequence[PullRow] = ()
    entries: Sequence[EntryRow] = ()
    snapshot: Snapshot | None = None
    audit: Sequence[AuditRow] = ()


class StoredPull(NamedTuple):
    """A pull that is stored, and whether a bypass report has corrected it since."""

    pull: PullRow
    corrected: bool


Role = Literal["admin", "reporter", "viewer"]


@dataclass(frozen=True)
class KeyRow:
    """An access key: the SHA-256 of its secret, its role, and the campaign and clients that it is limited to.

    Without a campaign, the key is valid for all of them, and so it is without clients.  ``created`` is when its
    secret was made, ``expires`` when it ends and ``used`` when it was last used, to about a minute.  The secret
    of ``old_digest``, which was replaced, is valid until ``old_until``.
    """

    name: str
    digest: bytes
    role: Role
    campaign: str | None
    clients: tuple[str, ...]
    created: int
    revoked: int | None = None
    expires: int | None = None
    used: int | None = None
    old_digest: bytes | None = None
    old_until: int | None = None


class TableSize(NamedTuple):
    """A table: its rows, and the bytes of them and their indexes; None where the database does not count them."""

    name: str
    rows: int
    bytes: int | None


@dataclass(frozen=True)
class StoreSize:
    """How large a store is.

    ``bytes`` is the whole database, ``free_bytes`` the part that later rows fill first (None: not known), and
    ``log_bytes`` its write-ahead log: of PostgreSQL, that of all databases of the server, None without the
    role ``pg_monitor``.  ``first`` is when the oldest campaign was created, ``last`` when the newest of the
    campaigns' last rows was made; None without campaigns or rows.
    """

    tables: tuple[TableSize, ...]
    bytes: int
    free_bytes: int | None
    log_bytes: int | None
    first: int | None
    last: int | None

    @property
    def bytes_per_pull(self) -> float | None:
        """The bytes of the table of pulls, with its indexes, over its rows."""
        pulls = next(table for table in self.tables if table.name == "pulls")
        return pulls.bytes / pulls.rows if pulls.bytes is not None and pulls.rows else None


@dataclass(frozen=True)
class SessionRow:
    """A browser that is signed in: the SHA-256 of its secret, and the digest of the key that signed it in."""

    digest: bytes
    key_digest: bytes
    created: int
    expires: int


class Reader(Protocol):
    """Reads what is committed, on a connection of its own; no database snapshot is held between two calls."""

    def campaigns(self) -> list[CampaignListing]:
        """List every campaign, ordered by name."""

    def load(self, name: str) -> tuple[StoredCampaign, Snapshot | None]:
        """Load a campaign and its newest snapshot, as of one moment.  Raises ``CampaignNotFound``."""

    def read(self, name: str, after: int, limit: int) -> list[PullRow | EntryRow]:
        """Read the first ``limit`` rows after a position, in order; none if the campaign does not exist."""

    def entries(self, name: str, after: int, limit: int) -> list[EntryRow]:
        """Read the first ``limit`` entries after a position, in order."""

    def keys(self) -> list[KeyRow]:
        """List every key, the revoked ones included, ordered by name."""

    def sessions(self) -> list[SessionRow]:
        """List the sessions that have not been ended, those that expired lately included."""

    def audit(self, after: int, limit: int) -> list[AuditRow]:
        """Read the first ``limit`` rows of the audit log after a number, in order."""

    def close(self) -> None:
        """Close the connection; a second call does nothing."""


class Keys(Reader, Protocol):
    """A reader that can also create, rotate and revoke keys, whether or not a server is running.

    A row of the audit log is added in the transaction of the act that it is about.
    """

    @property
    def url(self) -> str:
        """The URL for display: without a password."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for an operator at the start, as that a file was created."""

    @property
    def caveats(self) -> Sequence[str]:
        """Sentences for the log about known faults of a library that the store uses."""

    def create_key(self, key: KeyRow, audit: AuditRow | None = None) -> None:
        """Store a key, in the place of a revoked one of its name.  Raises ``CampaignExists`` if its name is in use."""

    def rotate_key(self, key: KeyRow, audit: AuditRow | None = None) -> None:
        """Replace the secret and the times of the key that has ``old_digest`` now; it counts as unused again.

        Raises ``CampaignNotFound`` if no valid key of this name has that digest.
        """

    def revoke_key(self, name: str, time: int, audit: AuditRow | None = None) -> None:
        """Mark a key as revoked permanently; the first time counts, and is recorded.  Raises ``CampaignNotFound``."""


class Store(Keys, Protocol):
    """Holds campaigns and serves them."""

    def reader(self) -> Reader:
        """Open a connection for another thread."""

    def create(
        self, name: str, settings: str, rules_version: int, time: int, state: str, audit: AuditRow | None = None
    ) -> None:
        """Create a campaign: status registering, position 0, step 0, no leader.  Raises ``CampaignExists``."""

    def delete(self, name: str, audit: AuditRow | None = None) -> None:
        """Delete a campaign with all of its rows, and the keys that are valid only for it.

        A campaign that has never been started may always be deleted.  Raises ``InputError`` for any other
        unless it is stopped and an ``exported`` entry follows its last pull and bypass report, ``LeaseLost``
        while another server leads it, and ``CampaignNotFound``.
        """

    def lead(self, name: str, address: str) -> int | None:
        """Take a campaign over; return the token for its changes, larger than every earlier one, or None.

        None means that another's lease is valid, or that its transaction is in progress.  Call this before
        loading the campaign.  A lease lasts ten seconds of the database's clock.  The same store may take
        its own lease again; another store with the same address counts as another.  Raises
        ``CampaignNotFound``.
        """

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Extend the leases of the campaigns that this store leads; return those that it still holds."""

    def release(self, names: Sequence[str]) -> None:
        """Give campaigns up, in one transaction, so that other servers need not wait for the ends of the leases."""

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """Return the stored ones among pulls of these ids.  Raises ``CampaignNotFound``."""

    def last_id(self, name: str) -> str:
        """Return the greatest id, byte by byte, among a campaign's pulls, or "".  Raises ``CampaignNotFound``."""

    def append(self, changes: Sequence[Change]) -> None:
        """Commit all changes, of different campaigns, in one transaction, or none: see above."""

    def note_key_uses(self, uses: Mapping[bytes, int]) -> None:
        """Store when secrets of these digests were last used; a later time that is stored already stays."""

    def open_session(self, session: SessionRow, audit: AuditRow | None = None) -> None:
        """Store a session, and remove those that have expired when it begins."""

    def end_session(self, digest: bytes, audit: AuditRow | None = None) -> None:
        """Remove a session; nothing happens if it has ended already."""

    def probe(self) -> None:
        """Commit a heartbeat; raises what an ``append`` would raise now."""


class Database(Protocol):
    """Where a store is: opens, creates, upgrades, checks and copies it.

    An entry of ``STORES`` is such a class, made from a URL; it raises ``InputError`` for an invalid one.
    """

    def open_store(self, *, migrate: bool) -> Store:
        """Open the store to serve from it; create or upgrade it if ``migrate``, else refuse an old one."""

    def open_keys(self, *, create: bool) -> Keys:
        """Open the store for its keys; create or upgrade it if ``create``."""

    def open_reader(self) -> Reader:
        """Open an existing, up-to-date store for reading."""

    def upgrade(self) -> str:
        """Create the store or bring it to the newest schema; return a sentence about what was done."""

    def check(self) -> list[str]:
        """Return what is wrong with the store, one sentence each."""

    def measure(self) -> StoreSize:
        """Count rows and bytes; a server may use the store meanwhile."""

    def backup(self, target: Path) -> str:
        """Copy the store to a new file; return a sentence about it.  Raises ``InputError`` if it cannot."""


def pages(reader: Reader, name: str, after: int = 0, size: int = 10_000) -> Iterator[PullRow | EntryRow]:
    """Yield every row of a campaign after a position, in order, read in pages."""
    while rows := reader.read(name, after, size):
        yield from rows
        after = rows[-1].position


def entries_after(reader: Reader, name: str, after: int = 0, size: int = 5_000) -> Iterator[EntryRow]:
    """Yield every entry of a campaign after a position, in order, read in pages."""
    while rows := reader.entries(name, after, size):
        yield from rows
        after = rows[-1].position
