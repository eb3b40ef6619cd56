"""Matplotlib without what a user's settings could do to it.

It reads them when it is first imported and fails on a backend that there is none of or a file that is not
UTF-8.  Figures here are drawn by this package's own style and without any backend of a screen.
"""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

from tutelage.errors import InputError

_SETTINGS = ("MPLBACKEND", "MATPLOTLIBRC")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within, matplotlib tells nothing of fonts, caches and settings; a glyph that no font has is a box."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            yield
    finally:
        logger.setLevel(level)


def load_matplotlib() -> None:
    """Import matplotlib; raises ``InputError`` where a settings file that must be read cannot be."""
    with quiet():
        try:
            import matplotlib.font_manager
            import matplotlib.style  # noqa: F401
        except (ValueError, TypeError):
            _load_without_settings()


def _load_without_settings() -> None:
    """The same as if the user had named none; what is then read is where matplotlib looks at last."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        del sys.modules[name]  # parts of the import that failed; they know each other, not the next one
    kept = {name: os.environ.pop(name) for name in _SETTINGS if name in os.environ}
    try:
        import matplotlib.font_manager
        import matplotlib.style  # noqa: F401
    except (ValueError, TypeError) as error:
        raise InputError(
            f"Nothing can be drawn, since matplotlib cannot read its settings ({error}): mend or remove the "
            "file matplotlibrc in this folder or in its own."
        ) from None
    finally:
        os.environ.update(kept)
