"""Import matplotlib in spite of faulty user settings.

Matplotlib reads the settings at its first import and fails on an unknown backend or a file that is not UTF-8.
Figures here use this package's own style and no screen backend.
"""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

from tutelage.errors import InputError
from tutelage.paths import has_writable_home, make_private_folder

_SETTINGS = ("MPLBACKEND", "MATPLOTLIBRC")


@contextlib.contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """Silence matplotlib's messages on fonts, caches and settings; a glyph that no font has becomes a box."""
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
    if not os.environ.get("MPLCONFIGDIR") and not has_writable_home("XDG_CONFIG_HOME", ".config"):
        os.environ["MPLCONFIGDIR"] = str(make_private_folder() / "matplotlib")
    with quiet_matplotlib():
        try:
            import matplotlib.font_manager
            import matplotlib.style  # noqa: F401
        except (ValueError, TypeError):
            _load_without_settings()


def _load_without_settings() -> None:
    """Import it without the settings that the environment names; matplotlib then looks in its last place."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        del sys.modules[name]  # parts of the failed import, which refer to each other
    removed = {name: os.environ.pop(name) for name in _SETTINGS if name in os.environ}
    try:
        import matplotlib.font_manager
        import matplotlib.style  # noqa: F401
    except (ValueError, TypeError) as error:
        raise InputError(
            f"matplotlib cannot read its settings ({error}): correct or remove the file matplotlibrc in the "
            "current folder or in matplotlib's configuration folder."
        ) from None
    finally:
        os.environ.update(removed)
