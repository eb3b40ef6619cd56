"""Every teacher of the table passes the conformance suite, and so does one made for tests."""

import pytest

from tutelage.teachers import TEACHERS
from tutelage.testing import TeacherContract

VARIANTS = ["tal(gamma1=0)", "tal(gamma1=0.3,gamma2=0.2)", "twl(gamma1=0)", "twl(gamma1=0.1,gamma2=0.05)"]


class TestTeachers(TeacherContract):
    """The table's teachers with their defaults, and some with other parameters."""

    @pytest.fixture(params=[*TEACHERS, *VARIANTS, "known(target=0)"])
    def spec(self, request):
        """The SPEC of each teacher."""
        return request.param


class TestLadder(TeacherContract):
    """A teacher that uses everything that the contract offers."""

    @pytest.fixture(params=[f"tests.contracts.ladder:Ladder(mode={mode})" for mode in ("any", "all")])
    def spec(self, request):
        """Its SPEC for both kinds of quota."""
        return request.param
