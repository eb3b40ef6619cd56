"""What a live campaign remembers of one client for the rules: the lab's rule memory, as plain lists."""

import msgspec

from tutelage.rules import Rule, RuleArrays, RuleMemory, cost, make_rule_arrays, reveal


class StoredClient(msgspec.Struct, array_like=True):
    """A client's memory as it is stored."""

    pulls: list[int]
    observed: list[float]
    revealed: list[float]
    rule_state: list[float]
    cost: float


def plain_rule_arrays(
    rules: tuple[Rule, ...], active_arms: tuple[int, ...], leading_arm: int | None, target: int | None
) -> RuleArrays:
    """A directive's rules as arrays with lists where that can be, which are read in a third of the time."""
    rule_arrays = make_rule_arrays(rules, active_arms, leading_arm, target)
    return rule_arrays._replace(kinds=rule_arrays.kinds.tolist(), active=rule_arrays.active.tolist())


class ClientMemory:
    """N, Q and S of each arm, what LEVEL and LIFT keep, and the cost so far in units of [0, 1]."""

    __slots__ = ("cost", "memory", "observed", "pulls", "revealed", "rule_state")

    def __init__(self, num_arms: int, cost: float = 0.0) -> None:
        self.pulls, self.observed, self.revealed = [0] * num_arms, [0.0] * num_arms, [0.0] * num_arms
        self.rule_state = [0.0, 0.0]
        self.cost = cost
        self.memory = RuleMemory(self.pulls, self.observed, self.revealed, self.rule_state)  # type: ignore[arg-type]

    def reveal(self, rule_arrays: RuleArrays, arm: int, reward: float) -> float:
        """Count a pull and give the reward to show for it, both in [0, 1]."""
        self.pulls[arm] += 1
        self.observed[arm] += reward
        value = float(reveal(rule_arrays, self.memory, arm, reward, 0.0))
        self.cost += cost(reward, value)
        self.revealed[arm] += value
        return value

    def dump(self) -> StoredClient:
        """The memory as it is stored."""
        kept = [float(value) for value in self.rule_state]  # rules leave numbers of numpy's there
        return StoredClient(self.pulls, self.observed, self.revealed, kept, self.cost)


def restored_client(kept: StoredClient) -> ClientMemory:
    """The memory that was stored."""
    client = ClientMemory(len(kept.pulls), kept.cost)
    client.pulls[:], client.observed[:], client.revealed[:] = kept.pulls, kept.observed, kept.revealed
    client.rule_state[:] = kept.rule_state
    return client
