"""Every policy of the table passes the conformance suite."""

import pytest

from tutelage.policies import POLICIES
from tutelage.testing import PolicyContract

VARIANTS = ["eps-greedy(c=5,d=0.5)", "eps-greedy(c=0)", "ts(update=fractional)"]


class TestPolicies(PolicyContract):
    """The table's policies with their defaults, and some with other parameters."""

    @pytest.fixture(params=[*POLICIES, *VARIANTS])
    def spec(self, request):
        """The SPEC of each policy."""
        return request.param
