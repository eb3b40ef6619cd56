"""Bet, level, lift: a teacher that decides by test martingales, at low cost (docs/blt.md)."""

import bisect
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.rules import KEEP, FreeLevel, Level, Lift, Rule, Set
from tutelage.teachers.base import (
    Directive,
    Evidence,
    Problem,
    Quota,
    Report,
    Routine,
    Style,
    Teacher,
    add_excluded,
    add_risk,
    bound_error,
    risk_parameter,
)
from tutelage.teachers.blt.betting import NEVER, Array, Grid, excess_of, log_mean, make_grid
from tutelage.teachers.blt.betting_scalar import MOST_CLIENTS
from tutelage.teachers.blt.routine import consult, new_routine_arrays, restore_state
from tutelage.teachers.blt.states import BltState, WindowState
from tutelage.teachers.blt.thresholds import even_log_thresholds, log_threshold, shared_log_thresholds
from tutelage.teachers.blt.totals import BettingTotals, Waiting, append_totals, create_bets
from tutelage.teachers.blt.windows import (
    LEAST_WINDOW,
    bet_window,
    close_window,
    count_window,
    dependent_bets,
    dependent_weights,
    effective_clients,
    pulls_in_windows,
    window_cuts,
    window_lengths,
)
from tutelage.teachers.dependence import dependence_parameter, groups_of
from tutelage.teachers.families.weights import listed_weights, remaining_weights

_NOTHING = Set(0.0)
_FIRST_PULLS, _LEAST_HEAD_START = 40, 3  # of an arm: by all clients together, and by each
_ANYTIME_STAKES = 20  # for an unknown horizon: the smallest is best for gaps of about 0.0005
_TOO_SOON = 0.02  # of the horizon: before that no campaign is undecidable


