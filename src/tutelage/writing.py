"""Files are written whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file beside its place and move it there when complete.

    So a reader never sees half of it, and an earlier file survives a failure.  Raises ``OSError`` with a
    sentence if writing fails on the way (a full disk).
    """
    unfinished = path.with_name(f".tutelage-{secrets.token_hex(8)}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)
