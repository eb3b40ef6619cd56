"""The entries of this package pass Tutelage's conformance suites."""

import pytest

import tutelage
from tutelage.testing import PolicyContract, StoreContract, TeacherContract


class TestGreedy(PolicyContract):
    """The policy."""

    @pytest.fixture
    def spec(self):
        return "tutelage_example.policies:Greedy"


class TestExplore(TeacherContract):
    """The teacher, with two parameters."""

    @pytest.fixture(params=["tutelage_example.teachers:Explore", "tutelage_example.teachers:Explore(pulls=7)"])
    def spec(self, request):
        return request.param


class TestFolder(StoreContract):
    """The store."""

    @pytest.fixture
    def address(self, tmp_path):
        return f"tutelage_example.stores:FolderDatabase://{tmp_path}/store"


def test_source_and_distribution():
    """The instance source is simulated with the reward distribution."""
    source = "tutelage_example.instances:Ladder(arms=3,rewards='tutelage_example.distributions:Triangle(width=0.5)')"
    data = tutelage.simulate(source, "none", "ucb1", horizon=300, runs=2)
    assert data.sizes["arm"] == 3
