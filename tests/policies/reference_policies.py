"""Plain Python transcriptions of the policies, each from its paper's formula, and what their tests share.

Nothing of `tutelage.policies` is used.  `Arm` of tests/reference.py defines the mean.  Rewards and policies
draw from numpy's generators as the engine's streams do.
"""

import math
from dataclasses import dataclass

import numpy as np
from tests import reference
from tests.random_games import assert_equal, make_instance, run_engine
from tests.reference import Arm, pick_one
from tests.simulated_run import simulate_once

from tutelage.distributions import parse_distribution
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner
from tutelage.request import make_problem
from tutelage.teachers import TEACHERS

# ------------------------------------------------------------------------------------------------- clients


def best_of(rng, values):
    """One of the arms with the largest value."""
    highest = max(values)
    return pick_one(rng, [k for k, value in enumerate(values) if value == highest])


class Client:
    """Takes arms never pulled first, in random order, then what `pick` says."""

    make_arm = Arm

    def __init__(self, K):
        self.K, self.arms = K, [self.make_arm() for _ in range(K)]

    def choose(self, t, rng):
        unpulled = [k for k, arm in enumerate(self.arms) if arm.n == 0]
        if unpulled:
            return unpulled[int(rng.random() * len(unpulled))]
        return self.pick(t, rng)

    def pick(self, t, rng):
        raise NotImplementedError

    def learn(self, k, reward, rng):
        self.arms[k].add(reward)

    def means(self):
        return [arm.mean() for arm in self.arms]


class IndexClient(Client):
    """Takes the arm with the largest index."""

    def index(self, arm, t):
        raise NotImplementedError

    def pick(self, t, rng):
        return best_of(rng, [self.index(arm, t) for arm in self.arms])


class UCB(IndexClient):
    def __init__(self, K, alpha=2.0):
        super().__init__(K)
        self.alpha = alpha

    def index(self, arm, t):
        return arm.mean() + math.sqrt(self.alpha * math.log(t) / arm.n)


class FirstTie(IndexClient):
    def choose(self, t, rng):
        unpulled = [k for k, arm in enumerate(self.arms) if arm.n == 0]
        if unpulled:
            return unpulled[0]
        indices = [arm.mean() + math.sqrt(2 * math.log(t) / arm.n) for arm in self.arms]
        return indices.index(max(indices))


class MOSS(IndexClient):
    def __init__(self, K, alpha=1.35):
        super().__init__(K)
        self.alpha = alpha

    def index(self, arm, t):
        bonus = max(0.0, math.log(t / self.K / arm.n))
        return arm.mean() + math.sqrt((1 + self.alpha) / 2 * bonus / arm.n)


@dataclass
class SquareArm(Arm):
    """An arm that remembers the sum of the squares of the rewards after its constant beginning, too."""

    squares: float = 0.0

    def add(self, reward):
        before = self.n0
        super().add(reward)
        if self.n0 == before:
            self.squares += reward * reward

    def variance(self):
        if self.n0 == self.n:
            return 0.0
        mean = self.mean()
        return max(0.0, (self.n0 * (self.gamma * self.gamma) + self.squares) / self.n - mean * mean)


class UCBV(IndexClient):
    make_arm = SquareArm

    def __init__(self, K, zeta=1.2, c=1.0):
        super().__init__(K)
        self.zeta, self.c = zeta, c

    def index(self, arm, t):
        E = self.zeta * math.log(t)
        return arm.mean() + math.sqrt(2 * arm.variance() * E / arm.n) + 3 * self.c * E / arm.n


class UCBTuned(IndexClient):
    make_arm = SquareArm

    def index(self, arm, t):
        V = arm.variance() + math.sqrt(2 * math.log(t) / arm.n)
        return arm.mean() + math.sqrt(math.log(t) / arm.n * min(1 / 4, V))


class GaussianThompson(Client):
    def choose(self, t, rng):
        draws = []
        for arm in self.arms:
            n = arm.n
            mean = arm.mean() if n else 0.0
            draws.append(n * mean / (n + 1) + rng.standard_normal() / math.sqrt(n + 1))
        return best_of(rng, draws)


