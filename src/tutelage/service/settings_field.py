"""Settings, each declared once, as a field of a frozen dataclass.

    port: int = setting(8321, minimum=0, maximum=65_535, metavar="PORT", help="Port to listen on.")

From this come the option of ``tutelage serve`` (``--port``), the environment variable (``TUTELAGE_PORT``),
the line of ``tutelage.toml`` (``port = 8321``), the check of a value from any of them, and the row of the
settings table in docs/operating.md.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tutelage.registry import Parameter, parameter, read_parameter
from tutelage.validation import read_whole


@dataclasses.dataclass(frozen=True)
class Setting(Parameter):
    """One setting: its name, the values that it allows, and what people read about it.

    ``type`` is ``str``, ``int``, ``float`` or ``bool``; a ``Literal`` of words gives ``str`` with ``choices``.
    ``default`` is None where the setting need not be given.  ``refine`` gets a value that is allowed and returns the
    one to use, or raises ``ValueError`` with what is allowed.
    """

    metavar: str = ""
    refine: Callable[[Any], Any] | None = None

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

    def convert(self, value: Any) -> Any:
        """Check a value from an option, a variable or a file, and return it in the setting's type.

        Text is read as a number, true or false where the setting is one.  Raises ``ValueError`` with what is
        allowed.
        """
        if self.type is int and isinstance(value, str):
            value = read_whole(value)
        try:
            found: Any = msgspec.convert(value, self.type, strict=not isinstance(value, str))
        except msgspec.ValidationError:
            raise ValueError(self.allowed) from None
        if not self.allows(found):
            raise ValueError(self.allowed)
        return found if self.refine is None else self.refine(found)


def setting(
    default: Any,
    *,
    help: str,
    metavar: str = "",
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    refine: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a dataclass field that is a setting (see :class:`Setting`)."""
    field = parameter(default, help=help, minimum=minimum, above=above, maximum=maximum)
    return dataclasses.field(default=default, metadata=field.metadata | {"metavar": metavar, "refine": refine})


def settings_of(cls: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares or inherits, by name, in order."""
    hints = typing.get_type_hints(cls)
    return {
        field.name: Setting(
            **vars(read_parameter(field, hints[field.name]))
            | {name: field.metadata[name] for name in ("help", "metavar", "refine")}
        )
        for field in dataclasses.fields(cls)
    }
