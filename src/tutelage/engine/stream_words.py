"""The words of a row of SFC64, as compiled code and ``stream_seeds.py`` draw them."""

from typing import Any

import numpy as np


def next_uint64(stream: Any) -> Any:
    """Draw the next 64 bits of a row of SFC64 words (Doty-Humphrey's small fast chaotic generator)."""
    a, b, c, count = stream[0], stream[1], stream[2], stream[3]
    bits = a + b + count
    stream[0] = b ^ (b >> np.uint64(11))
    stream[1] = c + (c << np.uint64(3))
    stream[2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + bits
    stream[3] = count + np.uint64(1)
    return bits
