"""Plain Python transcriptions that the compiled engine must equal, draw for draw.

Algorithms 1 and 2 and the three policies follow Shi et al. line by line; the rules LEVEL, LIFT, SINK and
SHIFT follow their description in docs/extending.md.  Everything runs round by round over all clients and uses
neither the engine nor `tutelage.teachers.tal` and `twl`: only numpy's generators, spawned from the seed as
docs/decisions/0001 says.  `ContractServer` runs any other teacher by the contract; of the package it uses
only the value `Evidence`.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from tests.reference_levelling import FreeLevelClient
from tutelage.teachers.base import Evidence

# --------------------------------------------------------------------------------------------- randomness


def generator(seed, *spawn_key):
    """Spawn a generator from the seed."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=spawn_key)))


def pick_one(rng, items):
    """Pick one of the items uniformly at random; draw nothing if there is only one."""
    return items[int(rng.random() * len(items))] if len(items) > 1 else items[0]


# ---------------------------------------------------------------------------------------------- policies


@dataclass
class Arm:
    """The revealed rewards of an arm at a client."""

    n: int = 0
    gamma: float = 0.0  # the first reward
    n0: int = 0  # how many equal to it came before any other
    s: float = 0.0  # the sum of all later rewards

    def add(self, reward):
        self.n += 1
        if self.n == 1:
            self.gamma, self.n0 = reward, 1
        elif self.n0 == self.n - 1 and reward == self.gamma:
            self.n0 += 1
        else:
            self.s += reward

    def mean(self):
        return self.gamma if self.n0 == self.n else (self.n0 * self.gamma + self.s) / self.n


class UCB1:
    """UCB1, section VI-A."""

    def __init__(self, K):
        self.arms = [Arm() for _ in range(K)]

    def choose(self, t, rng):
        unpulled = [k for k, arm in enumerate(self.arms) if arm.n == 0]
        if unpulled:
            return unpulled[int(rng.random() * len(unpulled))]
        indices = [arm.mean() + math.sqrt(2 * math.log(t) / arm.n) for arm in self.arms]
        return pick_one(rng, [k for k, index in enumerate(indices) if index == max(indices)])

    def learn(self, k, reward, rng):
        self.arms[k].add(reward)


class EpsilonGreedy:
    """Epsilon-greedy, section VI-B, with the schedule of Auer et al."""

    def __init__(self, K, c=1.0, d=1.0):
        self.arms, self.c, self.d = [Arm() for _ in range(K)], c, d

    def choose(self, t, rng):
        K = len(self.arms)
        unpulled = [k for k, arm in enumerate(self.arms) if arm.n == 0]
        if unpulled:
            return unpulled[int(rng.random() * len(unpulled))]
        if rng.random() < min(1.0, self.c * K / (self.d * self.d * t)):
            return int(rng.random() * K)
        means = [arm.mean() for arm in self.arms]
        return pick_one(rng, [k for k, mean in enumerate(means) if mean == max(means)])

    def learn(self, k, reward, rng):
        self.arms[k].add(reward)


class Thompson:
    """Thompson sampling with Beta posteriors, and Agrawal and Goyal's trial for rewards inside (0, 1)."""

    def __init__(self, K, update="bernoulli"):
        self.a, self.b, self.update = [0.0] * K, [0.0] * K, update

    def choose(self, t, rng):
        draws = [rng.beta(1.0 + a, 1.0 + b) for a, b in zip(self.a, self.b, strict=True)]
        best = [k for k, draw in enumerate(draws) if draw == max(draws)]
        assert len(best) == 1, "equal draws: choose another seed"
        return best[0]

    def learn(self, k, reward, rng):
        if self.update == "bernoulli" and 0.0 < reward < 1.0:
            reward = 1.0 if rng.random() < reward else 0.0
        self.a[k] += reward
        self.b[k] += 1.0 - reward


# ----------------------------------------------------------------------------------------------- rewards


