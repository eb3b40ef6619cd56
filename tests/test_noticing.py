"""Whether clients could notice that they are taught."""

import numpy as np
import pytest
from scipy import stats

from tests import reference
from tests.simulated_run import simulate_once
from tutelage import simulator
from tutelage.instances import load
from tutelage.noticing import LEVEL, Noticing, compare_halves
from tutelage.policies import POLICIES
from tutelage.results import summarize_noticing
from tutelage.revealed_rewards import add_revealed_reward, new_revealed_rewards
from tutelage.run_outcome import count_messages
from tutelage.teachers import TEACHERS


def watch(rewards, num_arms=1):
    """The round in which a client with these rewards of one arm notices."""
    seen, noticing = new_revealed_rewards(num_arms), Noticing(np.zeros(num_arms), np.zeros(1, dtype=np.int64))
    for round, reward in enumerate(rewards, start=1):
        add_revealed_reward(seen, 0, reward)
        compare_halves(0, round, seen, noticing)
    return int(noticing.noticed_in[0])


@pytest.mark.parametrize("num_arms", [1, 5, 50])
def test_a_change_from_one_to_zero_is_noticed_as_soon_as_the_bound_allows(num_arms):
    """With d = 1 in the first comparison whose bound is at most half of its rewards; a constant never."""
    powers = (i for i in range(1, 20) if 2 ** (i - 1) >= np.log(2 * num_arms * i * (i + 1) / LEVEL))
    half = 2 ** (next(powers) - 1)
    assert watch([1.0] * half + [0.0] * half, num_arms) == 2 * half
    assert watch([1.0] * (half // 2) + [0.0] * (half // 2), num_arms) == 0
    assert watch([0.3] * 4 * half, num_arms) == 0


def test_errors_of_all_comparisons_sum_to_the_level():
    """Hoeffding's bound for each comparison and arm, summed over all powers of 2 and the arms."""
    powers, num_arms = np.arange(1, 10**6), 5
    bound = np.log(2 * num_arms * powers * (powers + 1) / LEVEL)
    assert num_arms * (2 * np.exp(-bound)).sum() == pytest.approx(LEVEL, rel=2e-6)


def test_clients_that_are_not_taught_notice_nothing():
    """Of 100,000 series of coin tosses, the worst case of the bound, fewer than LEVEL raise an alarm."""
    tosses = np.random.default_rng(1).random((100_000, 256)) < 0.5
    alarm = np.zeros(len(tosses), dtype=bool)
    for power in range(1, 9):
        half = 2 ** (power - 1)
        difference = tosses[:, half : 2 * half].mean(axis=1) - tosses[:, :half].mean(axis=1)
        alarm |= half * difference**2 >= np.log(2 * power * (power + 1) / LEVEL)
    assert alarm.sum() < stats.binom.ppf(1e-6, len(alarm), LEVEL)
    assert [watch(row) > 0 for row in tosses[:200].astype(float)] == alarm[:200].tolist()


@pytest.mark.parametrize("spec", ["twl", "known", "blt"])
def test_engine_equals_a_client_that_keeps_everything(spec):
    """The compiled test of a taught run is that of every revealed reward."""
    policies = [POLICIES.parse("ucb1")] * 5
    outcome = simulate_once(load("paper"), policies, TEACHERS.parse(spec), horizon=3000, trace=True)
    clients = zip(outcome.trace.arms.tolist(), outcome.trace.revealed.tolist(), strict=True)
    assert outcome.noticed_in.tolist() == [reference.first_noticed(*client, 5) for client in clients]
    assert (outcome.noticed_in > 0).any() == (spec == "blt")  # TWL is still learning, and reveals 1


def test_results_have_all_three_figures():
    """In arrays, in the dataset and in the document; a teacher that changes nothing is not noticed."""
    request = simulator.make_request("paper", ["blt", "none"], horizon=2000, runs=2, checkpoints=1)
    result = simulator.simulate_request(request)
    data, document = result.to_dataset(), result.summary()
    taught, untaught = document.teachers
    assert data["noticed_in"].dims == ("teacher", "run", "client")
    assert taught.noticed.share == float((data["noticed_in"].sel(teacher="blt") > 0).mean()) > 0.0
    assert (untaught.noticed.share, untaught.consultations, untaught.messages) == (0.0, 0.0, 5.0)
    assert taught.messages == 5 * (1 + 2 * taught.consultations)
    assert data["messages"].sel(teacher="blt").mean() == taught.messages
    excluded = simulator.make_request("paper", ["twl"], horizon=50, runs=1, exclude={0: 9})
    assert simulator.simulate_request(excluded).messages.tolist() == [[count_messages(5, 2, 0)]] == [[10]]


def test_shares_are_those_of_runs():
    """The interval is of the runs' shares; the median round that of the clients who notice."""
    found = summarize_noticing(np.array([[0, 4], [8, 6], [0, 0]]))
    assert (found.share, found.median_round) == (0.5, 6.0)
    low, high = stats.ttest_1samp([0.5, 1.0, 0.0], 0.0).confidence_interval()
    assert found.interval == (pytest.approx(low), pytest.approx(high))
    assert summarize_noticing(np.zeros((1, 2), dtype=int)).median_round is None
    assert summarize_noticing(np.zeros((1, 2), dtype=int)).interval is None
