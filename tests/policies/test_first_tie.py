"""UCB1 with the first of tied arms against its transcription."""

from tests.policies import reference_policies as plain

from tutelage.policies.first_tie import FirstTie, choose


def test_engine_equals_transcription():
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like("first-tie", plain.FirstTie)


def test_constant_rewards_are_pulled_in_order():
    """Where all arms give the same, every client pulls 0, 1, 2, 0, 1, 2, ... and draws nothing."""
    learner = plain.new_learner(FirstTie(), [0, 0, 0], [0.0, 0.0, 0.0])
    arms = []
    for round in range(1, 31):
        arms.append(choose(round, learner, (), None))
        learner.counts[arms[-1]] += 1
        learner.means[arms[-1]] = 0.1
    assert arms == [0, 1, 2] * 10