def draw_reward(distribution, mu, observed, rng):
    """One reward of ("bernoulli",), ("beta", c), ("gaussian", sigma), ("constant",) or ("empirical",)."""
    if distribution[0] == "bernoulli":
        return 1.0 if rng.random() < mu else 0.0
    if distribution[0] == "empirical":
        values, cumulative = observed
        share = rng.random()
        return next(value for value, upto in zip(values, cumulative, strict=True) if share < upto)
    if distribution[0] == "gaussian":
        return mu + distribution[1] * rng.standard_normal()
    if distribution[0] == "beta" and 0.0 < mu < 1.0:
        return rng.beta(distribution[1] * mu, distribution[1] * (1.0 - mu))
    return mu


# ----------------------------------------------------------------------------------------------- servers


def f(psi, K, T, weights):
    """Return the pulls of epoch psi, f below Alg. 1, with the sum of the squared weights for 1/M, rounded up."""
    return math.ceil(2 ** (2 * psi + 3) * math.log(2 * K * T**2) * sum_of_squares(weights))


def sum_of_squares(weights):
    """Return the sum of the squared weights."""
    if len(set(weights)) == 1:
        return 1.0 / len(weights)
    return math.fsum(w * w for w in weights)


@dataclass
class ObservedRewards:
    """What all servers see: pull counts N, and the rewards X of each (arm, client) in order."""

    M: int
    K: int
    T: int
    weights: tuple
    N: list = field(init=False)
    X: list = field(init=False)

    def __post_init__(self):
        self.N = [[0] * self.M for _ in range(self.K)]
        self.X = [[[] for _ in range(self.M)] for _ in range(self.K)]

    def observe(self, pi, x):
        for m in range(self.M):
            self.N[pi[m]][m] += 1
            self.X[pi[m]][m].append(x[m])

    def bounds(self, psi, k):
        """Return LCB and UCB of an arm in an epoch, eq. (1)."""
        start = sum(f(i, self.K, self.T, self.weights) for i in range(1, psi))
        pulls = f(psi, self.K, self.T, self.weights)
        nu = 0.0
        for m in range(self.M):
            total = 0.0
            for reward in self.X[k][m][start : start + pulls]:
                total += reward
            nu += self.weights[m] * (total / pulls)
        CB = math.sqrt(math.log(2 * self.K * self.T**2) * sum_of_squares(self.weights) / (2 * pulls))
        return nu - CB, nu + CB


class AlgorithmOne:
    """TAL, Alg. 1."""

    def __init__(self, stage, gamma1, gamma2):
        self.stage, self.gamma1, self.gamma2 = stage, gamma1, gamma2
        self.F, self.psi, self.target = 1, 1, None  # line 1
        self.events = []

    def round(self, t, pi, x):
        g = self.stage
        g.observe(pi, x)  # line 3
        needed = sum(f(i, g.K, g.T, g.weights) for i in range(1, self.psi + 1))
        if self.F == 1 and all(n >= needed for row in g.N for n in row):  # line 4
            bounds = [g.bounds(self.psi, k) for k in range(g.K)]  # line 5
            for j in range(g.K):  # line 6
                if all(bounds[j][0] >= bounds[k][1] for k in range(g.K) if k != j):
                    self.target, self.F = j, 2  # line 7
                    break
            else:
                self.psi += 1  # line 8
            self.events.append((t, [self.target] if self.F == 2 else list(range(g.K)), self.target))
        if self.F == 1:  # line 11
            return [self.gamma1 for m in range(g.M)]
        return [x[m] if pi[m] == self.target else self.gamma2 for m in range(g.M)]  # line 12


