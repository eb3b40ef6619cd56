"""Arrays that other code may read but not write."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = TypeVar("Array", bound=NDArray[Any])


def read_only(array: Array) -> Array:
    """Return a view of the array through which it cannot be written."""
    view: Any = np.asarray(array).view()
    view.flags.writeable = False
    return view  # type: ignore[no-any-return]
