"""FREE LEVEL in plain Python, formula by formula as in docs/blt.md; it uses nothing of the package."""

from dataclasses import dataclass, field


def clip(value, low, high):
    """Limit a value to [low, high]."""
    return max(low, min(high, value))


@dataclass
class FreeLevelClient:
    """What a client keeps for FREE LEVEL, besides its counts N, sums Q and S of each arm."""

    K: int
    level: float | None = None
    wander: float = 0.0
    pressure: list = field(default_factory=list)

    def __post_init__(self):
        self.pressure = self.pressure or [0.0] * self.K

    def update_wander(self, N, S, k):
        """A pull of arm k, which N counts and S does not: does the client follow its revealed means?"""
        before = [n - (j == k) for j, n in enumerate(N)]
        if min(before) > 0:
            means = [S[j] / before[j] for j in range(self.K)]
            self.wander += ((means[k] < max(means) - 1e-9) - self.wander) / 30

    def reveal(self, rule, active, leader, N, Q, S, k, X):
        """Return the reward to reveal for a pull of the active arm k; leader is None or an active arm."""
        tau = {j: float(N[j]) for j in active}
        r = dict.fromkeys(active, 1.0)
        if leader is not None:
            tau[leader] = max(0.0, N[leader] - rule.head_start) / rule.leading_share
            r[leader] = max(1.0, N[leader] / max(1.0, tau[leader]))
        mn = min(tau.values())
        explores = leader is not None and self.wander > 0.12
        level = self.moved_level(rule, active, leader, N, Q, S, tau, r, mn, explores)
        n, a, b = N[k], rule.offset, rule.band
        line = level * n + a * r[k]
        others = [j for j in active if j != k]
        behind = [S[j] / N[j] if N[j] > 0 else line / n for j in others if tau[j] <= mn + 1e-9]
        low_mean = min(behind, default=float("inf"))
        if k == leader and explores:
            low, high = 0.0, clip(0.95 * n + a * r[k] - S[k], 0.0, 1.0)
            if min((N[j] for j in others), default=float("inf")) - tau[k] > 3 + 0.1 * tau[k]:
                low = min(high, clip(0.4 * n - S[k], 0.0, 1.0))
            top = low_mean * n - b
        else:
            low, high = clip(line - b - S[k], 0.0, 1.0), clip(line + b - S[k], 0.0, 1.0)
            top = min(line, low_mean * n)
        slack = 10.0 if k == leader else 4.0 if explores else rule.slack
        if tau[k] - mn - slack - rule.slack_share * mn > 0:
            self.pressure[k] += rule.push
            low, high = 0.0, clip(top - self.pressure[k] - S[k], 0.0, 1.0)
        else:
            self.pressure[k] = 0.0
            spare = (4.0 + rule.slack_share * mn) / 2 if explores else rule.slack + rule.slack_share * mn
            if tau[k] > mn + spare:
                low = 0.0
        return low if low > X else min(X, high)

    def moved_level(self, rule, active, leader, N, Q, S, tau, r, mn, explores):
        """Freeze the level, or move it; 1/2 until it is frozen."""
        if self.level is None and min(N[j] for j in active) < rule.freeze_pulls:
            return 0.5
        w = {j: 1.0 if j == leader else 0.2 for j in active}
        total = weights = 0.0
        for j in active:
            total += w[j] * (Q[j] + 0.5) / (N[j] + 1)
            weights += w[j]
        V = clip(total / weights, 0.05, 0.95)
        if explores:
            self.level = clip((S[leader] - rule.offset * r[leader]) / N[leader], 0.05, 0.95)
        elif self.level is None:
            self.level = V
        elif leader is not None:
            unit = rule.offset / max(mn, 4.0) ** 2 / (len(active) - 1 + rule.leading_share)
            if self.level < V:
                self.level += min(V - self.level, unit / 4)
            else:
                self.level -= min(self.level - V, 2 * unit)
        return self.level
