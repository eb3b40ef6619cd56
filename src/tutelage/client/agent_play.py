"""Play an agent, an object with the methods ``select`` and ``update``, as a client of a live campaign."""

import inspect
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tutelage.client.async_client import AsyncClient
from tutelage.client.blocking_wrapper import Client


def play(
    client: Client,
    name: str,
    agent: Any,
    arms: Sequence[str],
    pull: Callable[[str], float],
    *,
    rounds: int,
    scale: tuple[float, float] = (0.0, 1.0),
) -> Counter[str]:
    """Let an agent play so many rounds as the campaign's client ``name``, and return its pulls of each arm.

    ``agent`` has the methods ``select`` and ``update``; ``tutelage.agents.adapt`` makes one of an object of another
    library.  ``arms`` are the campaign's arms in the order of the agent's numbers.  ``pull(arm)`` pulls an arm and
    returns the observed reward.  The agent sees the revealed reward as a share of the range ``scale``, which should
    be the campaign's.  Raises what :meth:`Client.reveal` raises, and ``IndexError`` for what is not the number
    of an arm.
    """
    pulls = Counter[str]()
    for _ in range(rounds):
        number = _read_arm(agent.select(), len(arms))
        arm = arms[number]
        agent.update(number, _scaled(client.reveal(name, arm, pull(arm)).reward, scale))
        pulls[arm] += 1
    return pulls


async def play_async(
    client: AsyncClient,
    name: str,
    agent: Any,
    arms: Sequence[str],
    pull: Callable[[str], Any],
    *,
    rounds: int,
    scale: tuple[float, float] = (0.0, 1.0),
) -> Counter[str]:
    """Do the same with an :class:`AsyncClient`; ``pull`` may be a coroutine function."""
    pulls = Counter[str]()
    for _ in range(rounds):
        number = _read_arm(agent.select(), len(arms))
        arm = arms[number]
        observed = pull(arm)
        if inspect.isawaitable(observed):
            observed = await observed
        agent.update(number, _scaled((await client.reveal(name, arm, observed)).reward, scale))
        pulls[arm] += 1
    return pulls


def _read_arm(chosen: Any, num_arms: int) -> int:
    """Return the arm that an agent selected, a whole number of Python or numpy; ``True`` and 1.0 are not arms."""
    try:
        number = -1 if isinstance(chosen, bool) else operator.index(chosen)
    except TypeError:
        number = -1
    if not 0 <= number < num_arms:
        raise IndexError(f"The agent selected {chosen!r}, but arms are the whole numbers 0 to {num_arms - 1}.")
    return number


def _scaled(reward: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return (reward - low) / (high - low)