class AlgorithmTwo:
    """TWL, Alg. 2."""

    def __init__(self, stage, gamma1, gamma2):
        self.stage, self.gamma1, self.gamma2 = stage, gamma1, gamma2
        self.active, self.psi = list(range(stage.K)), 1  # line 1
        self.events = []

    @property
    def target(self):
        return self.active[0] if len(self.active) == 1 else None

    def round(self, t, pi, x):
        g = self.stage
        g.observe(pi, x)  # line 3
        needed = sum(f(i, g.K, g.T, g.weights) for i in range(1, self.psi + 1))
        if len(self.active) > 1 and all(g.N[k][m] >= needed for k in self.active for m in range(g.M)):  # line 4
            bounds = {k: g.bounds(self.psi, k) for k in self.active}  # line 5
            self.active = [j for j in self.active if all(bounds[j][1] >= bounds[k][0] for k in self.active)]  # line 6
            self.psi += 1  # line 7
            self.events.append((t, list(self.active), self.target))
        revealed = []
        for m in range(g.M):  # line 9
            if pi[m] not in self.active:
                revealed.append(self.gamma2)
            elif len(self.active) > 1:
                revealed.append(self.gamma1)
            else:
                revealed.append(x[m])
        return revealed


class FixedTarget:
    """A server whose target never changes: known, guessed, or none."""

    def __init__(self, target):
        self.target, self.events = target, []

    def round(self, t, pi, x):
        if self.target is None:
            return list(x)
        return [x[m] if pi[m] == self.target else 0.0 for m in range(len(pi))]


class NaiveAlignment:
    """NA: a reward Y of the global model for each pull, drawn from the client's own generator."""

    target = None

    def __init__(self, phases, generators):
        self.phases, self.generators, self.events = phases, generators, []

    def round(self, t, pi, x):
        nu = [means for after, means in self.phases if after < t][-1]
        return [None if k is None else 1.0 if self.generators[m].random() < nu[k] else 0.0 for m, k in enumerate(pi)]


# ------------------------------------------------------------------------------------------ the contract


def clip01(value):
    """Limit a value to [0, 1]."""
    return min(1.0, max(0.0, value))


@dataclass
class RuleClient:
    """The memory of the rules for one client."""

    K: int
    z: float = 0.0

    def __post_init__(self):
        self.N, self.Q, self.S = [0] * self.K, [0.0] * self.K, [0.0] * self.K
        self.free = FreeLevelClient(self.K)

    def reveal(self, directive, k, X):
        """Apply the rule of arm k to a pull with reward X, which N and Q already include."""
        if directive.target is None:
            self.z = 0.0
        else:
            self.z += ((k != directive.target) - self.z) / 200
        if any(type(rule).__name__ == "FreeLevel" for rule in directive.rules):
            self.free.update_wander(self.N, self.S, k)
        rule = directive.rules[k]
        revealed = {
            "Keep": self.reveal_keep,
            "Set": self.reveal_set,
            "Level": self.reveal_level,
            "FreeLevel": self.reveal_free_level,
            "Lift": self.reveal_lift,
            "Sink": self.reveal_sink,
            "Shift": self.reveal_shift,
        }[type(rule).__name__](directive, rule, k, X)
        self.S[k] += revealed
        return revealed

    def reveal_keep(self, directive, rule, k, X):
        return X

    def reveal_set(self, directive, rule, k, X):
        return rule.gamma

    def reveal_free_level(self, directive, rule, k, X):
        client, active = self.free, directive.active_arms
        return client.reveal(rule, active, directive.leading_arm, self.N, self.Q, self.S, k, X)

    def reveal_lift(self, directive, rule, k, X):
        if self.z / 2 > rule.lift - self.Q[k] / self.N[k]:
            return max(X, clip01(rule.lift * self.N[k] - self.S[k]))
        return X

    def beta(self, n, delta):
        """Return beta of Jun et al., Lemma 1, with sigma = 1/2."""
        return math.sqrt(math.log(math.pi**2 * self.K * n * n / (3 * delta)) / (2 * n))

    def reveal_sink(self, directive, rule, k, X):
        """Apply SINK; Jun et al., sections 3 and 4: S[k] may reach N[k] (mean of K - 2 beta - Delta_0)."""
        K = directive.target
        if K in (None, k):
            return X
        if self.N[K] == 0:
            return 0.0
        level = self.S[K] / self.N[K] - 2 * self.beta(self.N[K], rule.delta) - rule.margin
        room = level * self.N[k] - self.S[k]
        return 0.0 if room <= 0 else min(X, room)

    def reveal_shift(self, directive, rule, k, X):
        """Apply SHIFT; Liu and Shroff, the adaptive attack on pre-attack means, clipped or scaled."""
        K = directive.target
        if K in (None, k):
            return X
        if self.N[K] == 0:
            return 0.0
        mean = self.Q[k] / self.N[k]
        gap = mean - self.Q[K] / self.N[K]
        alpha = gap + (self.beta(self.N[k], rule.delta) + self.beta(self.N[K], rule.delta))
        if alpha <= 0 or mean == 0:
            return X
        if not rule.scaled:
            return clip01(X - alpha)
        return 0.0 if alpha >= mean else X * ((mean - alpha) / mean)

    def reveal_level(self, directive, rule, k, X):
        active = directive.active_arms
        if self.free.level is None and all(self.N[j] >= rule.freeze_pulls for j in active):
            total = 0.0
            for j in active:
                total += self.Q[j] / self.N[j]
            self.free.level = max(0.05, rule.freeze_share * (total / len(active)))
        r = {j: rule.leading_share if j == directive.leading_arm else 1.0 for j in active}
        reached = {j: self.N[j] for j in active}
        if directive.leading_arm is not None:
            lead = directive.leading_arm
            reached[lead] = max(0.0, self.N[lead] - rule.head_start) / rule.leading_share
        least = min(reached.values())
        line = (0.5 if self.free.level is None else self.free.level) * self.N[k] + rule.offset * r[k]
        low, high = clip01(line - rule.band - self.S[k]), clip01(line + rule.band - self.S[k])
        ahead = reached[k] - least - rule.slack - rule.slack_share * least
        if ahead > 0:
            low, high = 0.0, clip01(line - rule.band - rule.push * ahead - self.S[k])
        if low <= X <= high:
            return X
        return low if low > X else high