def kl(p, q):
    """Relative entropy of Bernoulli distributions."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def largest_q(p, d):
    """The largest q with kl(p, q) <= d, by the same Newton steps as the policy takes."""
    if p == 1 or d <= 0:
        return p
    if p == 0:
        return -math.expm1(-d)
    steps = [math.sqrt(d / 2), d + math.sqrt(d * d + 2 * d * p)]
    if p >= 0.5:
        steps.append(math.sqrt(2 * d * p * (1 - p)))
    h = -p * math.log(p) - (1 - p) * math.log(1 - p)
    q = min(p + min(steps), -math.expm1(-(d + h) / (1 - p)), math.nextafter(1.0, 0.0))
    while q > p:
        lower = q - (kl(p, q) - d) * q * (1 - q) / (q - p)
        if not p < lower < q:
            return q
        if q - lower < 1e-13:
            return lower
        q = lower
    return p


def exploration(t, c):
    """The exploration log t + c log log t, at least 0."""
    return math.log(t) if c == 0 else max(0.0, math.log(t) + c * math.log(math.log(t)))


class KLUCB(IndexClient):
    def __init__(self, K, c=0.0):
        super().__init__(K)
        self.c = c

    def index(self, arm, t):
        return largest_q(arm.mean(), exploration(t, self.c) / arm.n)


def stirling(x):
    """What Stirling's formula lacks of log Gamma(x)."""
    if x < 15:
        shift = math.ceil(15 - x)
        lacking = 0.0
        for i in range(shift):
            lacking += (x + i + 0.5) * math.log1p(1 / (x + i)) - 1
        return lacking + series(x + shift)
    return 0.0 + series(x)


def series(x):
    """The series of Stirling's error, up to 1 / x^9."""
    r = 1 / (x * x)
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x


def fraction(a, b, y):
    """Lentz's continued fraction of the incomplete beta function I_y(b, a)."""
    D = 1 / (1 - (a + b) * y / (b + 1))
    C, f, m = 1.0, D, 0
    while True:
        m += 1
        for d in (
            m * (a - m) * y / ((b + 2 * m - 1) * (b + 2 * m)),
            -(b + m) * (a + b + m) * y / ((b + 2 * m) * (b + 2 * m + 1)),
        ):
            D = 1 / (1 + d * D)
            C = 1 + d / C
            f *= C * D
        if abs(C * D - 1) < 1e-15:
            return f


def beta_quantile(a, b, surprise, x):
    """The x that a Beta(a, b) number exceeds with probability exp(-surprise), from a start."""
    s = a + b
    scale = 0.5 * math.log(a * b / (2 * math.pi * s)) + (stirling(s) - stirling(a) - stirling(b))
    while True:
        y = 1 - x
        c = fraction(a, b, y)
        log_power = scale - a * math.log(a / (s * x)) - b * math.log(b / (s * y))
        step = (log_power + math.log(c / b) + surprise) * x * y * c / b
        x = min(x + step, (x + 1) / 2, math.nextafter(1.0, 0.0))
        if abs(step) < 1e-12:
            return x


class BayesUCB(IndexClient):
    def __init__(self, K, c=0.0):
        super().__init__(K)
        self.c = c

    def index(self, arm, t):
        n, mean, surprise = arm.n, arm.mean(), exploration(t, self.c)
        if surprise == 0:
            return 0.0
        start = min(largest_q(n * mean / (n + 1), surprise / (n + 1)), math.nextafter(1.0, 0.0))
        return beta_quantile(1 + n * mean, 1 + n * (1 - mean), surprise, start)


def draw_softmax(rng, scores):
    """An arm with probability proportional to exp(score), and its probability."""
    weights = [math.exp(score - max(scores)) for score in scores]
    total = 0.0
    for weight in weights:
        total += weight
    share, upto = rng.random() * total, 0.0
    for k, weight in enumerate(weights):
        upto += weight
        if share < upto:
            return k, weight / total
    raise AssertionError("rounded up to the total: choose another seed")


