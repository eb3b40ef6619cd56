"""Policies: how a client picks its next arm.  A new policy is one file here and one line below."""

from tutelage.policies.base import Policy
from tutelage.registry import Table

POLICIES = Table[Policy](
    kind="policy",
    plural="policies",
    entries={
        "ucb1": "tutelage.policies.ucb1:UCB1",
        "eps-greedy": "tutelage.policies.epsilon_greedy:EpsilonGreedy",
        "ts": "tutelage.policies.thompson:ThompsonSampling",
        "ucb": "tutelage.policies.ucb:UCB",
        "ucb-tuned": "tutelage.policies.ucb_tuned:UCBTuned",
        "ucb-v": "tutelage.policies.ucb_v:UCBV",
        "moss": "tutelage.policies.moss:MOSS",
        "kl-ucb": "tutelage.policies.kl_ucb:KLUCB",
        "bayes-ucb": "tutelage.policies.bayes_ucb:BayesUCB",
        "gaussian-ts": "tutelage.policies.gaussian_thompson:GaussianThompsonSampling",
        "boltzmann": "tutelage.policies.boltzmann:Boltzmann",
        "boltzmann-gumbel": "tutelage.policies.boltzmann_gumbel:BoltzmannGumbel",
        "exp3": "tutelage.policies.exp3:Exp3",
        "exp3-ix": "tutelage.policies.exp3_ix:Exp3IX",
        "tsallis-inf": "tutelage.policies.tsallis_inf:TsallisINF",
        "eps-constant": "tutelage.policies.eps_constant:EpsilonConstant",
        "eps-first": "tutelage.policies.eps_first:EpsilonFirst",
        "first-tie": "tutelage.policies.first_tie:FirstTie",
        "sliding-window": "tutelage.policies.sliding_window:SlidingWindow",
    },
    needs=("choose", "learn", "state_size", "parameters"),
    unlisted={"agent": "tutelage.agents.agent_policy:AgentPolicy"},
)
