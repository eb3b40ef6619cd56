"""Which engine plays a request: the one that is asked for, or by its size (docs/decisions/0015-two-engines.md)."""

from typing import Literal

from tutelage.distributions import DISTRIBUTIONS
from tutelage.errors import InputError
from tutelage.policies.base import can_leap
from tutelage.request import LEAPS_FROM, Engine, SimulationRequest


def choose_engine(request: SimulationRequest, engine: Engine) -> Literal["step", "leap"]:
    """Return the engine to use; the choice for ``auto`` depends on the request only.  Raises ``InputError``."""
    is_short = request.instance.num_clients * request.horizon < LEAPS_FROM
    if engine == "step" or (engine == "auto" and (is_short or not may_leap(request))):
        return "step"
    if not may_leap(request):
        why = (
            " with binary reveals:"
            if request.binary_reveals
            else f": no policy does so with rewards={DISTRIBUTIONS.spec(request.instance.rewards)};"
        )
        raise InputError(f"No client can leap{why} use the engine auto or step.")
    return "leap"


def may_leap(request: SimulationRequest) -> bool:
    """Return whether any client of a request can leap."""
    return not request.binary_reveals and any(can_leap(each, request.instance.rewards) for each in request.policies)
