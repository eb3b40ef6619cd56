"""The writer: the only thread that changes campaigns.

It answers the waiting requests as a group and commits the group in one transaction.  What one request changes is a
step, made by :mod:`tutelage.service.campaigns.campaign`; steps are never merged.
Nothing is delivered before it is on disk.  If the transaction fails, every campaign of the group is loaded
again before its next request, and all requests of the group are refused as unavailable: they may be sent
again.
"""

import logging
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage.errors import InputError
from tutelage.service.campaigns import actions
from tutelage.service.campaigns.messages import NotLeader, Origin, PullRequest, Reason, Refusal
from tutelage.service.campaigns.rebuilding import Disagreement, rebuild
from tutelage.service.campaigns.session import SNAPSHOT_SECONDS, Session, Tally
from tutelage.service.campaigns.settings import RULES_VERSION, Settings
from tutelage.service.fault_log import FaultLog
from tutelage.service.instruments import Instruments
from tutelage.service.tracing import GroupTimes
from tutelage.stores import base

LOG = logging.getLogger("tutelage.leadership")
MOST_IN_GROUP = 4_000  # pulls that share a transaction
MOST_COMMITS = 4_096  # whose durations are remembered
RENEW_SECONDS, PROBE_SECONDS, RECOVERY_SECONDS = 3.0, 2.5, 0.5  # the last between probes while the store fails
SAVE_SECONDS, SAVE_PAUSE, FINAL_SAVE_SECONDS = 0.05, 0.5, 2.0  # for snapshots: at a time, between, at the end
STILL_FULL_SECONDS = 10.0  # a probe that succeeds sooner after a full disk does not count
MOST_NAMED = 20  # campaigns in a line of the log
MOST_CACHED = 250_000  # pulls, of all campaigns together
LEASE_SECONDS = 8.0  # of the ten that the store gives: a process may have been halted longer than that
_END = object()
NOBODY = Origin()

Act = Literal["register", "start", "stop", "exclude", "exported", "delete"]
_AUDITED: dict[Act, str] = {
    "register": "register client",
    "start": "start campaign",
    "stop": "stop campaign",
    "exclude": "exclude client",
    "exported": "export campaign",
}


@dataclass(slots=True, eq=False)
class Job:
    """A request to a campaign; it has a result or an error once ``deliver`` has been called with it."""

    name: str
    result: Any = None
    error: Exception | None = None
    waiter: Any = None
    origin: Origin = NOBODY
    times: GroupTimes | None = None


@dataclass(slots=True, eq=False)
class PullJob(Job):
    """Answer these pulls; the result is a list of ``PullResponse``.

    With ``are_new`` they are those of several requests; the result is None, and nothing changes, unless all are new
    and valid.
    """

    pulls: Sequence[PullRequest] = ()
    are_new: bool = False


@dataclass(slots=True, eq=False)
class CreateJob(Job):
    """Create a campaign, and start it if ``start``."""

    settings: Settings | None = None
    start: bool = False


@dataclass(slots=True, eq=False)
class ActionJob(Job):
    """Change a campaign, for an operator or a client."""

    act: Act = "start"
    client: str = ""
    position: int | None = None  # the end of an export; None is the end of the ledger
    created: int | None = None  # of the exported campaign: by now another may have its name


