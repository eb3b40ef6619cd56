"""BLT in plain Python, round by round: the whole algorithm of docs/blt.md in loops.

FREE LEVEL is in `reference_levelling.py`.  Neither uses `tutelage.teachers.blt`, its bets, the rules or the
contract.  Predictions of the null hypothesis are found by halving an interval, as docs/blt.md describes the
algorithm; the teacher uses a closed form.  So log W of the two agrees up to the width of the last interval, and
every decision, revealed reward and pull is the same.
"""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

from tests.reference_levelling import FreeLevelClient, clip


def rival_share(first, weights, h, j, k):
    """Return the share of j in the risk of k, from the first h pulls of all arms but k: first[m][arm] their sums."""
    K, M = len(first[0]), len(weights)
    mean, variance = {}, {}
    for arm in range(K):
        p = [(first[m][arm] + 0.5) / (h + 1) for m in range(M)]
        mean[arm] = sum(weights[m] * p[m] for m in range(M))
        variance[arm] = sum(weights[m] ** 2 * p[m] * (1 - p[m]) for m in range(M)) / h
    others = [arm for arm in range(K) if arm != k]
    best = max(others, key=lambda arm: mean[arm])
    odds = {
        arm: math.erfc((mean[best] - mean[arm]) / math.sqrt(2 * (variance[best] + variance[arm]))) for arm in others
    }
    return 0.95 * odds[j] / sum(odds.values()) + 0.05 / (K - 1)


def grid_of(T, growth):
    """Return n_0 = 0, n_1, ... up to the horizon."""
    grid = [0]
    while True:
        n = grid[-1] + max(1, math.floor(growth * grid[-1]))
        if n > T:
            return grid
        grid.append(n)


def bisected(p, q, u, rho, tolerance):
    """Return the predictions c and d: p and q moved towards each other until the null hypothesis holds."""
    M = len(u)
    v_j = sum(p[m] * (1 - p[m]) / rho for m in range(M))
    v_k = sum(q[m] * (1 - q[m]) for m in range(M))
    h = v_j / (v_j + v_k)
    low, high = -2.0, 2.0
    for _ in range(40):
        x = (low + high) / 2
        excess = M * tolerance
        for m in range(M):
            excess += u[m] * (clip(p[m] - x * h, 0.01, 0.99) - clip(q[m] + x * (1 - h), 0.01, 0.99))
        if excess > 0:
            low = x
        else:
            high = x
    c = [clip(p[m] - low * h, 0.01, 0.99) for m in range(M)]
    d = [clip(q[m] + low * (1 - h), 0.01, 0.99) for m in range(M)]
    return c, d


def log_average(logs):
    """Return the log of the average of exp(log)."""
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs) / len(logs))


