"""Settings, each declared once, as a field of a frozen dataclass.

    port: int = setting(8321, minimum=0, maximum=65_535, metavar="PORT", help="Port to listen on.")

From this come the option of ``tutelage serve`` (``--port``), the environment variable (``TUTELAGE_PORT``),
the line of ``tutelage.toml`` (``port = 8321``), the check of a value from any of them, and the row of the
settings table in docs/operating.md.
"""

import dataclasses
import math
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

_KEY = "setting"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting: its name, the values that it allows, and what people read about it.

    ``type`` is ``str``, ``int``, ``float``, ``bool`` or a ``Literal`` of words; ``default`` is None where the
    setting need not be given.  ``minimum`` and ``maximum`` are allowed, ``above`` itself is not.  ``check``
    gets a value of the right type and returns the one to use, or raises ``ValueError`` with what is allowed.
    """

    name: str
    type: Any
    default: Any
    help: str
    metavar: str
    minimum: float | None
    above: float | None
    maximum: float | None
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
        """The default as one writes it in an option; empty where there is none."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "" if self.default is None else str(self.default).removesuffix(".0")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, where only some are."""
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    @property
    def allowed(self) -> str:
        """Describe the allowed values, as in "a whole number from 0 to 65535"."""
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        noun = {int: "a whole number", float: "a number", bool: "true or false"}.get(self.type, "text")
        joined = f"of {self.range}" if self.range.startswith("at") else self.range
        return f"{noun} {joined}".rstrip()

    @property
    def range(self) -> str:
        """Describe the range of a number, as in "from 0 to 65535"; empty if it has none."""
        if self.minimum is not None and self.maximum is not None:
            return f"from {self.minimum} to {self.maximum}"
        bounds = (("at least", self.minimum), ("greater than", self.above), ("at most", self.maximum))
        return " and ".join(f"{words} {bound}" for words, bound in bounds if bound is not None)

    def convert(self, value: Any) -> Any:
        """Check a value from an option, a variable or a file, and return it in the setting's type.

        Text is read as a number, true or false where the setting is one.  Raises ``ValueError`` with what is
        allowed.
        """
        try:
            found = msgspec.convert(value, self.type, strict=not isinstance(value, str))
        except msgspec.ValidationError:
            raise ValueError(self.allowed) from None
        if isinstance(found, int | float) and not self._is_in_range(found):
            raise ValueError(self.allowed)
        return found if self.check is None else self.check(found)

    def _is_in_range(self, number: float) -> bool:
        return (
            math.isfinite(number)
            and (self.minimum is None or number >= self.minimum)
            and (self.above is None or number > self.above)
            and (self.maximum is None or number <= self.maximum)
        )


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
    described = {
        "help": help,
        "metavar": metavar,
        "minimum": minimum,
        "above": above,
        "maximum": maximum,
        "check": check,
    }
    return dataclasses.field(default=default, metadata={_KEY: described})


def settings_of(cls: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares or inherits, by name, in order."""
    hints = typing.get_type_hints(cls)
    return {
        field.name: Setting(
            name=field.name,
            type=_without_none(hints[field.name]),
            default=field.default,
            **field.metadata[_KEY],
        )
        for field in dataclasses.fields(cls)
    }


def _without_none(hint: Any) -> Any:
    """``str`` for ``str | None``."""
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    return members[0] if type(None) in typing.get_args(hint) else hint
