"""Warnings about a new campaign: settings with which it cannot end, judged by the best case.

In the best case one arm always gives the highest reward, all others give the lowest, and every client pulls all
arms in turn.  If even then there is no decision before the horizon, rewards are adjusted to no effect.
"""

import dataclasses
from collections.abc import Sequence

from tutelage.service.campaigns.campaign import Campaign
from tutelage.service.campaigns.settings import MOST_HORIZON, Settings

MOST_PULLS = 100_000  # of a best case: about a second; one that takes longer is not judged
_MOST_DOUBLINGS = 12  # of the horizon, in search of one that is long enough


def find_warnings(settings: Settings, clients: Sequence[str]) -> list[str]:
    """Return a sentence for each reason why a campaign with these clients cannot do what it is for.

    Without clients, who may register later, only the arms are judged.
    """
    if len(settings.arms) == 1:
        return ["The campaign has only one arm, so there is nothing to learn: name at least two."]
    if not clients or not _cannot_end(settings, clients):
        return []
    sentence = (
        f"{settings.teacher} cannot decide within the horizon, {settings.horizon:,}, even if one arm always gives the "
        "highest reward and all others the lowest: rewards would be adjusted to no effect."
    )
    needed = _find_needed_round(settings, clients)
    if needed is not None:
        sentence += f" Use a horizon of at least {needed:,}; `tutelage plan` computes what a smaller gap needs."
    return [sentence]


def _cannot_end(settings: Settings, clients: Sequence[str]) -> bool:
    campaign = Campaign(settings.setup(clients))
    if not campaign.report().reachable:
        return True
    if campaign.target is not None or campaign.directive.quota is None:
        return False  # it has decided, or never will and does not try
    is_long = settings.horizon * len(clients) > MOST_PULLS
    return not is_long and _play(settings, clients) is None


def _find_needed_round(settings: Settings, clients: Sequence[str]) -> int | None:
    """Return the round of the best case's decision with the next longer horizon that has one; None if unknown."""
    if len(settings.arms) * len(clients) > MOST_PULLS:
        return None  # the clients could not even pull each arm once
    for doublings in range(1, _MOST_DOUBLINGS + 1):
        horizon = settings.horizon * 2**doublings
        if horizon > MOST_HORIZON:
            return None
        longer = dataclasses.replace(settings, horizon=horizon)
        if Campaign(longer.setup(clients)).report().reachable and (round := _play(longer, clients)) is not None:
            return round
    return None


def _play(settings: Settings, clients: Sequence[str]) -> int | None:
    """Return the round of the best case's decision; None without one before the horizon or ``MOST_PULLS``."""
    campaign, numbers = Campaign(settings.setup(clients)), range(len(clients))
    num_arms = len(settings.arms)
    for round in range(1, min(settings.horizon, MOST_PULLS // len(clients)) + 1):
        arms = [(round + number) % num_arms for number in numbers]
        rewards = [settings.high if arm == 0 else settings.low for arm in arms]
        campaign.step(numbers, arms, rewards, [False] * len(numbers))
        if campaign.target is not None:
            return round
    return None
