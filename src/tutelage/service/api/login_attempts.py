"""A limit on how often keys may be tried in the login form, per address and in total."""

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable

PERIOD_SECONDS = 60.0
MAX_PER_ADDRESS, MAX_IN_TOTAL = 5, 100


class LoginAttempts:
    """The attempts of the last minute, at most ``MAX_IN_TOTAL`` of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._attempts: deque[tuple[float, str]] = deque()

    def register(self, address: str) -> int:
        """Count an attempt and return 0; if it is not allowed yet, return the seconds to wait."""
        now, network = self._clock(), _network_of(address)
        while self._attempts and now - self._attempts[0][0] >= PERIOD_SECONDS:
            self._attempts.popleft()
        own = [time for time, other in self._attempts if other == network]
        first = own[0] if len(own) >= MAX_PER_ADDRESS else None
        if len(self._attempts) >= MAX_IN_TOTAL:
            first = max(self._attempts[0][0], first or -math.inf)
        if first is not None:
            return max(1, math.ceil(first + PERIOD_SECONDS - now))
        self._attempts.append((now, network))
        return 0

    def forget_last(self, address: str) -> None:
        """Remove the last attempt of this address, which had a valid key."""
        network = _network_of(address)
        last = next(attempt for attempt in reversed(self._attempts) if attempt[1] == network)
        self._attempts.remove(last)


def _network_of(address: str) -> str:
    """Return the address; for IPv6 its /64 network, since one user commonly has all of it."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