@dataclass
class BetLevelLift:
    """The server of BLT for M clients, K arms, T rounds; ``exclude[m]`` is the round after which m is excluded."""

    M: int
    K: int
    T: int
    weights: tuple
    leading_arm: str = "free"  # or levelled
    rho: int = 3
    growth: float = 0.05
    tolerance: float = 0.0
    level: bool = True
    lift: bool = True
    stakes: int = 0
    head_start: int = 8
    hope: float = 2.0
    offset: float = 3.0
    band: float = 1.0
    slack: float = 6.0
    slack_share: float = 0.05
    push: float = 1.0
    freeze_pulls: float = 5.0
    freeze_share: float = 0.9
    risk: float | None = None
    exclude: dict = field(default_factory=dict)

    def __post_init__(self):
        M, K = self.M, self.K
        self.grid = grid_of(self.T, self.growth)
        self.h = self.head_start
        if self.leading_arm == "free":
            self.h = min(self.h, max(3, round(40 / M)))
        if K <= 2 or self.tolerance > 0:
            self.h = 0
        self.rule_h = self.h
        self.cuts = sorted({c for n in self.grid for c in (n, self.h + self.rho * n) if 0 < c <= self.T})
        if self.stakes == 0 and self.risk is not None:
            self.stakes = 20
        if self.stakes == 0:
            need = 2 * self.log_even_threshold() * (1 + self.rho)
            least = need / (self.effective_clients() * self.T * (1 + 1 / self.rho) / 4)
            self.stakes = max(1, 1 + math.floor(-math.log2(least))) if least > 0 else 1
        self.N = [[0] * K for _ in range(M)]
        self.Q = [[0.0] * K for _ in range(M)]
        self.S = [[0.0] * K for _ in range(M)]
        self.at = [[{0: 0.0} for _ in range(K)] for _ in range(M)]  # Q at each cut, summed piece by piece
        self.piece = [[0.0] * K for _ in range(M)]
        self.levels, self.z = [None] * M, [0.0] * M
        self.free = [FreeLevelClient(K) for _ in range(M)]
        self.known = [0] * K  # the last cut of the arm that all clients had reached at a consultation
        self.excluded, self.events = [], []
        self.start_betting()
        self.wait()

    # ------------------------------------------------------------------------------------------ a round

    def round(self, t, pi, x):
        for m in range(self.M):
            self.observe(m, pi[m], x[m])
        if self.is_due():
            self.collect()
            self.bet()
            self.publish(t)
        revealed = [self.reveal(m, pi[m], x[m]) for m in range(self.M)]
        for m in sorted(m for m, last in self.exclude.items() if last == t):
            self.excluded.append(m)
            self.start_betting()
            self.bet()
            self.publish(t)
        return revealed

    def is_due(self):
        return any(need and self.reached(k, need) for k, need in enumerate(self.needs))

    def collect(self):
        self.known = [max([0, *(n for n in self.cuts if self.reached(k, n))]) for k in range(self.K)]

    def observe(self, m, k, reward):
        self.N[m][k] += 1
        self.Q[m][k] += reward
        self.piece[m][k] += reward
        if self.N[m][k] in self.cuts:
            before = max(self.at[m][k])
            self.at[m][k][self.N[m][k]] = self.at[m][k][before] + self.piece[m][k]
            self.piece[m][k] = 0.0

    def publish(self, t):
        self.wait()
        self.events.append((t, list(self.active), self.target))

    # -------------------------------------------------------------------------------------------- bet

    @property
    def target(self):
        return self.active[0] if len(self.active) == 1 else None

    def included(self):
        return [m for m in range(self.M) if m not in self.excluded]

    def included_weights(self):
        if not self.excluded:
            return list(self.weights)
        total = math.fsum(self.weights[m] for m in self.included())
        return [self.weights[m] / total for m in self.included()]

    def group_weights(self):
        """Return the weight of the group of each included client: its own, as clients are independent."""
        return self.included_weights()

    def effective_clients(self):
        return self.M

    def reached(self, k, n):
        return all(self.N[m][k] >= n for m in self.included())

    def log_even_threshold(self):
        bets = self.K * (self.K - 1) // 2 if self.tolerance > 0 else self.K - 1
        return self.log_inverse_risk() + math.log(max(1, bets))

    def log_inverse_risk(self):
        return math.log(self.T if self.risk is None else 1 / self.risk)

    def log_threshold(self, j, k):
        penalty = len(self.excluded) * math.log(self.M)
        if self.h == 0:
            return self.log_even_threshold() + penalty
        first = [[self.at[m][arm][self.h] for arm in range(self.K)] for m in self.included()]
        return self.log_inverse_risk() + penalty - math.log(rival_share(first, self.included_weights(), self.h, j, k))

    def is_undecidable(self):
        left = self.T - sum(self.known)
        leading_arm = self.best_so_far()
        if leading_arm is None or left > 0.98 * self.T or math.isinf(self.hope) or self.risk is not None:
            return False
        mean, seen = {}, {}
        for arm in self.active:
            n = self.known[arm]
            Q = [self.at[m][arm][n] for m in self.included()]
            pairs = list(zip(self.included_weights(), Q, strict=True))
            mean[arm] = sum(w * q for w, q in pairs) / n
            p = [(q + 0.5) / (n + 1) for q in Q]
            shared = zip(self.included_weights(), self.group_weights(), p, strict=True)
            seen[arm] = sum(w * W * x * (1 - x) for w, W, x in shared)
        for arm in self.active:
            if arm == leading_arm:
                continue
            error = math.sqrt(seen[leading_arm] / self.known[leading_arm] + seen[arm] / self.known[arm])
            gap = mean[leading_arm] - mean[arm] + self.hope * error
            lacking = self.log_threshold(leading_arm, arm) - log_average(self.log_W[leading_arm, arm])
            variance = seen[leading_arm] / self.rho + seen[arm]
            if 2 * variance * lacking * (len(self.active) - 1 + self.rho) <= gap * gap * left:
                return False
        return True

    def start_betting(self):
        self.provisional = None
        self.active = list(range(self.K))
        pairs = [(j, k) for j in range(self.K) for k in range(self.K) if j != k]
        self.step = dict.fromkeys(pairs, 0)
        self.log_W = {pair: [0.0] * self.stakes for pair in pairs}

    def bet(self):
        if any(not self.reached(k, self.h) for k in range(self.K)):
            return
        bet = False
        for j in range(self.K):
            for k in range(self.K):
                while j != k and j in self.active and k in self.active:
                    i = self.step[j, k]
                    if i + 1 == len(self.grid) or self.h + self.rho * self.grid[i + 1] > self.known[j]:
                        break
                    if self.grid[i + 1] > self.known[k]:
                        break
                    self.bet_step(j, k, i)
                    self.step[j, k] += 1
                    bet = True
                    if log_average(self.log_W[j, k]) >= self.log_threshold(j, k):
                        self.active.remove(k)
        if bet and self.target is None and self.is_undecidable():
            self.provisional = self.best_so_far()

    def bet_step(self, j, k, i):
        rho, n, later = self.rho, self.grid[i], self.grid[i + 1]
        clients, weights = self.included(), self.included_weights()
        u = [len(clients) * weight for weight in weights]
        h = self.h
        p = [(self.at[m][j][h + rho * n] + 0.5) / (h + rho * n + 1) for m in clients]
        q = [(self.at[m][k][n] + 0.5) / (n + 1) for m in clients]
        c, d = bisected(p, q, u, rho, self.tolerance)
        for g in range(self.stakes):
            stake = 2 ** (-g / 2) / max(1.0, *u)
            for place, m in enumerate(clients):
                s_j = self.at[m][j][h + rho * later] - self.at[m][j][h + rho * n]
                s_k = self.at[m][k][later] - self.at[m][k][n]
                bet = stake * u[place]
                self.log_W[j, k][g] += (
                    s_j * math.log1p(bet / rho * (1 - c[place]))
                    + (rho * (later - n) - s_j) * math.log1p(-bet / rho * c[place])
                    + s_k * math.log1p(-bet * (1 - d[place]))
                    + (later - n - s_k) * math.log1p(bet * d[place])
                )

    def wait(self):
        """How many pulls of each active arm the next bet of any pair still needs, 0 if it needs no more."""
        self.needs = [0] * self.K
        for k in self.active if self.provisional is None else ():
            needed = [self.h] if self.h <= self.T else []
            for other in self.active:
                if other != k:
                    needed += [self.h + self.rho * n for n in self.next_step(k, other)]
                    needed += self.next_step(other, k)
            self.needs[k] = min((n for n in needed if self.known[k] < n), default=0)
        if self.target is not None and self.risk is not None:
            missing = self.stage() - sum(self.known)
            self.needs[self.target] = min((n for n in self.cuts if n >= self.known[self.target] + missing), default=0)
        self.leader = self.best_so_far() if self.provisional is None else self.provisional

    def stage(self):
        """The horizon that stands for an unknown one: 2, 4, 8, ..., above the pulls at the last consultation."""
        T = 1
        while sum(self.known) >= T:
            T *= 2
        return T

    def next_step(self, j, k):
        """Where the pair's next step ends, if a client can have so many pulls of both arms."""
        return [n for n in self.grid[self.step[j, k] + 1 :][:1] if self.h + (self.rho + 1) * n <= self.T]

    def best_so_far(self):
        if len(self.active) == 1 or any(self.known[k] == 0 for k in self.active):
            return None
        means = {}
        for k in self.active:
            means[k] = 0.0
            for weight, m in zip(self.included_weights(), self.included(), strict=True):
                means[k] += weight * (self.at[m][k][self.known[k]] / self.known[k])
        return max(self.active, key=lambda k: means[k])

    # ----------------------------------------------------------------------------------- level and lift

    def reveal(self, m, k, X):
        if self.target is None:
            self.z[m] = 0.0
        else:
            self.z[m] += ((k != self.target) - self.z[m]) / 200
        if self.leading_arm == "free" and self.target is None and self.provisional is None and self.level:
            self.free[m].update_wander(self.N[m], self.S[m], k)
        if self.provisional is not None:
            revealed = X if k == self.provisional else 0.0
        elif k not in self.active or (self.target is None and not self.level):
            revealed = 0.0
        elif self.target is None:
            revealed = self.free_levelled(m, k, X) if self.leading_arm == "free" else self.levelled(m, k, X)
        else:
            revealed = self.lifted(m, k, X)
        self.S[m][k] += revealed
        return revealed

    def free_levelled(self, m, k, X):
        rule = SimpleNamespace(
            leading_share=float(self.rho),
            offset=self.offset,
            band=self.band,
            slack=self.slack,
            slack_share=self.slack_share,
            push=self.push,
            freeze_pulls=self.freeze_pulls,
            head_start=float(self.rule_h),
        )
        return self.free[m].reveal(rule, self.active, self.leader, self.N[m], self.Q[m], self.S[m], k, X)

    def levelled(self, m, k, X):
        N, Q, S = self.N[m], self.Q[m], self.S[m]
        if self.levels[m] is None and min(N[j] for j in self.active) >= self.freeze_pulls:
            total = 0.0
            for j in self.active:
                total += Q[j] / N[j]
            self.levels[m] = max(0.05, self.freeze_share * (total / len(self.active)))
        level = 0.5 if self.levels[m] is None else self.levels[m]
        r = [self.rho if j == self.leader else 1.0 for j in range(self.K)]
        reached = {j: N[j] for j in self.active}
        if self.leader is not None:
            reached[self.leader] = max(0.0, N[self.leader] - self.rule_h) / self.rho
        mn = min(reached.values())
        n = N[k]
        line = level * n + self.offset * r[k]
        low = clip(line - self.band - S[k], 0.0, 1.0)
        high = clip(line + self.band - S[k], 0.0, 1.0)
        ahead = reached[k] - mn - self.slack - self.slack_share * mn
        if ahead > 0:
            low, high = 0.0, clip(line - self.band - self.push * ahead - S[k], 0.0, 1.0)
        return clip(X, low, high)

    def lifted(self, m, k, X):
        T = self.T if self.risk is None else self.stage()
        L = min(1.0, (2 * (self.K - 1) * math.log(T) / T) ** (1 / 3))
        n = self.N[m][k]
        if self.lift and self.z[m] / 2 > L - self.Q[m][k] / n:
            return max(X, clip(L * n - self.S[m][k], 0.0, 1.0))
        return X


