"""What can go wrong with standard output."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """What is printed within has left when this ends; ``OSError`` names standard output if it cannot."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", "Standard output") from error