class Boltzmann(Client):
    def __init__(self, K, scale=1.0):
        super().__init__(K)
        self.scale = scale

    def pick(self, t, rng):
        return draw_softmax(rng, [math.log(t) / self.scale * mean for mean in self.means()])[0]


class BoltzmannGumbel(Client):
    def __init__(self, K, C=0.5):
        super().__init__(K)
        self.C = C

    def pick(self, t, rng):
        values = []
        for arm in self.arms:
            Z = -math.log(rng.standard_exponential())
            values.append(arm.mean() + math.sqrt(self.C * self.C / arm.n) * Z)
        return best_of(rng, values)


class Exp3:
    def __init__(self, K):
        self.losses = [0.0] * K

    def choose(self, t, rng):
        K = len(self.losses)
        eta = math.sqrt(math.log(K) / (t * K))
        k, self.p = draw_softmax(rng, [-eta * loss for loss in self.losses])
        return k

    def learn(self, k, reward, rng):
        self.losses[k] += (1 - reward) / self.p


class Exp3IX(Exp3):
    """Neu 2015, Alg. 1, with the rates of Theorem 1."""

    def __init__(self, K, T=None):
        super().__init__(K)
        self.T = T

    def choose(self, t, rng):
        K = len(self.losses)
        eta = math.sqrt(math.log(K) / (K * (self.T / 2 if self.T else t)))
        k, p = draw_softmax(rng, [-eta * loss for loss in self.losses])
        self.p = p + eta / 2
        return k


class TsallisINF(Exp3):
    """Zimmert and Seldin 2021, Alg. 1 and 2: w = 4 / (eta (L - x))^2 in units in which 2 / eta is 1."""

    def choose(self, t, rng):
        scaled = [(loss - min(self.losses)) * (1 / math.sqrt(t)) for loss in self.losses]
        z, step = 1.0, math.inf
        while step >= 1e-12:
            inverses = [1 / (loss + z) for loss in scaled]
            weights = [inverse * inverse for inverse in inverses]
            total = slope = 0.0
            for weight, inverse in zip(weights, inverses, strict=True):
                total += weight
                slope += weight * inverse
            step = (total - 1) / (2 * slope)
            z += step
        share, upto = rng.random() * total, 0.0
        for k, weight in enumerate(weights):
            upto += weight
            if share < upto:
                self.p = weight / total
                return k
        raise AssertionError("rounded up to the total: choose another seed")


class EpsilonConstant(Client):
    def __init__(self, K, epsilon=0.1):
        super().__init__(K)
        self.epsilon = epsilon

    def pick(self, t, rng):
        return int(rng.random() * self.K) if rng.random() < self.epsilon else best_of(rng, self.means())


class EpsilonFirst(Client):
    def __init__(self, K, pulls=100):
        super().__init__(K)
        self.pulls = pulls

    def pick(self, t, rng):
        return int(rng.random() * self.K) if t <= self.pulls else best_of(rng, self.means())


class SlidingWindow:
    """Remembers everything and looks at the last `window` pulls."""

    def __init__(self, K, window=1000, xi=0.6):
        self.K, self.window, self.xi, self.history = K, window, xi, []

    def choose(self, t, rng):
        log = self.xi * math.log(min(t, self.window))
        indices = []
        for k in range(self.K):
            n, mean = self.look(k)
            indices.append(mean + math.sqrt(log / n) if n else math.inf)
        return best_of(rng, indices)

    def look(self, k):
        """Count and mean within the window; the part before the last whole block is added backwards."""
        now = len(self.history)
        start, middle = max(0, now - self.window), now - now % self.window
        earlier = [reward for arm, reward in self.history[start:middle] if arm == k]
        later = [reward for arm, reward in self.history[middle:] if arm == k]
        rewards = earlier + later
        if len(set(rewards)) <= 1:
            return len(rewards), rewards[0] if rewards else 0.0
        sums = [0.0, 0.0]
        for i, part in enumerate((reversed(earlier), later)):
            for reward in part:
                sums[i] += reward
        return len(rewards), (sums[0] + sums[1]) / len(rewards)

    def learn(self, k, reward, rng):
        self.history.append((k, reward))


# --------------------------------------------------------------------------------------------- comparisons

