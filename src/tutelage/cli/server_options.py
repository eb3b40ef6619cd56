"""Options and arguments that commands of the live server share: its settings, and the campaigns that it has.

They are not in ``options.py`` because the settings import much that a simulation does not need.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tutelage.cli.completion import complete_campaign, complete_stored_campaign
from tutelage.cli.options import argument, option
from tutelage.errors import InputError, RefusalError
from tutelage.service.configuration import SETTINGS, load_setting
from tutelage.service.settings_field import Setting
from tutelage.text import name_place


def setting_option(setting: Setting) -> Any:
    """Return the command-line option of a setting, whose help comes from the setting's declaration."""
    name = setting.option
    if setting.type is bool:
        name = f"{name}/--no-{name.removeprefix('--')}"
    default = f"default: {setting.shown_default}" if setting.shown_default else ""
    facts = "; ".join(filter(None, (default, setting.bounds.describe())))
    help = f"{setting.help}  [{facts}]" if facts else setting.help
    return typer.Option(name, metavar=setting.metavar or None, help=help, show_default=False)


def setting_options(settings: Iterable[Setting]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option per setting; the command gets them as keywords, None where not given."""
    options = [
        inspect.Parameter(
            setting.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[(bool if setting.type is bool else str) | None, setting_option(setting)],
        )
        for setting in settings
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in inspect.signature(command).parameters.values()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        command.__signature__ = inspect.Signature([*options, *own])  # type: ignore[attr-defined]
        return command

    return decorate


@contextlib.contextmanager
def store_url(store: str | None, config: Path | None) -> Iterator[str]:
    """Give the URL of the store in force, and report errors of the store as refusals.

    Commands that an error advises name the store, unless it is the default one.
    """
    from tutelage.stores.base import StoreError

    url = load_setting("store", store, file=config)
    try:
        yield url
    except (InputError, StoreError) as error:
        sentence = name_place(str(error), "db|key|ledger", "--store", shown_place("store", url))
        if isinstance(error, StoreError):
            raise RefusalError(sentence) from error
        error.args = (sentence,)
        raise


def shown_place(setting: str, place: str) -> str:
    """Return the address of a server or store for a command to show; empty if it is the default one."""
    from tutelage.stores.address import without_password

    return "" if place == SETTINGS[setting].default else without_password(place)


_CAMPAIGN_HELP = "Name of the campaign."
CampaignOfServer = Annotated[str, argument("NAME", _CAMPAIGN_HELP, autocompletion=complete_campaign)]
StoredCampaign = Annotated[str, argument("NAME", _CAMPAIGN_HELP, autocompletion=complete_stored_campaign)]
StoreUrl = Annotated[str | None, setting_option(SETTINGS["store"])]
Server = Annotated[str | None, setting_option(SETTINGS["server"])]
ConfigFile = Annotated[
    Path | None, option("FILE", "TOML file with the server's settings.", "--config", show_default="tutelage.toml")
]
