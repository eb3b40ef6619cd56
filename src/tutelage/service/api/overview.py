"""A live campaign as JSON: what it is, where it stands, and every number of its state."""

from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.rebuilding import Disagreement, as_committed
from tutelage.service.campaigns.session import Session
from tutelage.service.display import insert_arm_names
from tutelage.stores.base import CampaignNotFound, Reader


def summary(session: Session) -> dict[str, Any]:
    """What it is and where it stands."""
    settings, campaign = session.settings, session.campaign
    target = campaign.target if campaign else None
    return {
        "name": session.name,
        "status": session.status,
        "teacher": settings.teacher,
        "horizon": settings.horizon,
        "low": settings.low,
        "high": settings.high,
        "seed": settings.seed,
        "open_registration": settings.open_registration,
        "weights": settings.weights,
        "arms": settings.arms,
        "clients": tuple(session.clients),
        "excluded": [session.clients[number] for number in campaign.excluded] if campaign else [],
        "num_pulls": int(campaign.pulls.sum()) if campaign else 0,
        "round": campaign.round if campaign else 0,
        "beyond_horizon": campaign.beyond_horizon if campaign else 0,
        "directive": 1 + campaign.consultations if campaign else 1,
        "cost": campaign.cost if campaign else 0.0,
        "state": insert_arm_names(campaign.report().sentence, settings.arms) if campaign else "has not started",
        "active_arms": [settings.arms[arm] for arm in campaign.directive.active_arms] if campaign else [],
        "target": None if target is None else settings.arms[target],
        "position": session.position,
    }


def kept_summary(reader: Reader, name: str) -> dict[str, Any]:
    """The summary from the store alone: nobody need lead the campaign.

    Of a campaign that cannot be served, ``state`` says why.  Raises ``CampaignNotFound``.
    """
    stored, snapshot = reader.load(name)
    try:
        return summary(as_committed(reader, stored, snapshot))
    except CampaignNotFound:  # deleted a moment ago
        raise
    except (Disagreement, InputError, msgspec.MsgspecError) as error:
        found: dict[str, Any] = msgspec.json.decode(stored.settings)
        found |= {
            "excluded": [],
            "num_pulls": 0,
            "round": 0,
            "directive": 1,
            "cost": 0.0,
            "beyond_horizon": 0,
        }
        found |= {"state": f"cannot be served: {error}", "active_arms": [], "target": None}
        return found | {"status": stored.head.status, "position": stored.head.position}


def state(session: Session) -> dict[str, Any]:
    """The numbers, as [M, K] lists in the order of clients and arms; sums are in units of [0, 1]."""
    campaign = session.begun
    quota = campaign.directive.quota
    return {
        "name": session.name,
        "position": session.position,
        "step": session.step,
        "clients": tuple(session.clients),
        "arms": session.settings.arms,
        "rounds": list(campaign.rounds),
        "beyond_horizon": campaign.beyond_horizon,
        "pulls": campaign.pulls.tolist(),
        "observed": [list(client.observed) for client in campaign.clients],
        "revealed": [list(client.revealed) for client in campaign.clients],
        "costs": [client.cost for client in campaign.clients],
        "quota": None if quota is None else {"counts": list(quota.counts), "mode": quota.mode},
        "teacher": session.state,
    }