@dataclass(frozen=True)
class BLT(Teacher):
    """BLT: bets on which arm is best, keeps revealed means nearly equal until it decides, lifts a low target."""

    leading_arm: Literal["free", "levelled"] = parameter(
        "free",
        help="how the leading arm's rewards are revealed at clients that explore: as they are, or near the level",
    )
    rho: int = parameter(3, help="pulls of the leading arm for each pull of another active arm", minimum=1)
    growth: float = parameter(0.05, help="relative growth of the steps of the betting grid", above=0)
    tolerance: float = parameter(0.0, help="how much worse than the best arm the target may be", minimum=0, below=1)
    level: bool = parameter(
        True,
        help="whether to level active arms; false: reveal 0 until the decision, for clients that explore tied arms "
        "only",
    )
    lift: bool = parameter(True, help="whether to lift the target at clients whose mean of it is close to 0")
    stakes: int = parameter(
        0, help="number of stakes bet at once on each pair; 0 chooses it from the horizon", minimum=0, maximum=1000
    )
    head_start: int = parameter(
        8,
        help="h: first pulls of an arm that determine which rivals are worth betting on; fewer for more than 5 clients "
        "if the leading arm is free",
        minimum=0,
    )
    hope: float = parameter(
        2.0,
        help="optimism about the gap, in standard errors: learning stops once even a gap that is larger than estimated "
        "by this could not lead to a decision before the horizon",
        minimum=0,
        maximum=math.inf,
    )
    offset: float = parameter(3.0, help="a: height at which the line of an arm's revealed sum starts", minimum=0)
    band: float = parameter(1.0, help="b: largest distance between a revealed sum and its line", minimum=0)
    slack: float = parameter(6.0, help="number of pulls that an arm may be ahead of the arm with the fewest", minimum=0)
    slack_share: float = parameter(
        0.05, help="additional slack, as a share of the pulls of the arm with the fewest", minimum=0
    )
    push: float = parameter(1.0, help="o: how strongly an arm that is further ahead is pushed down", minimum=0)
    freeze_pulls: float = parameter(
        5.0, help="n_f: pulls of each active arm before a client's level is fixed", minimum=1
    )
    freeze_share: float = parameter(0.9, help="f: level as a share of the client's mean reward", minimum=0)
    risk: float | None = risk_parameter()
    dependence: str | None = dependence_parameter()

    state_type: ClassVar[type] = BltState
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)

    def __post_init__(self) -> None:
        """Check every parameter, and that the two options do not meet; dependent clients have other states."""
        super().__post_init__()
        if self.risk is not None and self.dependence is not None:
            raise InputError(
                "The teacher blt cannot have both an unknown horizon and dependence: leave out risk or dependence."
            )
        if self.dependence is not None:
            object.__setattr__(self, "state_type", WindowState)

    @property
    def style(self) -> Style | None:
        return Style("#009e73", "diamond") if self == BLT() else None

    def error_bound(self, problem: Problem) -> str:
        """docs/blt.md, "Why the target is right"."""
        error = "Wrong"
        if self.tolerance > 0.0:
            worse = (problem.num_arms - 1) * self.tolerance
            error = f"Worse than the best arm by more than {worse:.3g}, of rewards in [0, 1],"
        return bound_error(add_risk(problem, self.risk), error, self.dependence)

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the pull counts of the grid and of rho times the grid, or with dependent clients those of windows."""
        if self.dependence is None:
            return self._grid(problem).cuts
        groups_of(self.dependence, problem.num_clients)
        return window_cuts(self._lengths(problem), self.rho, problem.horizon)

    def begin(self, problem: Problem, generator: Generator) -> BltState:
        """Start with all arms active and every W = 1."""
        size, problem = problem.num_arms, add_risk(problem, self.risk)
        state: BltState = self.state_type(
            problem,
            totals=tuple(np.zeros((1, problem.num_clients)) for _ in range(size)),
            steps=((0,) * size,) * size,
            log_wealth=np.zeros((size, size, self.count_stakes(problem))),
            active_arms=tuple(range(size)),
        )
        return state

    def directive(self, state: BltState) -> Directive:
        """Level while several arms are active; then reveal the target as it is, or lifted."""
        problem, active = state.problem, state.active_arms
        rules: list[Rule] = [_NOTHING] * problem.num_arms
        begun = len(state.counts) if isinstance(state, WindowState) else 0
        if len(active) == 1:
            quota = None if problem.risk is None else self._doubling(state)
            rounds = problem.horizon if problem.risk is None else stage_horizon(self._pulls(state))
            rules[active[0]] = Lift(lift_of(problem.num_arms, rounds)) if self.lift else KEEP
            return Directive(tuple(rules), quota, active, target=active[0], windows=begun)
        if state.provisional is not None:
            rules[state.provisional] = KEEP
            return Directive(tuple(rules), None, active, leading_arm=state.provisional, windows=begun)
        windows, leading_arm = isinstance(state, WindowState), self._leading_arm(state)
        for arm in active:
            rules[arm] = self._level_rule(0 if windows else self.first_pulls_of(problem))
        counts = self._window(state) if isinstance(state, WindowState) else self._awaited(state)
        quota = Quota(counts, "all" if windows else "any") if any(counts) else None
        return Directive(tuple(rules), quota, active, leading_arm=leading_arm, windows=begun)

    @functools.lru_cache(maxsize=16)  # noqa: B019 - teachers are few and small
    def _level_rule(self, head_start: int) -> Rule:
        if not self.level:
            return _NOTHING
        shared = (float(self.rho), self.offset, self.band, self.slack, self.slack_share, self.push, self.freeze_pulls)
        if self.leading_arm == "free":
            return FreeLevel(*shared, float(head_start))
        return Level(*shared, self.freeze_share, float(head_start))

    def first_pulls_of(self, problem: Problem) -> int:
        """h, or 0 with two arms, or with a tolerance, under which any pair may matter.

        A free leading arm waits for about 40 pulls of all clients together.
        """
        if problem.num_arms <= 2 or self.tolerance > 0.0:
            return 0
        if self.leading_arm == "free":
            return min(self.head_start, max(_LEAST_HEAD_START, round(_FIRST_PULLS / problem.num_clients)))
        return self.head_start

    def count_stakes(self, problem: Problem) -> int:
        """The number of stakes, down to the one that would decide at the horizon if variances were 1/4."""
        if self.stakes or problem.risk is not None:
            return self.stakes or _ANYTIME_STAKES
        need = 2.0 * log_threshold(problem, 0, self.tolerance) * (1 + self.rho)
        clients = effective_clients(problem.weights, self.dependence) if self.dependence else problem.num_clients
        least = need / (clients * problem.horizon * (1.0 + 1.0 / self.rho) / 4.0)
        return max(1, 1 + math.floor(-math.log2(least))) if least > 0.0 else 1

    def _grid(self, problem: Problem) -> Grid:
        return make_grid(problem.horizon, self.rho, self.growth, self.first_pulls_of(problem))

    def _lengths(self, problem: Problem) -> tuple[int, ...]:
        """The pulls of an arm that does not lead in each window."""
        return window_lengths(problem.horizon, self.first_pulls_of(problem) or LEAST_WINDOW)

    def _window(self, state: WindowState) -> tuple[int, ...]:
        """The pulls of each arm in the present window."""
        return count_window(state, self._lengths(state.problem), self.rho, self._leading_arm(state))

    def _pulls(self, state: BltState) -> list[int]:
        """The pulls of each arm by each client in the sums, [K]."""
        if isinstance(state, WindowState):
            return pulls_in_windows(state, len(state.counts))
        cuts = (0, *self._grid(state.problem).cuts)
        return [cuts[len(sums) - 1] for sums in state.totals]

    def _doubling(self, state: BltState) -> Quota | None:
        """After the decision, with an unknown horizon: the pulls of the target at which T is doubled."""
        target, pulls, cuts = state.active_arms[0], self._pulls(state), self._grid(state.problem).cuts
        place = bisect.bisect_left(cuts, stage_horizon(pulls) - sum(pulls) + pulls[target])
        counts = [0] * len(pulls)
        counts[target] = cuts[place] if place < len(cuts) else 0
        return Quota(tuple(counts)) if counts[target] else None

    def _awaited(self, state: BltState) -> tuple[int, ...]:
        """For each arm the smallest pull count that a next bet still needs; 0 if none needs this arm."""
        grid, steps = self._grid(state.problem), state.steps
        counts = [0] * state.problem.num_arms
        for arm in state.active_arms:
            done, least = len(state.totals[arm]) - 1, NEVER
            for other in state.active_arms:
                if other != arm:
                    wanted = (grid.at_leading[steps[arm][other] + 1], grid.at[steps[other][arm] + 1])
                    for need in (grid.at_leading[0], *wanted):
                        if done < need < least:
                            least = need
            if least < NEVER:
                counts[arm] = grid.cuts[least - 1]
        return tuple(counts)

    def _leading_arm(self, state: BltState) -> int | None:
        """The active arm with the highest mean over the segments that all clients have completed."""
        pulls = self._pulls(state)
        weights = listed_weights(state.problem.weights, state.excluded)
        best, highest = None, -1.0
        for arm in state.active_arms:
            if pulls[arm] == 0:
                return None
            mean = 0.0
            for weight, total in zip(weights, state.totals[arm][-1].tolist(), strict=True):
                mean += weight * (total / pulls[arm])
            if mean > highest:
                best, highest = arm, mean
        return best

    def advance(self, state: BltState, evidence: Evidence) -> BltState:
        """Bet on all steps that have become complete, and rule out arms whose threshold is reached."""
        if isinstance(state, WindowState):
            cuts, leading_arm = self.segments(state.problem), self._leading_arm(state)
            closed = close_window(state, evidence, self._window(state), cuts, leading_arm)
            return self._bet_windows(closed, range(len(state.counts), len(closed.counts)))
        totals = tuple(
            append_totals(old, new) if len(new) else old for old, new in zip(state.totals, evidence.sums, strict=True)
        )
        return self._bet(state, totals, state.consultations + 1)

    def exclude(self, state: BltState, client: int) -> BltState:
        """Repeat all bets on the other clients' sums; thresholds rise by a factor M, arms may return."""
        problem = state.problem
        fresh = replace(
            state,
            steps=((0,) * problem.num_arms,) * problem.num_arms,
            log_wealth=np.zeros_like(state.log_wealth),
            active_arms=tuple(range(problem.num_arms)),
            excluded=add_excluded(state.excluded, client, problem),
            provisional=None,
        )
        if isinstance(fresh, WindowState):
            return self._bet_windows(fresh, range(len(fresh.counts)))
        return self._bet(fresh, fresh.totals, fresh.consultations)

    def routine(self, state: BltState) -> Routine | None:
        """Consultations that rule out no arm, of at most ``MOST_CLIENTS`` clients, none of them excluded."""
        problem = state.problem
        is_plain = not isinstance(state, WindowState) and problem.risk is None and not state.excluded
        is_learning = len(state.active_arms) > 1 and state.provisional is None
        if not is_plain or not is_learning or problem.num_clients > MOST_CLIENTS:
            return None
        grid, stakes = self._grid(problem), state.log_wealth.shape[2]
        bets = create_bets(problem.weights, (), stakes, self.rho)
        has_head_start = min(map(len, state.totals)) > grid.at_leading[0]
        thresholds = self._log_thresholds(state, state.totals) if has_head_start else np.full((2, 2), math.inf)
        excess, most_left = excess_of(bets, self.tolerance), (1.0 - _TOO_SOON) * problem.horizon
        arrays = new_routine_arrays(state, grid, bets, thresholds, excess, self.hope, most_left)
        return Routine(consult, arrays, functools.partial(restore_state, arrays, state))

    def report(self, state: BltState) -> Report:
        """Report the active arms, the evidence against each arm, and the target."""
        active = state.active_arms
        nothing = (None,) * state.problem.num_arms
        target = active[0] if len(active) == 1 else None
        reachable = target is not None or self.directive(state).quota is not None
        if target is not None:
            sentence = f"decided on arm {target} after {state.consultations} consultations"
        elif state.provisional is not None:
            sentence = f"undecidable before the horizon: leading clients to arm {state.provisional}, unproved"
        elif reachable:
            sentence = f"betting, {len(active)} arms active"
        else:
            sentence = "the next bets need more pulls than the horizon allows: no decision"
        return Report(
            consultations=state.consultations,
            active_arms=active,
            target=target,
            lower=nothing,
            upper=nothing,
            reachable=reachable,
            sentence=sentence,
            evidence=self._evidence(state),
            is_undecidable=state.provisional is not None,
        )

    def _evidence(self, state: BltState) -> tuple[float | None, ...]:
        """For each arm k the largest log W_jk over j, divided by the log of its threshold."""
        first = 1 if isinstance(state, WindowState) else self._grid(state.problem).at_leading[0]
        if min(map(len, state.totals)) <= first:
            return ()
        wealth, thresholds = log_mean(state.log_wealth), self._log_thresholds(state, state.totals)
        shares = np.divide(wealth, thresholds, out=np.zeros_like(wealth), where=thresholds > 0.0)
        np.fill_diagonal(shares, 0.0)
        return tuple(np.maximum.reduce(shares, axis=0, initial=0.0).tolist())

    def _bet_windows(self, state: WindowState, windows: range) -> WindowState:
        """Bet in these windows, one after the other."""
        problem = state.problem
        stakes = state.log_wealth.shape[2]
        bets = dependent_bets(problem.weights, state.excluded, self.dependence, stakes, self.rho)
        for window in windows:
            state = bet_window(state, window, bets, self.tolerance, self._log_thresholds(state, state.totals))
        return replace(state, provisional=self._leading_arm(state)) if self._is_hopeless(state) else state

    def _bet(self, state: BltState, totals: tuple[Array, ...], consultations: int) -> BltState:
        """Bet on every grid step that both arms of a pair have completed; then rule out, pair by pair."""
        grid, size = self._grid(state.problem), state.problem.num_arms
        done = [len(sums) - 1 for sums in totals]
        bet = [list(row) for row in state.steps]
        waiting: Waiting = []
        for better in state.active_arms:
            room = grid.leading_steps[done[better]]
            for worse in state.active_arms:
                last = min(room, grid.steps[done[worse]])
                if better != worse and last > bet[better][worse]:
                    waiting.append((better, worse, bet[better][worse], last))
        if not waiting or min(done) < grid.at_leading[0]:
            return replace(state, totals=totals, consultations=consultations)
        log_wealth = state.log_wealth.copy()
        bets = create_bets(state.problem.weights, state.excluded, log_wealth.shape[2], self.rho)
        betting_totals = BettingTotals(totals, grid, bets, state.excluded)
        wealth = log_wealth.reshape(size * size, -1)
        thresholds = self._log_thresholds(state, totals).ravel()
        least = np.minimum.reduce(thresholds)
        crossed: set[tuple[int, int]] = set()
        for better, worse, _, last in waiting:
            bet[better][worse] = last
        while waiting:
            gain = betting_totals.gain(waiting, self.tolerance)
            rows = [better * size + worse for better, worse, _, _ in waiting]
            gain += wealth[rows]
            wealth[rows] = gain
            if np.maximum.reduce(gain, axis=None) >= least:  # as the mean is no more than the most
                reached = np.flatnonzero(log_mean(gain) >= thresholds[rows])
                crossed.update(waiting[place][:2] for place in reached.tolist())
            waiting = [(j, k, now + 1, last) for j, k, now, last in waiting if now + 1 < last]
        left = list(state.active_arms)
        for better, worse in sorted(crossed):
            if better in left and worse in left:
                left.remove(worse)
        steps = tuple(tuple(row) for row in bet)
        fresh = BltState(state.problem, totals, steps, log_wealth, tuple(left), consultations, state.excluded)
        return replace(fresh, provisional=self._leading_arm(fresh)) if self._is_hopeless(fresh) else fresh

    def _log_thresholds(self, state: BltState, totals: tuple[Array, ...]) -> Array:
        """The logs of the thresholds of W_jk, [K, K]: T M^r over the share of j in the risk of k."""
        problem, head_start = state.problem, self.first_pulls_of(state.problem)
        if head_start == 0:
            return even_log_thresholds(problem, len(state.excluded), self.tolerance)
        row = 1 if isinstance(state, WindowState) else self._grid(problem).at_leading[0]
        first = b"".join([sums[row].tobytes() for sums in totals])
        return shared_log_thresholds(problem, state.excluded, head_start, first)

    def _is_hopeless(self, state: BltState) -> bool:
        """Whether the leading arm would rule out no other active arm before the horizon.

        This is checked for a gap ``hope`` standard errors larger than estimated.  Capital grows by about
        gap^2 / (2 variance) for each pull of the other arm, which needs rho pulls of the leading arm and one
        of each other active arm.  In the variance w_m W_g takes the place of w_m^2 with dependent clients.
        """
        problem, active = state.problem, state.active_arms
        if len(active) == 1 or math.isinf(self.hope) or problem.risk is not None:
            return False
        pulls = self._pulls(state)
        left = problem.horizon - sum(pulls)
        if left > (1.0 - _TOO_SOON) * problem.horizon or (leading_arm := self._leading_arm(state)) is None:
            return False
        weights = remaining_weights(problem.weights, state.excluded)
        shared = weights * dependent_weights(problem.weights, state.excluded, self.dependence)
        thresholds = self._log_thresholds(state, state.totals)
        means, seen = {}, {}
        for arm in active:
            means[arm] = float(weights @ state.totals[arm][-1]) / pulls[arm]
            prediction = (state.totals[arm][-1] + 0.5) / (pulls[arm] + 1.0)
            seen[arm] = float(shared @ (prediction * (1.0 - prediction)))
        for arm in active:
            if arm != leading_arm:
                error = math.sqrt(seen[leading_arm] / pulls[leading_arm] + seen[arm] / pulls[arm])
                gap = means[leading_arm] - means[arm] + self.hope * error
                lacking = thresholds[leading_arm, arm] - float(log_mean(state.log_wealth[leading_arm, arm]))
                variance = seen[leading_arm] / self.rho + seen[arm]
                if 2.0 * variance * lacking * (len(active) - 1 + self.rho) <= gap * gap * left:
                    return False
        return True


def stage_horizon(pulls: Sequence[int]) -> int:
    """Return the smallest power of 2 above the pulls [K], which takes the place of an unknown horizon."""
    return 1 << sum(pulls).bit_length()


def lift_of(num_arms: int, horizon: int) -> float:
    """L = min(1, (2 (K - 1) log T / T)^(1/3)), the revealed mean to which a target is lifted."""
    exploration = 2.0 * (num_arms - 1) * math.log(horizon) / horizon
    return float(min(1.0, exploration ** (1.0 / 3.0)))
