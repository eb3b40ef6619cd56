"""What operators and clients do to a campaign besides pulls; each is an entry of its ledger.

``key`` is the name of the key that asked for it.
"""

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import Campaign
from tutelage.service.campaigns.entry_contents import ExportContent, NamedClientContent, describe_decision
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.session import Session


def register(session: Session, client: str, now: int, key: str = "") -> bool:
    """Add a client before the start; return False if it is already registered."""
    if client in session.client_numbers:
        return False
    if session.status != "registering" or not session.settings.open_registration:
        why = "has no open registration" if session.status == "registering" else "has started"
        raise Refusal("registration-closed", f"The campaign {session.name} {why}: no client can be added.")
    try:
        session.admit(client)
    except InputError as error:
        raise Refusal("invalid", str(error)) from error
    session.enter("registered", now, NamedClientContent(client), key=key)
    return True


def start(session: Session, now: int, key: str = "") -> None:
    """Start the campaign, or continue it after a stop."""
    if session.status == "running":
        return
    if not session.clients:
        raise Refusal(
            "not-startable", f"The campaign {session.name} has no clients yet: register one before the start."
        )
    if session.campaign is None:
        try:
            session.campaign = Campaign(session.settings.setup(session.clients))
        except InputError as error:
            raise Refusal("not-startable", str(error)) from error
        session.has_new_state = True
    session.status = "running"
    session.enter("started", now, key=key)


def stop(session: Session, now: int, key: str = "") -> None:
    """Pause: until the next start only pulls that were bypassed are accepted."""
    if session.status == "registering":
        raise Refusal(
            "not-started", f"The campaign {session.name} has not started and need not be stopped: delete it directly."
        )
    if session.status == "running":
        session.status = "stopped"
        session.enter("stopped", now, key=key)


def exclude(session: Session, client: str, now: int, key: str = "") -> None:
    """Exclude a client: its pulls are no longer evidence."""
    campaign = session.begun
    if client not in session.client_numbers:
        raise Refusal("unknown-client", f"Unknown client {client!r} in the campaign {session.name}.")
    number = session.client_numbers[client]
    if why := campaign.find_exclusion_fault(number):
        raise Refusal("not-excludable", f"The client {client!r} {why}.")
    try:
        decision = campaign.exclude(number)
    except InputError as error:
        raise Refusal("not-excludable", str(error)) from error
    session.step += 1
    session.note_decision(decision)
    session.enter("excluded", now, describe_decision(decision, campaign, session.settings.arms, client), key=key)


def note_export(session: Session, position: int, now: int, key: str = "") -> None:
    """Note that the ledger was exported up to a position, if that is all of it."""
    if position == session.position:
        session.enter("exported", now, ExportContent(session.position), key=key)
