"""What a shell suggests for values: names of campaigns, teachers, policies and instances.

A suggestion is a convenience: whatever goes wrong, and whatever takes longer than a second, suggests nothing.
"""

import contextlib
import os

import typer

_SECONDS = 1.0  # for the server to list its campaigns


def complete_campaign(ctx: typer.Context, incomplete: str) -> list[str]:
    """Suggest the campaigns of the server that the command line names."""
    names: list[str] = []
    with contextlib.suppress(Exception):
        import httpx

        from tutelage.client.connections import connection_options
        from tutelage.service.configuration import load_setting

        address, key = load_setting("server", ctx.params.get("server")), os.environ.get("TUTELAGE_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        listing = httpx.get(
            f"{address.rstrip('/')}/v1/campaigns", headers=headers, timeout=_SECONDS, **connection_options(address)
        )
        names = [one["name"] for one in listing.json()["campaigns"]]
    return _select(names, incomplete)


def complete_stored_campaign(ctx: typer.Context, incomplete: str) -> list[str]:
    """Suggest the campaigns of the store that the command line names."""
    names: list[str] = []
    with contextlib.suppress(Exception):
        from tutelage.service.configuration import load_setting
        from tutelage.stores import open_reader

        url = load_setting("store", ctx.params.get("store"), file=ctx.params.get("config"))
        with contextlib.closing(open_reader(url)) as reader:
            names = [one.name for one in reader.campaigns()]
    return _select(names, incomplete)


def complete_teacher(incomplete: str) -> list[str]:
    """Suggest the teachers of the table."""
    from tutelage.teachers import TEACHERS

    return _select(TEACHERS.entries, incomplete)


def complete_policies(incomplete: str) -> list[str]:
    """Suggest policies, also after a comma or a star as in ``2*ucb1,``."""
    from tutelage.policies import POLICIES

    start = 1 + max(incomplete.rfind(","), incomplete.rfind("*"))
    return [incomplete[:start] + name for name in _select(POLICIES.entries, incomplete[start:])]


def complete_instance(incomplete: str) -> list[str]:
    """Suggest the instances of the table."""
    from tutelage.instances import INSTANCES

    return _select(INSTANCES.entries, incomplete)


def _select(names: "list[str] | dict[str, str]", incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
