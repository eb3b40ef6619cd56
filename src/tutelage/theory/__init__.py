"""The paper's bounds, the theorems on BLT, and floors as numbers.

Nothing here simulates or draws a random number; see ``tutelage.measurement``.  A function is named after what
it bounds; its docstring gives the paper's label and any departure from the paper.
"""

from tutelage.theory.blt import cost_of_levelling, deciding_pulls_of_blt, performance_of_blt, pulls_of_blt
from tutelage.theory.client_bounds import ClientBound, ExplorationBound, WarmStartBound
from tutelage.theory.epochs import (
    epoch_end,
    good_event_failure,
    horizon_needed,
    interval_failure,
    last_epoch,
    separating_epoch,
)
from tutelage.theory.eps_greedy import (
    eps_greedy_client,
    exploration_of_eps_greedy,
    learning_time_of_eps_greedy,
    random_pulls,
    rounds_to_first_reward,
    warm_start_of_eps_greedy,
)
from tutelage.theory.floors import (
    Floor,
    compute_floors,
    cost_of_greedy,
    equal_pulls,
    least_evidence,
    least_pulls,
    least_pulls_of_ucb1,
)
from tutelage.theory.guarantees import Bound, Guarantee
from tutelage.theory.setting import TheorySetting, always_acts, setting_of
from tutelage.theory.tal import (
    learning_phase_of_tal,
    learning_time_of_tal,
    performance_of_tal,
    performance_of_tal_with_eps_greedy,
    performance_of_tal_with_ucb1,
    teaching_phase_of_tal,
)
from tutelage.theory.theorems import guarantee, learning_end
from tutelage.theory.twl import (
    active_pulls_of_twl,
    inactive_pulls_of_twl,
    learning_time_of_twl,
    overshoot,
    performance_of_twl_with_ucb1,
)
from tutelage.theory.ucb1 import (
    exploration_of_ucb1,
    learning_time_of_ucb1,
    performance_of_known_target_with_ucb1,
    target_lead,
    total_pulls_of_ucb1,
    ucb1_client,
    warm_start_of_ucb1,
)

__all__ = [
    "Bound",
    "ClientBound",
    "ExplorationBound",
    "Floor",
    "Guarantee",
    "TheorySetting",
    "WarmStartBound",
    "active_pulls_of_twl",
    "always_acts",
    "compute_floors",
    "cost_of_greedy",
    "cost_of_levelling",
    "deciding_pulls_of_blt",
    "epoch_end",
    "eps_greedy_client",
    "equal_pulls",
    "exploration_of_eps_greedy",
    "exploration_of_ucb1",
    "good_event_failure",
    "guarantee",
    "horizon_needed",
    "inactive_pulls_of_twl",
    "interval_failure",
    "last_epoch",
    "learning_end",
    "learning_phase_of_tal",
    "learning_time_of_eps_greedy",
    "learning_time_of_tal",
    "learning_time_of_twl",
    "learning_time_of_ucb1",
    "least_evidence",
    "least_pulls",
    "least_pulls_of_ucb1",
    "overshoot",
    "performance_of_blt",
    "performance_of_known_target_with_ucb1",
    "performance_of_tal",
    "performance_of_tal_with_eps_greedy",
    "performance_of_tal_with_ucb1",
    "performance_of_twl_with_ucb1",
    "pulls_of_blt",
    "random_pulls",
    "rounds_to_first_reward",
    "separating_epoch",
    "setting_of",
    "target_lead",
    "teaching_phase_of_tal",
    "total_pulls_of_ucb1",
    "ucb1_client",
    "warm_start_of_eps_greedy",
    "warm_start_of_ucb1",
]
