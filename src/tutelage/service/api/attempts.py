"""How often somebody may try a key in the form: so many times a minute from one address, and from all."""

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable

SECONDS = 60.0
MOST_OF_ONE, MOST_OF_ALL = 5, 100


class Attempts:
    """The attempts of the last minute, at most ``MOST_OF_ALL`` of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: deque[tuple[float, str]] = deque()

    def wait(self, address: str) -> int:
        """Seconds until this address may try; 0 if it may now, and that counts as an attempt."""
        now, place = self._clock(), _place(address)
        while self._made and now - self._made[0][0] >= SECONDS:
            self._made.popleft()
        own = [when for when, where in self._made if where == place]
        first = own[0] if len(own) >= MOST_OF_ONE else None
        if len(self._made) >= MOST_OF_ALL:
            first = max(self._made[0][0], first or -math.inf)
        if first is not None:
            return max(1, math.ceil(first + SECONDS - now))
        self._made.append((now, place))
        return 0

    def take_back(self, address: str) -> None:
        """The last attempt of this address was a good key: whoever signs in is not guessing."""
        place = _place(address)
        last = next(made for made in reversed(self._made) if made[1] == place)
        self._made.remove(last)


def _place(address: str) -> str:
    """The address; of IPv6 the network, of which one person has all."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
