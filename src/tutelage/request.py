"""What is to be simulated: an instance, teachers, policies, a horizon, runs and a seed, all resolved."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import sub_gaussian_of
from tutelage.instances.base import Instance, Phase
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, Teacher

Engine = Literal["auto", "step", "leap"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
DEFAULT_ENGINE: Engine = "auto"
# Client-rounds of a run, its clients times its horizon, from which on `auto` leaps.  A run with fewer takes at most
# about a second step by step, and the first one less than the compilation of a leap
# (docs/decisions/0015-two-engines.md).
LEAPS_FROM = 5_000_000
MOST_CURVES = 4096  # clients whose curves are recorded one by one; of more clients the sum is


def make_problem(instance: Instance, horizon: int, teacher: Teacher) -> Problem:
    """Return what this teacher may know about an instance."""
    return Problem(
        num_clients=instance.num_clients,
        num_arms=instance.num_arms,
        horizon=horizon,
        weights=tuple(instance.weights.tolist()),
        best_arm=instance.best_arm if teacher.needs_best_arm else None,
        sub_gaussian=sub_gaussian_of(instance.rewards),
    )


@dataclass(frozen=True, eq=False)
class SimulationRequest:
    """A simulation with every default filled in and every SPEC resolved to an object.

    ``policies`` has one entry per client.  ``checkpoints`` [C] are rounds in 1 .. T, increasing, the last one
    T.  ``exclude`` maps clients to the round after which each is no longer evidence.  With ``exclude_after``
    a client is also excluded once it has not pulled for more than that many of its usual intervals.
    ``engine`` says how clients are played (docs/speed.md): ``step`` goes round by round, ``leap`` leaps where that has
    the same distribution.  ``simulator.make_request`` chooses one of them for ``auto``.
    With ``binary_reveals`` only 0 and 1 are revealed (``rules.round_reveal``).
    ``command`` is the command that simulates it, empty for what only Python can ask for.
    ``simulator.make_request`` checks all of it.
    """

    instance: Instance
    teachers: tuple[Teacher, ...]
    policies: tuple[Policy, ...]
    horizon: int
    runs: int
    seed: int
    checkpoints: NDArray[np.int64]
    exclude: Mapping[int, int] = dataclasses.field(default_factory=dict)
    exclude_after: float | None = None
    engine: Literal["step", "leap"] = "step"
    binary_reveals: bool = False
    command: str = ""

    @functools.cached_property
    def recorded_rounds(self) -> NDArray[np.int64]:
        """The rounds after which the state of a run is recorded: checkpoints, and rounds where means shift."""
        shifts = [phase.after for phase in self.instance.phases[1:] if phase.after < self.horizon]
        return np.union1d(self.checkpoints, np.array(shifts, dtype=np.int64))

    @property
    def sums_clients(self) -> bool:
        """Whether curves are summed over clients, and each client is recorded in :attr:`client_rounds` only."""
        return self.instance.num_clients > MOST_CURVES

    @functools.cached_property
    def client_rounds(self) -> NDArray[np.int64]:
        """The rounds after which each client is recorded: of many clients those where means shift, and T."""
        if not self.sums_clients:
            return self.recorded_rounds
        shifts = {phase.after for phase in self.instance.phases[1:] if phase.after < self.horizon}
        return np.array([*sorted(shifts), self.horizon], dtype=np.int64)

    @property
    def final_phase(self) -> Phase:
        """The phase that contains the horizon."""
        return [phase for phase in self.instance.phases if phase.after < self.horizon][-1]

    @property
    def teacher_specs(self) -> tuple[str, ...]:
        """The canonical SPEC of each teacher [N]."""
        return tuple(TEACHERS.spec(teacher) for teacher in self.teachers)

    @property
    def teacher_labels(self) -> tuple[str, ...]:
        """The label of each teacher [N]: its SPEC without the parameters that have their default."""
        return tuple(TEACHERS.label(teacher) for teacher in self.teachers)

    @property
    def client_specs(self) -> tuple[str, ...]:
        """The canonical SPEC of each client's policy [M]."""
        return map_distinct(POLICIES.spec, self.policies)

    @property
    def client_labels(self) -> tuple[str, ...]:
        """The label of each client's policy [M]: its SPEC without the parameters that have their default."""
        return map_distinct(POLICIES.label, self.policies)

    @property
    def count_type(self) -> type[np.int32] | type[np.int64]:
        """The smallest integer type that holds any count of pulls."""
        return np.int32 if self.horizon < 2**31 else np.int64

    def problem_for(self, teacher: Teacher) -> Problem:
        """Return what this teacher may know about the instance."""
        knows_best = bool(teacher.needs_best_arm)
        if knows_best not in self._problems:
            self._problems[knows_best] = make_problem(self.instance, self.horizon, teacher)
        return self._problems[knows_best]

    @functools.cached_property
    def _problems(self) -> dict[bool, Problem]:
        """Problems that were asked for, by whether the teacher needs the best arm."""
        return {}


def map_distinct(function: Callable[[Any], Any], things: Sequence[Any]) -> tuple[Any, ...]:
    """Return the function's value for each thing; it is called once for the same object."""
    values = {key: function(thing) for key, thing in {id(thing): thing for thing in things}.items()}
    return tuple(values[id(thing)] for thing in things)
