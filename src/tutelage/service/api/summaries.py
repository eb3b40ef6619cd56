"""A campaign as the structs of the API: its summary and its totals."""

from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.api.schemas import CampaignSummary, CampaignTotals, ChangedCampaign, QuotaTotals
from tutelage.service.campaigns.rebuilding import Disagreement, rebuild_committed
from tutelage.service.campaigns.session import Session
from tutelage.stores.base import CampaignNotFound, Reader
from tutelage.text import name_arms

#: What is known of a campaign before its start.
_NOT_STARTED: dict[str, Any] = {
    "excluded": [],
    "num_pulls": 0,
    "round": 0,
    "beyond_horizon": 0,
    "directive": 1,
    "cost": 0.0,
    "active_arms": [],
    "target": None,
}


def summarize(session: Session) -> CampaignSummary:
    """Return the settings of a campaign and where it stands."""
    arms, campaign = session.settings.arms, session.campaign
    known = vars(session.settings) | {"clients": tuple(session.clients)}
    known |= {"status": session.status, "position": session.position}
    if campaign is None:
        return CampaignSummary(**known, **_NOT_STARTED, report="has not started")
    return CampaignSummary(
        **known,
        excluded=[session.clients[number] for number in campaign.excluded],
        num_pulls=int(campaign.pulls.sum()),
        round=campaign.round,
        beyond_horizon=campaign.beyond_horizon,
        directive=1 + campaign.consultations,
        cost=campaign.cost,
        report=name_arms(campaign.report().sentence, arms),
        active_arms=[arms[arm] for arm in campaign.directive.active_arms],
        target=None if campaign.target is None else arms[campaign.target],
    )


def add_warnings(summary: CampaignSummary, warnings: list[str]) -> ChangedCampaign:
    """Return a summary with the warnings about the campaign's settings."""
    return ChangedCampaign(**msgspec.structs.asdict(summary), warnings=warnings)


def summarize_stored(reader: Reader, name: str) -> CampaignSummary:
    """Return the summary from the store, for which no server needs to lead the campaign.

    If the campaign cannot be served, ``report`` says why.  Raises ``CampaignNotFound``.
    """
    stored, snapshot = reader.load(name)
    try:
        return summarize(rebuild_committed(reader, stored, snapshot))
    except CampaignNotFound:  # deleted a moment ago
        raise
    except (Disagreement, InputError, msgspec.MsgspecError) as error:
        known = {"status": stored.head.status, "position": stored.head.position, "report": f"cannot be served: {error}"}
        settings: dict[str, Any] = msgspec.json.decode(stored.settings)
        return msgspec.convert(settings | _NOT_STARTED | known, CampaignSummary)


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
