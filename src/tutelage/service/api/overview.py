"""A live campaign as JSON: what it is, where it stands, and every number of its state."""

from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.live import Live
from tutelage.service.campaigns.rebuilding import Disagreement, as_committed
from tutelage.service.display import with_names
from tutelage.stores.base import Missing, Reader


def summary(live: Live) -> dict[str, Any]:
    """What it is and where it stands."""
    settings, campaign = live.settings, live.campaign
    target = campaign.target if campaign else None
    return {
        "name": live.name,
        "status": live.status,
        "teacher": settings.teacher,
        "horizon": settings.horizon,
        "low": settings.low,
        "high": settings.high,
        "seed": settings.seed,
        "enrol": settings.enrol,
        "weights": settings.weights,
        "arms": settings.arms,
        "clients": tuple(live.clients),
        "retired": [live.clients[number] for number in campaign.retired] if campaign else [],
        "num_pulls": int(campaign.pulls.sum()) if campaign else 0,
        "round": campaign.round if campaign else 0,
        "beyond_horizon": campaign.beyond_horizon if campaign else 0,
        "epoch": 1 + campaign.consultations if campaign else 1,
        "cost": campaign.cost if campaign else 0.0,
        "state": with_names(campaign.report().sentence, settings.arms) if campaign else "has not started",
        "active_arms": [settings.arms[arm] for arm in campaign.directive.active_arms] if campaign else [],
        "target": None if target is None else settings.arms[target],
        "position": live.position,
    }


def kept_summary(reader: Reader, name: str) -> dict[str, Any]:
    """The summary from the store alone: nobody need lead the campaign.

    Of a campaign that cannot be served, ``state`` says why.  Raises ``Missing``.
    """
    stored, snapshot = reader.load(name)
    try:
        return summary(as_committed(reader, stored, snapshot))
    except Missing:  # deleted a moment ago
        raise
    except (Disagreement, InputError, msgspec.MsgspecError) as error:
        found: dict[str, Any] = msgspec.json.decode(stored.settings)
        found |= {"retired": [], "num_pulls": 0, "round": 0, "epoch": 1, "cost": 0.0, "beyond_horizon": 0}
        found |= {"state": f"cannot be served: {error}", "active_arms": [], "target": None}
        return found | {"status": stored.head.status, "position": stored.head.position}


def state(live: Live) -> dict[str, Any]:
    """The numbers, as [M, K] lists in the order of clients and arms; sums are in units of [0, 1]."""
    campaign = live.begun
    quota = campaign.directive.quota
    return {
        "name": live.name,
        "position": live.position,
        "step": live.step,
        "clients": tuple(live.clients),
        "arms": live.settings.arms,
        "rounds": list(campaign.rounds),
        "beyond_horizon": campaign.beyond_horizon,
        "pulls": campaign.pulls.tolist(),
        "observed": [list(client.observed) for client in campaign.clients],
        "revealed": [list(client.revealed) for client in campaign.clients],
        "costs": [client.cost for client in campaign.clients],
        "quota": None if quota is None else {"counts": list(quota.counts), "mode": quota.mode},
        "teacher": live.state,
    }
