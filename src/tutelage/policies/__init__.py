"""How a client picks an arm: an open set.  A new policy is one file here and one line below."""

from tutelage.registry import Table

POLICIES = Table(
    kind="policy",
    plural="policies",
    entries={
        "ucb1": "tutelage.policies.ucb1:UCB1",
        "eps-greedy": "tutelage.policies.epsilon_greedy:EpsilonGreedy",
        "ts": "tutelage.policies.thompson:ThompsonSampling",
    },
    needs=("choose", "learn", "state_size", "parameters"),
)
