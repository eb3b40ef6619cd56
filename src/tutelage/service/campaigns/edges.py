"""What edges do to a campaign, at the leader and in their own copy (docs/decisions/0014-edges.md).

At the leader a client's pulls are answered by an edge from a claim or an assignment on, and its reports bring the
sums of whole segments.  In its copy an edge holds clients and the leader's directive.  All of it is in the ledgers.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns import actions
from tutelage.service.campaigns.campaign import Assignment, Campaign
from tutelage.service.campaigns.edge_messages import (
    ClaimResponse,
    ClientRecord,
    ClientReport,
    EdgeClaim,
    EdgeReport,
    EdgeResponse,
    Moved,
    find_fault,
    is_of_this_period,
    load_record,
    read_record,
)
from tutelage.service.campaigns.edge_teacher import HeldDirective, pack_directive
from tutelage.service.campaigns.entry_contents import (
    AssignedContent,
    DirectedContent,
    ReportedContent,
    describe_decision,
)
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import check_edge_name

# --------------------------------------------------------------------------------------- at the leader


def claim(session: Session, asked: EdgeClaim, now: int, key: str = "") -> ClaimResponse:
    """Give an edge those of these clients that have made no pull yet, or that it held before.

    A client that the edge claims again has a new fence: it may have lost its ledger, and an older one may return.
    """
    _check_edge(asked.edge)
    campaign = session.begun
    held = []
    for name in asked.clients:
        client = session.client_numbers.get(name)
        if client is None:
            continue
        known = campaign.assignments.get(client)
        if known.edge == asked.edge if known else campaign.rounds[client] == 0:
            fence = _assign(session, client, asked.edge, now, key)
            held.append((client, fence, read_record(campaign, client)))
    return ClaimResponse(session.created, session.settings.encode(), session.clients, _respond(session), held)


def assign(session: Session, client: str, edge: str, now: int, key: str = "") -> bool:
    """Move a client to an edge, or to the leader if ``edge`` is empty: the old edge's later pulls are refused.

    Return whether it was moved: if its pulls are answered there already, nothing changes.
    """
    if client not in session.client_numbers:
        raise Refusal("unknown-client", f"Unknown client {client!r} in the campaign {session.name}.")
    if edge:
        _check_edge(edge)
    number = session.client_numbers[client]
    if session.begun.assignments.get(number, Assignment("", 0)).edge == edge:
        return False
    _assign(session, number, edge, now, key)
    return True


def _check_edge(name: str) -> None:
    try:
        check_edge_name(name)
    except InputError as error:
        raise Refusal("invalid", str(error)) from error


def _assign(session: Session, client: int, edge: str, now: int, key: str) -> int:
    known = session.begun.assignments.get(client)
    fence = known.fence + 1 if known else 1
    add_client(session, client, Assignment(edge, fence), None, now, key)
    return fence


def report(session: Session, sent: EdgeReport, now: int, key: str = "") -> EdgeResponse:
    """Add what is new in an edge's report.

    Clients that the edge does not hold are refused, repeated and older reports change nothing, and a report whose
    sums do not follow the known ones waits until the edge sends those between.
    """
    campaign = session.begun
    if sent.created != session.created:
        raise Refusal("unknown-campaign", f"The campaign {session.name} was created again since the edge got it.")
    accepted, lost, behind = [], [], []
    for one in sent.clients:
        known = campaign.assignments.get(one.client)
        if known is None or (known.edge, known.fence) != (sent.edge, one.fence):
            edge, fence, _ = known or Assignment("", 0)
            lost.append(Moved(one.client, edge, fence))
        elif sent.position > known.position:
            if fault := find_fault(campaign, one):
                raise Refusal("invalid", f"The report of the client {session.clients[one.client]!r} {fault}.")
            new = _trim(campaign, one)
            (behind.append(one.client) if new is None else accepted.append(new))
    if accepted:
        add_report(session, ReportedContent(sent.edge, sent.position, sent.directive, accepted), now, key)
    return _respond(session, lost, behind)


def _trim(campaign: Campaign, sent: ClientReport) -> ClientReport | None:
    """Return the report with only the sums that are new, none if they are of an earlier period; None with a gap."""
    if not is_of_this_period(campaign, sent.record):
        return msgspec.structs.replace(sent, closed=[[] for _ in sent.closed])
    closed = []
    for known, end, sums in zip(
        campaign.collected.segments[sent.client], sent.record.segments, sent.closed, strict=True
    ):
        if not end - len(sums) <= known <= end:
            return None
        closed.append(sums[len(sums) - (end - known) :])
    return msgspec.structs.replace(sent, closed=closed)


def add_report(session: Session, content: ReportedContent, now: int, key: str = "") -> None:
    """Make a step of an accepted report: observe its sums, and consult the teacher if that is due."""
    campaign = session.begun
    session.record_series(now)
    session.step += 1
    has_evidence = False
    for one in content.clients:
        before = list(campaign.collected.counts[one.client])
        load_record(campaign, one.client, one.record, one.closed)
        has_evidence = has_evidence or campaign.collected.counts[one.client] != before
        known = campaign.assignments[one.client]
        campaign.assignments[one.client] = known._replace(position=content.position)
    session.enter("reported", now, content, key=key)
    decision = campaign.consult() if has_evidence else None
    if decision:
        session.note_decision(decision)
        session.enter("decided", now, describe_decision(decision, campaign, session.settings.arms))


def _respond(session: Session, lost: Sequence[Moved] = (), behind: Sequence[int] = ()) -> EdgeResponse:
    campaign = session.begun
    directive = pack_directive(campaign.directive, 1 + campaign.consultations)
    return EdgeResponse(session.position, session.status, directive, list(lost), list(behind))


# ----------------------------------------------------------------------------------------- at the edge


def hold(session: Session, response: ClaimResponse, now: int) -> None:
    """Follow the leader's response to a claim, and hold the clients that it gave."""
    edge = session.settings.edge
    assert edge is not None  # noqa: S101 - only an edge claims
    if response.created != edge.created:
        raise Refusal(
            "unknown-campaign",
            f"The leader has created the campaign {session.name} again: this edge holds the earlier one.",
        )
    if session.campaign is None:
        actions.start(session, now)
    follow(session, response.response, now)
    for client, fence, record in response.held:
        if is_of_this_period(session.begun, record):  # else a newer directive came meanwhile: it is claimed again
            add_client(session, client, Assignment(edge.name, fence), record, now)


