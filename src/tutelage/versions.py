"""Versions of this and other installed packages."""

from importlib import metadata


def package_version(package: str = "tutelage") -> str:
    """Return the version of an installed package, or ``unknown`` if it runs from a folder uninstalled."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
