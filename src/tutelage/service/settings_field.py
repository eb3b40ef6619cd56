"""Settings, each declared once, as a field of a frozen dataclass.

    port: int = setting(8321, minimum=0, maximum=65_535, metavar="PORT", help="Port to listen on.")

From this come the option of ``tutelage serve`` (``--port``), the environment variable (``TUTELAGE_PORT``),
the line of ``tutelage.toml`` (``port = 8321``), the check of a value from any of them, and the row of the
settings table in docs/operating.md.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from tutelage.validation import Bounds, read_whole

_KEY = "setting"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting: its name, the values that it allows, and what people read about it.

    ``type`` is ``str``, ``int``, ``float``, ``bool`` or a ``Literal`` of words; ``default`` is None where the
    setting need not be given.  ``bounds`` are those of a number.  ``check`` gets a value of
    the right type and returns the one to use, or raises ``ValueError`` with what is allowed.
    """

    name: str
    type: Any
    default: Any
    help: str
    metavar: str
    bounds: Bounds
    check: Callable[[Any], Any] | None

    @property
    def option(self) -> str:
        """The command-line option, as in ``--tls-key``."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The environment variable, as in ``TUTELAGE_TLS_KEY``."""
        return f"TUTELAGE_{self.name.upper()}"

    @property
    def shown_default(self) -> str:
        """The default as one writes it in an option; empty without a default."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "" if self.default is None else str(self.default).removesuffix(".0")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, where only some are."""
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    @property
    def allowed(self) -> str:
        """Describe the allowed values, as in "a whole number in [0, 65535]"."""
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        nouns = {int: "a whole number", float: "a number", bool: "true or false"}
        return self.bounds.describe_allowed(nouns.get(self.type, "text"))

    def convert(self, value: Any) -> Any:
        """Check a value from an option, a variable or a file, and return it in the setting's type.

        Text is read as a number, true or false where the setting is one.  Raises ``ValueError`` with what is
        allowed.
        """
        if self.type is int and isinstance(value, str):
            value = read_whole(value)
        try:
            found = msgspec.convert(value, self.type, strict=not isinstance(value, str))
        except msgspec.ValidationError:
            raise ValueError(self.allowed) from None
        if isinstance(found, int | float) and not self.bounds.contains(found):
            raise ValueError(self.allowed)
        return found if self.check is None else self.check(found)


def setting(
    default: Any,
    *,
    help: str,
    metavar: str = "",
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    check: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a dataclass field that is a setting (see :class:`Setting`)."""
    described = {"help": help, "metavar": metavar, "bounds": Bounds(minimum, maximum, above), "check": check}
    return dataclasses.field(default=default, metadata={_KEY: described})


def settings_of(cls: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares or inherits, by name, in order."""
    hints = typing.get_type_hints(cls)
    return {
        field.name: Setting(
            name=field.name, type=_without_none(hints[field.name]), default=field.default, **field.metadata[_KEY]
        )
        for field in dataclasses.fields(cls)
    }


def _without_none(hint: Any) -> Any:
    """``str`` for ``str | None``."""
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    return members[0] if type(None) in typing.get_args(hint) else hint