@dataclass(slots=True, eq=False)
class KeyUseJob(Job):
    """Store when keys were last used, by the digests of their secrets; it concerns no campaign."""

    uses: Mapping[bytes, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class SessionJob(Job):
    """Store the session ``opened``, or else remove that with the digest ``ended``; it concerns no campaign."""

    opened: base.SessionRow | None = None
    ended: bytes = b""


@dataclass(slots=True, eq=False)
class EdgeJob(Job):
    """Call ``act`` with the session, the time and the key's name, and commit what it enters.

    ``audited`` is the action for the audit log, with its ``subject``; empty for none.
    """

    act: Callable[[Session, int, str], Any] = field(default=lambda *_: None)
    audited: str = ""
    subject: str = ""


@dataclass(slots=True, eq=False)
class ReadJob(Job):
    """Call ``look`` with the session between two groups; it must be quick and change nothing."""

    look: Callable[[Session], Any] = field(default=lambda session: session)


# The first match counts.
_REASONS: tuple[tuple[type[Exception], Reason], ...] = (
    (base.CampaignNotFound, "unknown-campaign"),
    (base.CampaignExists, "exists"),
    (InputError, "invalid"),
    (base.StoreError, "unavailable"),
    (Disagreement, "unavailable"),
)


class Writer:
    """Leads campaigns on a store.  ``deliver`` is called with the jobs of a group once they have results."""

    def __init__(
        self,
        store: base.Store,
        deliver: Callable[[Sequence[Job]], None],
        *,
        address: str = "",
        most_cached: int = MOST_CACHED,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.store, self.deliver, self.address, self.now = store, deliver, address, now
        self.most_cached = most_cached  # pulls in the caches of all campaigns
        self._cached: dict[str, int] = {}  # pulls in each cache, the one least recently pulled first
        self.instruments = Instruments()
        self.sessions: dict[str, Session] = {}
        self.led: set[str] = set()  # campaigns taken over, including those that are not in memory now
        self._reported: set[str] = set()  # those of which the log says that this server leads them
        self._reported_at = -math.inf
        self.tallies: dict[str, Tally] = {}  # of these, also while they are not in memory
        # Tokens of campaigns that must be loaded again because the disk was full.
        self.kept_tokens: dict[str, int] = {}
        self.renewed = time.monotonic()
        self.failure: str | None = None  # why nothing can be written now; None if it can
        self.failed_full = -math.inf  # when the disk was last found full
        self.faults = FaultLog(
            logging.getLogger("tutelage.store"), "the store fails", "the store still fails", "the store works again"
        )
        self.broken = False
        self.last_commit = time.monotonic()
        self.commits: deque[tuple[float, float]] = deque(maxlen=MOST_COMMITS)  # end, duration
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="tutelage-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the waiting jobs and give the campaigns up."""
        self._jobs.put(_END)
        self._thread.join()
        end = time.monotonic() + FINAL_SAVE_SECONDS
        while time.monotonic() < end and self.save_snapshots(0.0):
            pass
        self.give_up()

    def give_up(self) -> None:
        """Release all campaigns, so that others can take them over at once; otherwise their leases end."""
        self._report_leadership()
        try:
            self.store.release(sorted(self.led))
        except base.StoreError as error:
            LOG.warning("leases were not released and end by themselves", extra={"reason": str(error)})
        else:
            for name in self.led:
                self.instruments.count_lease(name, "released")
            _log_campaigns("leadership handed over", self.led)

    def submit(self, job: Job) -> None:
        """Add a job; from any thread."""
        self._jobs.put(job)

    @property
    def is_alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def _work(self) -> None:
        probed = saved = time.monotonic()
        while True:
            jobs, is_last = self._gather()
            if jobs:
                self._group(jobs)
            if is_last:
                return
            now = time.monotonic()
            if now - self.renewed >= RENEW_SECONDS:
                self._renew()
            if now - self._reported_at >= 1.0:
                self._report_leadership()
            if now - saved >= SAVE_PAUSE:
                self.save_snapshots(SNAPSHOT_SECONDS)
                saved = time.monotonic()
            if now - max(probed, self.last_commit) >= (PROBE_SECONDS if self.failure is None else RECOVERY_SECONDS):
                probed = now
                self._probe()

    def _gather(self) -> tuple[list[Job], bool]:
        """Return the waiting jobs, at most a group, and whether they are the last."""
        try:
            job = self._jobs.get(timeout=0.5)
        except queue.Empty:
            return [], False
        jobs: list[Job] = []
        size = 0
        while True:
            if job is _END:
                return jobs, True
            jobs.append(job)
            size += len(job.pulls) if isinstance(job, PullJob) else 1
            if size >= MOST_IN_GROUP:
                return jobs, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False

    def _renew(self) -> None:
        self.renewed = time.monotonic()
        try:
            lost = self.led - set(self.store.renew(list(self.led), self.address))
        except base.StoreError:
            self._cached.clear()
            self.sessions.clear()  # whether the leases are held shows when the campaigns are loaded again
        else:
            for name in lost:
                self._lose(name)

    def save_snapshots(self, seconds: float) -> bool:
        """Store snapshots of campaigns whose newest rows have had none for that time; return whether any was stored.

        A campaign that is quiet is then loaded, and listed, without reading any of its rows.
        """
        if self.failure is not None:
            return False
        end, changes = time.monotonic() + SAVE_SECONDS, []
        for session in self.sessions.values():
            if session.is_unsaved(seconds):
                changes.append(session.save())
                if time.monotonic() >= end:
                    break
        try:
            if changes:
                self.store.append(changes)
                self.last_commit = time.monotonic()
        except base.LeaseLost as error:
            self._lose(error.name)
        except base.StoreError as error:
            self.fail(error)
        return bool(changes)

    def _lose(self, name: str) -> None:
        """Another server leads the campaign, or may."""
        self.instruments.count_lease(name, "lost")
        self.sessions.pop(name, None)
        self.led.discard(name)
        self._cached.pop(name, None)
        self.tallies.pop(name, None)

    def _report_leadership(self) -> None:
        """Log which campaigns were taken over or lost since the last call."""
        _log_campaigns("leadership taken", self.led - self._reported)
        _log_campaigns("leadership lost", self._reported - self.led, logging.WARNING)
        self._reported, self._reported_at = set(self.led), time.monotonic()

    def _probe(self) -> None:
        if self.broken:
            return
        try:
            self.store.probe()
        except base.StoreError as error:
            self.fail(error)
        else:
            self.last_commit = time.monotonic()
            # Sooner after a full disk there may be space for a heartbeat only.
            if self.last_commit - self.failed_full >= STILL_FULL_SECONDS:
                self._recovered()

    def _succeeded(self) -> None:
        self.last_commit = time.monotonic()
        self._recovered()

    def _recovered(self) -> None:
        if self.failure is not None and not self.broken:
            self.failure, self.failed_full = None, -math.inf
            self.faults.end("writer")

    def fail(self, error: Exception) -> None:
        """Note a failure, here or of a reader; from any thread."""
        if isinstance(error, base.StoreFull):
            self.failed_full = time.monotonic()
        self.broken = self.broken or isinstance(error, base.StoreBroken)
        self.faults.report("writer", str(error))
        self.failure = str(error)  # last, so that the next success ends what was reported

    def _group(self, jobs: Sequence[Job]) -> None:
        """Answer these jobs, commit and deliver them."""
        if time.monotonic() - self.renewed >= LEASE_SECONDS:
            self._renew()  # another may lead by now; replays would not notice, as they write nothing
        part: list[Job] = []
        for job in jobs:
            is_delete = isinstance(job, ActionJob) and job.act == "delete"
            if is_delete or isinstance(job, CreateJob | KeyUseJob | SessionJob):
                self._answer_part(part)
                part = []
                self._answer_alone(job)
            else:
                part.append(job)
        self._answer_part(part)

    def _answer_part(self, jobs: Sequence[Job]) -> None:
        """Answer reads first: they see what is on disk, and a failed write does not affect them."""
        self._answer([job for job in jobs if isinstance(job, ReadJob)])
        self._answer([job for job in jobs if not isinstance(job, ReadJob)])

    def _answer_alone(self, job: Job) -> None:
        """Create or delete a campaign, or write what concerns none, in a transaction of its own."""
        job.times = GroupTimes(time.time_ns())
        try:
            if isinstance(job, CreateJob):
                assert job.settings is not None  # noqa: S101 - every CreateJob has them
                now = self.now()
                audit = self._audit(job, "create campaign", now)
                self.store.create(job.name, job.settings.encode(), RULES_VERSION, now, "", audit)
            elif isinstance(job, KeyUseJob):
                self.store.note_key_uses(job.uses)
            elif isinstance(job, SessionJob) and job.opened:
                self.store.open_session(job.opened, self._audit(job, "sign in", self.now()))
            elif isinstance(job, SessionJob):
                self.store.end_session(job.ended, self._audit(job, "sign out", self.now()))
            else:
                self.store.delete(job.name, self._audit(job, "delete campaign", self.now()))
                self.instruments.count_lease(job.name, "released")
                self._lose(job.name)
                self._reported.discard(job.name)
            self._succeeded()
            job.times.commit = job.times.taken, time.time_ns()
        except Exception as error:  # noqa: BLE001 - somebody waits for the answer
            job.error = self._translate(error)
        if isinstance(job, CreateJob) and job.start and job.error is None:
            self._answer([job])
        else:
            self.deliver([job])

    def _answer(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        if self.broken:
            for job in jobs:
                job.error = Refusal("unavailable", self.failure or "The store has failed.")
            self.deliver(jobs)
            return
        times = GroupTimes(time.time_ns())
        for job in jobs:
            job.times = times
        try:
            known = self._find(jobs)
            failed = self._do_all(jobs, known)
            self._commit({job.name for job in jobs} - failed, times)
        except Exception as error:  # noqa: BLE001 - memory may be ahead of the disk: load again
            refusal = self._translate(error)
            if isinstance(refusal, NotLeader):
                self._lose(refusal.name)
            for job in jobs:
                session = self.sessions.pop(job.name, None)
                if session is not None and isinstance(error, base.StoreFull):
                    self.kept_tokens[job.name] = session.token
                if not isinstance(refusal, NotLeader) or job.name == refusal.name:
                    job.error = refusal
                elif job.error is None:
                    job.error = Refusal("unavailable", "Nothing was written: send the request again.")
        self.deliver(jobs)
        self._bound_caches(jobs)

    def _bound_caches(self, jobs: Sequence[Job]) -> None:
        """Empty the caches of campaigns that are over, and the least recently used ones beyond the bound."""
        for job in jobs:
            if isinstance(job, PullJob):
                self._cached[job.name] = self._cached.pop(job.name, 0)
        for name in {job.name for job in jobs}:
            session = self.sessions.get(name)
            if session is not None and session.is_over:
                session.cache.clear()
            self._cached[name] = 0 if session is None else len(session.cache)
            if not self._cached[name]:
                del self._cached[name]
        while sum(self._cached.values()) > self.most_cached:
            name = next(iter(self._cached))
            del self._cached[name]
            if name in self.sessions:
                self.sessions[name].cache.clear()

    def _do_all(self, jobs: Sequence[Job], known: dict[str, dict[str, base.StoredPull]]) -> set[str]:
        """Carry out these jobs in memory; return the campaigns that failed and must be loaded again."""
        failed: dict[str, Exception] = {}
        for job in jobs:
            if job.name in failed:
                continue
            try:
                job.result = self._do(job, known)
            except (Refusal, NotLeader, base.CampaignNotFound) as error:
                job.error = self._translate(error)
            except base.StoreBroken:
                raise
            except Exception as error:  # noqa: BLE001 - it concerns only its own campaign
                failed[job.name] = self._translate(error)
                self.sessions.pop(job.name, None)
        for job in jobs:
            job.error = failed.get(job.name, job.error)
        return set(failed)

    def _find(self, jobs: Iterable[Job]) -> dict[str, dict[str, base.StoredPull]]:
        """Look up the stored pulls of these jobs, for each campaign at once."""
        wanted: dict[str, list[str]] = {}
        for job in jobs:
            if isinstance(job, PullJob):
                try:
                    wanted.setdefault(job.name, []).extend(self._session(job.name).find_uncertain(job.pulls))
                except (NotLeader, InputError, base.StoreError, Disagreement):
                    continue  # the job itself will fail with this error
        return {name: self.store.find(name, ids) for name, ids in wanted.items() if ids}

    def _session(self, name: str) -> Session:
        session = self.sessions.get(name)
        if session is None:
            token = self.kept_tokens.pop(name, None)
            if token is None or not self.store.renew([name], self.address):
                token = self.store.lead(name, self.address)
            stored, snapshot = self.store.load(name)
            if token is None:
                self._lose(name)
                raise NotLeader(name, stored.leader)
            after = snapshot.position if snapshot else 0
            rows = base.pages(self.store, name, after)
            session = self.sessions[name] = rebuild(stored, token, snapshot, rows, self.store.last_id(name))
            session.tally = self.tallies.setdefault(name, session.tally)
            self.instruments.count_lease(name, "acquired")
            self.led.add(name)  # one that cannot be rebuilt is left to servers of other releases
        return session

    def _do(self, job: Job, known: dict[str, dict[str, base.StoredPull]]) -> Any:
        session, now = self._session(job.name), self.now()
        if isinstance(job, PullJob):
            answer = session.answer_new if job.are_new else session.answer
            return answer(job.pulls, known.get(job.name, {}), now)
        if isinstance(job, ReadJob):
            return job.look(session)
        before = session.position
        if isinstance(job, EdgeJob):
            result = job.act(session, now, job.origin.key)
            if job.audited and session.position > before:
                session.new_audit.append(self._audit(job, job.audited, now, job.subject))
            return result
        act, client = (job.act, job.client) if isinstance(job, ActionJob) else ("start", "")
        result = self._act(job, session, act, client, now)
        if session.position > before:
            session.new_audit.append(self._audit(job, _AUDITED[act], now, client))
        return result

    def _act(self, job: Job, session: Session, act: Act, client: str, now: int) -> Any:
        key = job.origin.key
        if act == "exported" and isinstance(job, ActionJob):
            if job.created not in {None, session.created}:
                raise Refusal("unknown-campaign", f"The campaign {job.name} was deleted during the export.")
            return actions.note_export(session, session.position if job.position is None else job.position, now, key)
        if session.settings.edge is not None:
            raise Refusal("moved", f"This server is an edge: ask the leader of the campaign {job.name}.")
        if client:
            return (actions.register if act == "register" else actions.exclude)(session, client, now, key)
        return {"start": actions.start, "stop": actions.stop}[act](session, now, key)

    @staticmethod
    def _audit(job: Job, action: str, now: int, subject: str = "") -> base.AuditRow:
        return base.AuditRow(now, job.origin.key, job.origin.address, action, job.name, subject)

    def _commit(self, names: Iterable[str], times: GroupTimes) -> None:
        sessions = [self.sessions[name] for name in sorted(names) if name in self.sessions]
        changes: list[base.Change] = [change for session in sessions if (change := session.pending_change())]
        if changes:
            begun, begun_at = time.monotonic(), time.time_ns()
            self.store.append(changes)
            self._succeeded()
            self.commits.append((self.last_commit, self.last_commit - begun))
            self.instruments.commit_seconds.observe(self.last_commit - begun)
            times.commit = begun_at, time.time_ns()
            for session in sessions:
                times.consulted[session.settings.name] = list(session.consulted)
                for started, ended in session.consulted:
                    self.instruments.consultation_seconds.observe((ended - started) / 1e9)
                session.mark_committed()

    def _translate(self, error: Exception) -> Exception:
        """Return the exception that the sender of a job gets for an error."""
        if isinstance(error, Refusal | NotLeader):
            return error
        if isinstance(error, base.LeaseLost):
            return NotLeader(error.name, None)
        if isinstance(error, base.StoreFull | base.StoreBroken):
            self.fail(error)
        reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), None)
        message = f"The request failed with an internal error ({type(error).__name__}: {error})."
        refusal = Refusal(reason or "unavailable", str(error) if reason else message)
        refusal.__cause__ = error
        return refusal


def _log_campaigns(event: str, names: Iterable[str], level: int = logging.INFO) -> None:
    """Log an event of these campaigns in one line; nothing without a campaign."""
    found = sorted(names)
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        LOG.log(level, event, extra={"campaigns": ", ".join(found[:MOST_NAMED]) + more})
