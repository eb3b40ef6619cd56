"""What a live campaign remembers of one client for the rules: the lab's rule memory, as plain lists."""

import msgspec

from tutelage.rules import Orders, Rule, RuleMemory, cost, make_orders, reveal


class StoredClient(msgspec.Struct, array_like=True):
    """A client's memory as it is stored."""

    pulls: list[int]
    observed: list[float]
    revealed: list[float]
    kept: list[float]
    cost: float


def plain_orders(
    rules: tuple[Rule, ...], active_arms: tuple[int, ...], leading_arm: int | None, target: int | None
) -> Orders:
    """A directive's orders with lists where that can be, which are read in a third of the time."""
    orders = make_orders(rules, active_arms, leading_arm, target)
    return orders._replace(kinds=orders.kinds.tolist(), active=orders.active.tolist())


class ClientMemory:
    """N, Q and S of each arm, what LEVEL and LIFT keep, and the cost so far in units of [0, 1]."""

    __slots__ = ("cost", "kept", "memory", "observed", "pulls", "revealed")

    def __init__(self, num_arms: int, cost: float = 0.0) -> None:
        self.pulls, self.observed, self.revealed = [0] * num_arms, [0.0] * num_arms, [0.0] * num_arms
        self.kept = [0.0, 0.0]
        self.cost = cost
        self.memory = RuleMemory(self.pulls, self.observed, self.revealed, self.kept)  # type: ignore[arg-type]

    def reveal(self, orders: Orders, arm: int, reward: float) -> float:
        """Count a pull and give the reward to show for it, both in [0, 1]."""
        self.pulls[arm] += 1
        self.observed[arm] += reward
        value = float(reveal(orders, self.memory, arm, reward, 0.0))
        self.cost += cost(reward, value)
        self.revealed[arm] += value
        return value

    def dump(self) -> StoredClient:
        """The memory as it is stored."""
        kept = [float(value) for value in self.kept]  # rules leave numbers of numpy's there
        return StoredClient(self.pulls, self.observed, self.revealed, kept, self.cost)


def restored_client(kept: StoredClient) -> ClientMemory:
    """The memory that was stored."""
    client = ClientMemory(len(kept.pulls), kept.cost)
    client.pulls[:], client.observed[:], client.revealed[:] = kept.pulls, kept.observed, kept.revealed
    client.kept[:] = kept.kept
    return client
