"""Reward distributions: how rewards are drawn around their means.

A new distribution is one file here and one line below.
"""

from tutelage.distributions.base import RewardDistribution
from tutelage.registry import Table

DISTRIBUTIONS = Table[RewardDistribution](
    kind="reward distribution",
    plural="reward distributions",
    entries={
        "bernoulli": "tutelage.distributions.bernoulli:Bernoulli",
        "beta": "tutelage.distributions.beta:Beta",
        "empirical": "tutelage.distributions.empirical:Empirical",
        "constant": "tutelage.distributions.constant:Constant",
        "correlated": "tutelage.distributions.correlated:Correlated",
        "gaussian": "tutelage.distributions.gaussian:Gaussian",
    },
    needs=("draw", "needs_samples", "parameters"),
)


def parse_distribution(spec: str) -> RewardDistribution:
    """The distribution that a SPEC names; the first value needs no key: ``beta(20)``."""
    name, parenthesis, inside = spec.strip().partition("(")
    value = inside.rstrip().removesuffix(")").partition(",")[0].strip()
    if parenthesis and value and "=" not in value and name.strip() in DISTRIBUTIONS.entries:
        known = DISTRIBUTIONS.parameters(name.strip())
        if known:
            spec = f"{name}({known[0].name}={inside}"
    return DISTRIBUTIONS.parse(spec)
