"""The rules of policies and teachers as classes of pytest tests."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from tutelage.testing.contract_rules import ContractRule, ContractRules, RuleNotApplicable
from tutelage.testing.policies import POLICY_RULES
from tutelage.testing.teachers import TEACHER_RULES

Suite = TypeVar("Suite", bound=type)


def _add_tests(rules: ContractRules) -> Callable[[Suite], Suite]:
    """Give a class one test method for each rule, ``test_`` and its name."""

    def add(cls: Suite) -> Suite:
        for rule in rules.rules:
            setattr(cls, f"test_{rule.name}", _make_test(rule))
        return cls

    return add


def _make_test(rule: ContractRule) -> Callable[..., None]:
    def test(self: Any, spec: str, case: dict[str, Any]) -> None:
        try:
            rule.check(spec, **case)
        except RuleNotApplicable as reason:
            pytest.skip(str(reason))

    test.__doc__ = rule.check.__doc__
    ids = ["-".join(map(repr, case.values())) for case in rule.cases]
    marked: Callable[..., None] = pytest.mark.parametrize("case", rule.cases, ids=ids)(test)
    return marked


@_add_tests(POLICY_RULES)
class PolicyContract:
    """What every policy keeps to.  A subclass gives the fixture ``spec``: the SPEC of a policy."""

    @pytest.fixture
    def spec(self) -> str:
        """Return the SPEC of the policy under test."""
        raise NotImplementedError("define a fixture `spec` that returns the SPEC of your policy")


@_add_tests(TEACHER_RULES)
class TeacherContract:
    """What every teacher keeps to.  A subclass gives the fixture ``spec``: the SPEC of a teacher."""

    @pytest.fixture
    def spec(self) -> str:
        """Return the SPEC of the teacher under test."""
        raise NotImplementedError("define a fixture `spec` that returns the SPEC of your teacher")