@dataclass
class WindowedBetLevelLift(BetLevelLift):
    """BLT with dependent clients: ``groups[m]`` is the group of client m (docs/blt.md, "Dependent clients")."""

    groups: tuple = ()

    def __post_init__(self):
        self.closed = []  # of each window, the pulls of each arm and the leading arm
        self.known = [0] * self.K
        self.open_window()
        self.left_out = set()
        super().__post_init__()
        self.rule_h = 0
        first = self.h or 16
        self.lengths, total = [first] if first <= self.T else [], first
        while total + (length := max(16, math.floor(0.5 * total))) <= self.T:
            self.lengths.append(length)
            total += length
        self.cuts = sorted({c for n in self.lengths for c in (n, self.rho * n)})
        self.wait()

    def open_window(self):
        self.window = [[[] for _ in range(self.K)] for _ in range(self.M)]

    def observe(self, m, k, reward):
        self.N[m][k] += 1
        self.Q[m][k] += reward
        if m in self.left_out:
            self.left_out.remove(m)
        else:
            self.window[m][k].append(reward)

    def is_due(self):
        arms = [k for k in range(self.K) if self.needs[k]]
        return bool(arms) and all(len(self.window[m][k]) >= self.needs[k] for k in arms for m in self.included())

    def collect(self):
        self.closed.append((self.needs, self.leader))
        for k in range(self.K):
            for m in self.included():
                start, total = 0, 0.0
                for cut in [cut for cut in self.cuts if cut <= self.needs[k]]:
                    piece = 0.0
                    for reward in self.window[m][k][start:cut]:
                        piece += reward
                    start, total = cut, total + piece
                self.at[m][k][self.known[k] + self.needs[k]] = self.at[m][k][self.known[k]] + total
            self.known[k] += self.needs[k]
        self.open_window()
        self.left_out = set(range(self.M))

    def group_weights(self):
        pairs = list(zip(self.included(), self.included_weights(), strict=True))
        return [math.fsum(w for m, w in pairs if self.groups[m] == self.groups[one]) for one in self.included()]

    def effective_clients(self):
        sums = {
            g: math.fsum(w for w, group in zip(self.weights, self.groups, strict=True) if group == g)
            for g in self.groups
        }
        return math.fsum((W / max(sums.values())) ** 2 for W in sums.values())

    def start_betting(self):
        super().start_betting()
        self.next_window = 0

    def bet(self):
        while self.next_window < len(self.closed):
            counts, j = self.closed[self.next_window]
            others = [k for k in self.active if k != j and counts[k]] if j in self.active else []
            for k in others:
                self.bet_in_window(j, k)
            out = [k for k in others if log_average(self.log_W[j, k]) >= self.log_threshold(j, k)]
            self.active = [k for k in self.active if k not in out]
            self.next_window += 1
        if self.target is None and self.is_undecidable():
            self.provisional = self.best_so_far()

    def bet_in_window(self, j, k):
        now = self.next_window
        n_j, n_k = (sum(counts[arm] for counts, _ in self.closed[:now]) for arm in (j, k))
        length_j, length_k = self.closed[now][0][j], self.closed[now][0][k]
        clients, weights, sums = self.included(), self.included_weights(), self.group_weights()
        p = [(self.at[m][j][n_j] + 0.5) / (n_j + 1) for m in clients]
        q = [(self.at[m][k][n_k] + 0.5) / (n_k + 1) for m in clients]
        c, d = bisected(p, q, [len(clients) * weight for weight in weights], self.rho, self.tolerance)
        for g in range(self.stakes):
            for place, m in enumerate(clients):
                bet = 2 ** (-g / 2) * sums[place] / max(sums)
                s_j = self.at[m][j][n_j + length_j] - self.at[m][j][n_j]
                s_k = self.at[m][k][n_k + length_k] - self.at[m][k][n_k]
                self.log_W[j, k][g] += (weights[place] / sums[place]) * (
                    s_j * math.log1p(bet / self.rho * (1 - c[place]))
                    + (length_j - s_j) * math.log1p(-bet / self.rho * c[place])
                    + s_k * math.log1p(-bet * (1 - d[place]))
                    + (length_k - s_k) * math.log1p(bet * d[place])
                )

    def wait(self):
        """Set how many pulls of each active arm the present window needs, 0 if the horizon has no room for it."""
        self.leader = self.best_so_far() if self.provisional is None else self.provisional
        self.needs = [0] * self.K
        lengths = getattr(self, "lengths", [])
        if self.target is not None or self.provisional is not None or len(self.closed) >= len(lengths):
            return
        length = lengths[len(self.closed)]
        needs = [length * (self.rho if k == self.leader else 1) if k in self.active else 0 for k in range(self.K)]
        if sum(needs) <= self.T - sum(self.known):
            self.needs = needs