DISTRIBUTIONS = ("bernoulli", "beta(4)", "constant")
SERVERS = ("none", "known", "tal(gamma1=0.1)", "tal(gamma1=0)", "twl(gamma1=1)", "twl(gamma1=0.3,gamma2=0.1)")


def assert_plays_like(spec, make_client, *, longest=900, cases=12, seed=1):
    """The compiled policy of a SPEC and its transcription play the same in games of many kinds.

    Teachers and distributions take turns; sizes are random, K = 1 and M = 1 among them.
    """
    rng = np.random.default_rng(seed)
    for case in range(cases):
        distribution, server = DISTRIBUTIONS[(case // 2) % 3], SERVERS[case % 6]
        M, K, T = int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, longest))
        if case % 6 in (2, 5):  # enough clients and rounds, arms apart: learning can end
            M, K, T = 8, 2, longest
        means = np.clip(np.linspace(0, 1, K) + rng.uniform(-0.2, 0.2, (M, K)), 0, 1)
        if case % 4 == 3:
            means = np.round(means)
        assert_same_game(
            spec, make_client, make_instance(means, np.full(M, 1 / M), distribution), distribution, server, T, case
        )


def assert_same_game(spec, make_client, instance, distribution, server, T, seed):
    """One game: every pull, observed and revealed reward, cost and event is the same."""
    M, K = instance.num_clients, instance.num_arms
    teacher = TEACHERS.parse(server)
    problem = make_problem(instance, T, teacher)
    plain_server = reference.ContractServer(teacher, problem, reference.generator(seed, 0, 0))
    rewards = [reference.generator(seed, 0, 1, m, 0) for m in range(M)]
    policies = [reference.generator(seed, 0, 1, m, 1) for m in range(M)]
    plain_rewards = ("beta", 4.0) if distribution.startswith("beta") else (distribution,)
    means = instance.local_means.tolist()

    def draw(m, k, rng, t):
        return reference.draw_reward(plain_rewards, means[m][k], None, rng)

    plain = reference.play([make_client(K) for _ in range(M)], plain_server, rewards, policies, draw, T)
    assert_equal(run_engine(instance, [spec] * M, teacher, T, seed, 0), plain, T)


def play_alone(spec, means, *, T, players, rewards="bernoulli", seed=0):
    """Pulls [players, K] of independent untaught players with these arms' means, after T rounds."""
    instance = Instance(
        "single client", np.tile(means, (players, 1)), np.full(players, 1 / players), parse_distribution(rewards)
    )
    policies = [POLICIES.parse(spec)] * players
    none = TEACHERS.parse("none")
    outcome = simulate_once(instance, policies, none, horizon=T, seed=seed, run=0, checkpoints=np.array([T]))
    return outcome.pulls[:, 0, :]


def mean_regret(spec, means, **options):
    """Mean pseudo-regret of players and its standard error; five of these are passed once in 3 million."""
    regrets = play_alone(spec, means, **options) @ (max(means) - np.asarray(means))
    return regrets.mean(), regrets.std(ddof=1) / math.sqrt(regrets.size)


def adversary_regrets(policy, *, T, players):
    """Regrets [players] against the best single arm where the better of two arms changes half-way; plain Python."""
    rewards = np.array([[1.0, 0.0]] * (T // 2) + [[0.0, 0.9]] * (T // 2))
    regrets = []
    for player in range(players):
        learner, stream, gained = new_learner(policy, [0, 0], [0.0, 0.0]), np.random.default_rng(player), 0.0
        for t in range(1, T + 1):
            arm = policy.choose(t, learner, policy.parameters(), stream)
            gained += rewards[t - 1, arm]
            policy.learn(arm, rewards[t - 1, arm], learner, policy.parameters(), stream)
        regrets.append(rewards.sum(axis=0).max() - gained)
    return np.array(regrets)


def new_learner(policy, counts, means):
    """A learner as `choose` sees it, with an empty state."""
    state = np.zeros(max(1, policy.state_size(len(counts))))
    return Learner(np.array(counts, dtype=np.int64), np.array(means, dtype=float), state)