def add_client(
    session: Session, client: int, known: Assignment, record: ClientRecord | None, now: int, key: str = ""
) -> None:
    """Note who answers a client's pulls; with a record, this edge does, and continues from there."""
    if record is not None:
        campaign = session.begun
        for closed in campaign.collected.closed:
            closed[client].clear()
        campaign.left_out.discard(client)
        if campaign.windows > 0:  # its next pull may have been made before the window
            campaign.left_out.add(client)
        load_record(campaign, client, msgspec.structs.replace(record, is_left_out=True), [[] for _ in record.pulls])
    session.assign(client, known)
    content = AssignedContent(session.clients[client], known.edge, known.fence, record or msgspec.UNSET)
    session.enter("assigned", now, content, key=key)


def follow(session: Session, response: EdgeResponse, now: int) -> None:
    """Do what the leader's newest response says: its directive, a stop or start, clients that were lost."""
    direct(session, response.directive, now)
    if response.status == "stopped":
        actions.stop(session, now)
    else:
        actions.start(session, now)
    own = session.settings.edge.name if session.settings.edge else ""
    for one in response.lost:
        known = session.begun.assignments.get(one.client)
        if known is not None and known.edge == own:  # not held, even if another edge has this one's name
            edge = "" if one.edge == own else one.edge
            add_client(session, one.client, Assignment(edge, one.fence), None, now)


def direct(session: Session, directive: HeldDirective, now: int) -> None:
    """Hold a directive of the leader from now on, unless it is held already."""
    campaign = session.begun
    if directive == campaign.state and session.step > 0:
        return
    campaign.state, campaign.consultations = directive, directive.number - 1
    campaign.publish()
    session.step += 1
    session.has_decided = session.has_new_state = True
    session.enter("directed", now, DirectedContent(directive))


@dataclass
class SentReport:
    """What an edge has reported of a client, and the leader has accepted."""

    fence: int
    version: tuple[object, ...]
    segments: list[int]


def collect(
    session: Session, sent: Mapping[int, SentReport], most_cells: int, *, is_full: bool, done: Container[int] = ()
) -> tuple[EdgeReport, dict[int, SentReport]]:
    """Return a report of clients with newly completed segments, or if ``is_full`` of all that changed.

    Clients that are ``done`` are left out.
    The report is of at most ``most_cells`` pairs of client and arm, and of one client at the least.  The second
    part is what has been sent once the leader accepts it.
    """
    edge, campaign = session.settings.edge, session.begun
    assert edge is not None  # noqa: S101 - only an edge reports
    reports, new = list[ClientReport](), dict[int, SentReport]()
    for client, known in campaign.assignments.items():
        if known.edge != edge.name or client in done:
            continue
        segments, before = campaign.collected.segments[client], sent.get(client)
        period = (campaign.restarts, campaign.windows)
        version = (*period, campaign.rounds[client], campaign.clients[client].cost)
        if before is not None and (before.fence != known.fence or before.version[:2] != period):
            before = None
        if before is not None and (before.version == version or not (is_full or segments != before.segments)):
            continue
        if before is None and campaign.rounds[client] == 0:
            continue
        closed = [sums[client] for sums in campaign.collected.closed]
        if before is not None:
            news = [end - begin for end, begin in zip(segments, before.segments, strict=True)]
            closed = [sums[len(sums) - number :] for sums, number in zip(closed, news, strict=True)]
        reports.append(ClientReport(client, known.fence, read_record(campaign, client), [list(one) for one in closed]))
        new[client] = SentReport(known.fence, version, list(segments))
        if len(reports) * len(segments) >= most_cells:
            break
    number = 1 + campaign.consultations
    return EdgeReport(edge.name, edge.created, session.position, number, reports), new