class ContractServer:
    """Any teacher, run round by round as the contract in docs/extending.md says."""

    def __init__(self, teacher, problem, rng, exclude=None):
        self.teacher, self.exclude, self.problem = teacher, exclude or {}, problem
        self.cuts = list(teacher.segments(problem))
        self.clients = [RuleClient(problem.num_arms) for _ in range(problem.num_clients)]
        self.clear_sums()
        self.left_out = set()  # clients whose next pull a window leaves out
        self.excluded = set()
        self.events = []
        self.state = teacher.begin(problem, rng)
        self.directive = teacher.directive(self.state)

    def clear_sums(self):
        self.sums = [[[0.0] for _ in self.clients] for _ in range(self.problem.num_arms)]
        self.counted = [[0] * self.problem.num_arms for _ in self.clients]
        self.delivered = [0] * self.problem.num_arms

    @property
    def target(self):
        return self.directive.target

    def round(self, t, pi, x):
        acting = [m for m in range(len(pi)) if pi[m] is not None]
        for m in acting:
            self.observe(m, self.clients[m], pi[m], x[m])
        if self.is_due():
            self.state = self.teacher.advance(self.state, self.evidence())
            self.publish(t, pi, x)
        revealed = [None] * len(pi)
        for m in acting:
            revealed[m] = self.clients[m].reveal(self.directive, pi[m], x[m])
        for client in sorted(client for client, last in self.exclude.items() if last == t):
            self.excluded.add(client)
            self.state = self.teacher.exclude(self.state, client)
            self.publish(t)
        return revealed

    def observe(self, m, client_rules, k, reward):
        client_rules.N[k] += 1
        client_rules.Q[k] += reward
        if m in self.left_out:
            self.left_out.remove(m)
            return
        self.counted[m][k] += 1
        segment = sum(cut < self.counted[m][k] for cut in self.cuts)
        while len(self.sums[k][m]) <= segment:
            self.sums[k][m].append(0.0)
        self.sums[k][m][segment] += reward

    def clients_in_evidence(self):
        return [m for m in range(len(self.clients)) if m not in self.excluded]

    def is_due(self):
        quota = self.directive.quota
        if quota is None:
            return False
        full = [
            all(self.counted[m][k] >= count for m in self.clients_in_evidence())
            for k, count in enumerate(quota.counts)
            if count > 0
        ]
        return all(full) if quota.mode == "all" else any(full)

    def evidence(self):
        sums = []
        for k in range(self.problem.num_arms):
            done = min(sum(cut <= self.counted[m][k] for cut in self.cuts) for m in self.clients_in_evidence())
            new = range(self.delivered[k], done)
            rows = [
                [self.sums[k][m][i] if m not in self.excluded else 0.0 for m in range(len(self.clients))] for i in new
            ]
            sums.append(np.array(rows).reshape(len(rows), len(self.clients)))
            self.delivered[k] = done
        return Evidence(tuple(sums))

    def publish(self, t, pi=(), x=()):
        before, self.directive = self.directive, self.teacher.directive(self.state)
        if self.directive.target != before.target:
            for client_rules in self.clients:
                client_rules.z = 0.0
        if self.directive.restarts > before.restarts:
            self.clients = [RuleClient(self.problem.num_arms) for _ in self.clients]
            self.clear_sums()
            for m, k in enumerate(pi):
                if k is not None:
                    self.observe(m, self.clients[m], k, x[m])
        if self.directive.windows > before.windows:
            self.clear_sums()
            self.left_out = set(range(len(self.clients)))
        self.events.append((t, list(self.directive.active_arms), self.directive.target))


