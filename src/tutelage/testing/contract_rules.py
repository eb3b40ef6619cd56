"""Rules of a contract: plain functions, which pytest suites and ``tutelage check`` call."""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tutelage.code_errors import describe_code_error
from tutelage.errors import InputError


class RuleViolation(AssertionError):
    """A rule of a contract is broken; the message is the end of a sentence that says how."""


class RuleNotApplicable(Exception):
    """A rule does not apply to this entry; the message says why."""


@dataclass(frozen=True)
class ContractRule:
    """A rule that every entry of a kind keeps to.

    ``check(spec, **case)`` raises :class:`RuleViolation` where the entry of a SPEC breaks the rule in a case.
    """

    name: str
    check: Callable[..., None]
    cases: tuple[dict[str, Any], ...]

    @property
    def sentence(self) -> str:
        """What the rule demands."""
        return (self.check.__doc__ or "").partition("\n")[0].replace("``", "")


@dataclass(frozen=True)
class RuleOutcome:
    """Whether an entry keeps to a rule: ``passed``, ``failed`` or ``skipped``, and a sentence that says why."""

    rule: str
    demand: str
    outcome: str
    reason: str = ""


class ContractRules:
    """The rules of one kind of entry, in the order of their definition."""

    def __init__(self) -> None:
        self.rules: list[ContractRule] = []

    def rule(self, **parts: list[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Add a function as a rule; it is called with every combination of the values of its arguments."""
        cases = tuple(dict(zip(parts, values, strict=True)) for values in itertools.product(*parts.values()))

        def add(check: Callable[..., None]) -> Callable[..., None]:
            self.rules.append(ContractRule(check.__name__, check, cases))
            return check

        return add

    def check(self, spec: str, entry: Any, progress: Callable[[float], None] | None = None) -> Iterator[RuleOutcome]:
        """Yield the outcome of every rule; ``progress`` is called with the number of rules that were checked."""
        for count, rule in enumerate(self.rules):
            outcome, reason = _apply(rule, spec, entry)
            if progress is not None:
                progress(count + 1)
            yield RuleOutcome(rule.name, rule.sentence, outcome, reason)


def _apply(rule: ContractRule, spec: str, entry: Any) -> tuple[str, str]:
    try:
        for case in rule.cases:
            rule.check(spec, **case)
    except RuleNotApplicable as reason:
        return "skipped", f"{reason}."
    except (RuleViolation, InputError) as error:
        return "failed", f"{str(error).rstrip('.')}."
    except Exception as error:  # noqa: BLE001 - the entry's own code runs
        return "failed", f"It raised {describe_code_error(error, entry)}."
    return "passed", ""


def require(condition: object, sentence: str) -> None:
    """Raise :class:`RuleViolation` with the sentence unless the condition holds."""
    if not condition:
        raise RuleViolation(sentence)


@contextlib.contextmanager
def require_input_error(what: str, pattern: str = "") -> Iterator[None]:
    """Require that the block raises ``InputError`` with a message that has the pattern in it."""
    try:
        yield
    except InputError as error:
        require(re.search(pattern, str(error)), f"The InputError for {what} does not name it: {error}")
    else:
        raise RuleViolation(f"{what[0].upper()}{what[1:]} was not refused with an InputError")
