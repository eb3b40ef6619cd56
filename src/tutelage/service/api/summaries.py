"""A campaign as the structs of the API: its summary and its totals."""

from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.api.schemas import CampaignSummary, CampaignTotals, ChangedCampaign, QuotaTotals
from tutelage.service.campaigns.rebuilding import Disagreement, check_rules, rebuild_committed
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.snapshot_format import decode_listing
from tutelage.service.campaigns.standing import Standing
from tutelage.stores.base import CampaignNotFound, Reader, Snapshot, StoredCampaign


def summarize(session: Session) -> CampaignSummary:
    """Return the settings of a campaign and where it stands."""
    known = vars(session.settings) | msgspec.structs.asdict(session.describe_standing())
    known.pop("edge", None)
    known |= {"clients": tuple(session.clients), "status": session.status, "position": session.position}
    return CampaignSummary(**known)


def add_warnings(summary: CampaignSummary, warnings: list[str]) -> ChangedCampaign:
    """Return a summary with the warnings about the campaign's settings."""
    return ChangedCampaign(**msgspec.structs.asdict(summary), warnings=warnings)


def summarize_stored(reader: Reader, name: str, *, is_exact: bool = True) -> CampaignSummary:
    """Return the summary from the store, for which no server needs to lead the campaign.

    Unless ``is_exact`` it is that of the newest snapshot, if there is one, and so is its ``position``.
    If the campaign cannot be served, ``report`` says why.  Raises ``CampaignNotFound``.
    """
    stored, snapshot = reader.load(name)
    try:
        saved = _summarize_saved(stored, snapshot, is_exact=is_exact)
        return saved or summarize(rebuild_committed(reader, stored, snapshot))
    except CampaignNotFound:  # deleted a moment ago
        raise
    except (Disagreement, InputError, msgspec.MsgspecError) as error:
        return _join(stored, Standing(report=f"cannot be served: {error}"), {}, stored.head.position)


def _summarize_saved(stored: StoredCampaign, snapshot: Snapshot | None, *, is_exact: bool) -> CampaignSummary | None:
    """Return the summary from a snapshot, if ``is_exact`` of the ledger's end; None if only the rows tell it.

    Raises ``Disagreement`` and ``MsgspecError``.
    """
    if snapshot is None or (is_exact and snapshot.position != stored.head.position):
        return None
    check_rules(stored)
    listing = decode_listing(snapshot.content)
    is_end = snapshot.position == stored.head.position
    if listing.standing is None or (is_end and listing.digest.hex() != stored.head.digest):
        return None
    return _join(stored, listing.standing, {"clients": listing.clients}, snapshot.position)


def _join(stored: StoredCampaign, standing: Standing, known: dict[str, Any], position: int) -> CampaignSummary:
    settings: dict[str, Any] = msgspec.json.decode(stored.settings)
    known = known | {"status": stored.head.status, "position": position}
    return msgspec.convert(settings | msgspec.structs.asdict(standing) | known, CampaignSummary)


def compute_totals(session: Session) -> CampaignTotals:
    """Return counts, sums and costs, in the order of clients and arms, and the teacher's state."""
    campaign = session.begun
    quota = campaign.directive.quota
    return CampaignTotals(
        name=session.name,
        position=session.position,
        step=session.step,
        clients=tuple(session.clients),
        arms=session.settings.arms,
        rounds=list(campaign.rounds),
        beyond_horizon=campaign.beyond_horizon,
        pulls=campaign.pulls.tolist(),
        observed=[list(client.observed) for client in campaign.clients],
        revealed=[list(client.revealed) for client in campaign.clients],
        costs=[client.cost for client in campaign.clients],
        quota=None if quota is None else QuotaTotals(list(quota.counts), quota.mode),
        teacher=msgspec.Raw(session.state.encode()),
    )