# ------------------------------------------------------------------------------------------------ the game


@dataclass
class Game:
    """The record of a game: arms, observed and revealed rewards and costs [M][T], events, target."""

    arms: list
    observed: list
    revealed: list
    costs: list
    events: list
    target: int | None


def acts_always(m, t):
    """Act in every round, as the paper's clients do."""
    return True


def play(clients, server, rewards, policies, draw, T, acts=acts_always):
    """Play T rounds: choose, observe, let the server answer, reveal.  A client that does not act has arm None."""
    M = len(clients)
    game = Game([[] for _ in clients], [[] for _ in clients], [[] for _ in clients], [[] for _ in clients], [], None)
    turns = [0] * M
    for t in range(1, T + 1):
        acting = [m for m in range(M) if acts(m, t)]
        pi, x = [None] * M, [None] * M
        for m in acting:
            turns[m] += 1
            pi[m] = clients[m].choose(turns[m], policies[m])
            x[m] = draw(m, pi[m], rewards[m], t)
        revealed = server.round(t, pi, x)
        for m in acting:
            clients[m].learn(pi[m], min(1.0, max(0.0, revealed[m])), policies[m])
        for m in range(M):
            game.arms[m].append(pi[m] if m in acting else -1)
            game.observed[m].append(x[m] if m in acting else 0.0)
            game.revealed[m].append(revealed[m] if m in acting else 0.0)
            cost = abs(revealed[m] - x[m]) if m in acting else 0.0
            game.costs[m].append((game.costs[m][-1] if t > 1 else 0.0) + cost)
    game.events, game.target = server.events, server.target
    return game


def first_noticed(arms, revealed, num_arms):
    """The round in which a client could first notice that it is taught, 0 for none (tutelage/noticing.py).

    The client keeps every reward, limited to [0, 1]; arm -1 stands for a round without a pull.
    """
    history = [[] for _ in range(num_arms)]
    for t, (arm, reward) in enumerate(zip(arms, revealed, strict=True), start=1):
        if arm < 0:
            continue
        history[arm].append(min(1.0, max(0.0, reward)))  # what policies see
        n = len(history[arm])
        for i in range(1, 64):
            if n == 2**i:
                first, second = history[arm][: n // 2], history[arm][n // 2 :]
                difference = sum(second) / len(second) - sum(first) / len(first)
                if n * difference**2 / 2 >= math.log(2 * num_arms * i * (i + 1) / 0.05):
                    return t
    return 0
