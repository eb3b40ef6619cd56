"""Versions of this and other installed packages, and the commit of this one."""

import functools
import json
import os
import subprocess
from pathlib import Path

_WHEELS = ("tutelage", "tutelage-server", "tutelage-client")  # one of which has this module


@functools.cache
def package_version(package: str = "tutelage") -> str:
    """Return the version of an installed package, or ``unknown`` if it runs from a folder uninstalled."""
    from importlib import metadata  # imports the parser of e-mails

    for name in _WHEELS if package == "tutelage" else (package,):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


@functools.cache
def source_commit() -> str:
    """Return the commit of this package's source, ``unknown`` if neither pip nor git knows it.

    It ends in ``-changed`` where files of the package differ from the commit.
    """
    from importlib import metadata

    try:
        origin = metadata.distribution("tutelage").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        origin = None
    commit = json.loads(origin or "{}").get("vcs_info", {}).get("commit_id")
    if commit:  # installed from a repository
        return str(commit)
    try:
        _ask_git("ls-files", "--error-unmatch", Path(__file__).name)  # fails in the repository of another project
        changed = _ask_git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return _ask_git("rev-parse", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.SubprocessError):  # no git, or no repository
        return "unknown"


def _ask_git(*arguments: str) -> str:
    """Return what git prints about the folder of this package."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(  # noqa: S603 - fixed arguments
        ["git", *arguments],  # noqa: S607 - as the user's shell finds it
        cwd=Path(__file__).parent,
        env={**own, "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    return done.stdout.strip()
