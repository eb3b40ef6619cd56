"""A campaign as the structs of the API: its summary and its totals."""

from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.api.schemas import CampaignSummary, CampaignTotals, QuotaTotals
from tutelage.service.campaigns.rebuilding import Disagreement, rebuild_committed
from tutelage.service.campaigns.session import Session
from tutelage.stores.base import CampaignNotFound, Reader
from tutelage.text import name_arms


def summarize(session: Session) -> CampaignSummary:
    """Return the settings of a campaign and where it stands."""
    settings, campaign = session.settings, session.campaign
    target = campaign.target if campaign else None
    return CampaignSummary(
        name=session.name,
        status=session.status,  # type: ignore[arg-type]  # it is one of the three
        teacher=settings.teacher,
        horizon=settings.horizon,
        low=settings.low,
        high=settings.high,
        seed=settings.seed,
        open_registration=settings.open_registration,
        weights=settings.weights,
        arms=settings.arms,
        clients=tuple(session.clients),
        excluded=[session.clients[number] for number in campaign.excluded] if campaign else [],
        num_pulls=int(campaign.pulls.sum()) if campaign else 0,
        round=campaign.round if campaign else 0,
        beyond_horizon=campaign.beyond_horizon if campaign else 0,
        directive=1 + campaign.consultations if campaign else 1,
        cost=campaign.cost if campaign else 0.0,
        report=name_arms(campaign.report().sentence, settings.arms) if campaign else "has not started",
        active_arms=[settings.arms[arm] for arm in campaign.directive.active_arms] if campaign else [],
        target=None if target is None else settings.arms[target],
        position=session.position,
    )


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
        unknown = {"excluded": [], "num_pulls": 0, "round": 0, "beyond_horizon": 0, "directive": 1, "cost": 0.0}
        known = {"status": stored.head.status, "position": stored.head.position, "active_arms": [], "target": None}
        settings: dict[str, Any] = msgspec.json.decode(stored.settings)
        content = settings | unknown | known | {"report": f"cannot be served: {error}"}
        return msgspec.convert(content, CampaignSummary)


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
