"""Outcomes of runs, collected into arrays."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.metrics import compute_phased_regret
from tutelage.request import SimulationRequest
from tutelage.results.result import NONE, SimulationResult
from tutelage.run_outcome import RunEvent, RunOutcome


def result_size(request: SimulationRequest) -> int:
    """Return the bytes of memory that pulls, regret and cost of all runs need."""
    num_clients, num_arms, runs = request.instance.num_clients, request.instance.num_arms, request.runs
    if request.sums_clients:
        rows = len(request.teachers) * runs
        curves = request.checkpoints.size * (num_arms + 2) * 8
        return rows * (curves + num_clients * (num_arms * np.dtype(request.count_type).itemsize + 2 * 8))
    rows = len(request.teachers) * runs * num_clients * request.checkpoints.size
    return rows * (num_arms * np.dtype(request.count_type).itemsize + 2 * 8)


class Collector:
    """Puts outcomes of runs, in any order, into arrays that are made once."""

    def __init__(self, request: SimulationRequest) -> None:
        self.request = request
        instance = request.instance
        self.recorded_rounds = request.recorded_rounds
        self.checkpoint_positions = np.searchsorted(self.recorded_rounds, request.checkpoints)
        self.phases = [(phase.after, phase.gaps) for phase in instance.phases]
        each = (len(request.teachers), request.runs)
        sums = request.sums_clients
        shape = (*each, 1 if sums else instance.num_clients, request.checkpoints.size)
        self.pulls: NDArray[np.integer[Any]] = np.zeros(
            (*shape, instance.num_arms), np.int64 if sums else request.count_type
        )
        self.regret, self.cost = np.zeros(shape), np.zeros(shape)
        self.final_pulls, self.final_regret, self.final_cost = (
            self.pulls[..., -1, :],
            self.regret[..., -1],
            self.cost[..., -1],
        )
        if sums:
            each_client = (*each, instance.num_clients)
            self.final_pulls = np.zeros((*each_client, instance.num_arms), request.count_type)
            self.final_regret, self.final_cost = np.zeros(each_client), np.zeros(each_client)
        self.target = np.full(each, NONE, dtype=np.int32)
        self.decided_in = np.full(each, NONE, dtype=np.int64)
        self.consultations = np.zeros(each, dtype=np.int32)
        self.reachable = np.zeros(each, dtype=np.bool_)
        self.messages = np.zeros(each, dtype=np.int64)
        self.noticed_in = np.zeros((*each, instance.num_clients), dtype=np.int64)
        self.num_events = 0
        self.event_round = np.zeros((*each, 1), dtype=np.int64)
        self.event_target = np.full((*each, 1), NONE, dtype=np.int32)
        self.event_active = np.zeros((*each, 1, instance.num_arms), dtype=np.bool_)
        self.undecided: list[Counter[str]] = [Counter() for _ in request.teachers]

    def put(self, outcome: RunOutcome) -> None:
        """Add the outcome of one run."""
        at = (outcome.teacher, outcome.run)
        pulls, costs, checkpoints = outcome.pulls, outcome.costs, self.checkpoint_positions
        if outcome.total_pulls is not None and outcome.total_costs is not None:
            regret = compute_phased_regret(pulls, self.request.client_rounds, self.phases)
            self.final_pulls[at], self.final_regret[at], self.final_cost[at] = pulls[:, -1], regret[:, -1], costs[:, -1]
            pulls, costs = outcome.total_pulls[None], outcome.total_costs[None]
        self.pulls[at] = pulls[:, checkpoints]
        self.regret[at] = compute_phased_regret(pulls, self.recorded_rounds, self.phases)[:, checkpoints]
        self.cost[at] = costs[:, checkpoints]
        self.target[at] = _or_none(outcome.target)
        self.decided_in[at] = _or_none(outcome.decided_in)
        self.consultations[at] = outcome.report.consultations
        self.reachable[at] = outcome.report.reachable
        self.messages[at] = outcome.messages
        self.noticed_in[at] = outcome.noticed_in
        if outcome.target is None:
            self.undecided[outcome.teacher][outcome.report.sentence] += 1
        self._put_events(at, outcome.events)

    def _put_events(self, at: tuple[int, int], events: tuple[RunEvent, ...]) -> None:
        self.num_events = max(self.num_events, len(events))
        if self.num_events > self.event_round.shape[-1]:
            self._make_room(self.num_events)
        self.event_round[at][: len(events)] = [event.round for event in events]
        self.event_target[at][: len(events)] = [_or_none(event.target) for event in events]
        active = [(position, arm) for position, event in enumerate(events) for arm in event.active_arms]
        positions, arms = np.array(active, dtype=np.intp).reshape(-1, 2).T
        self.event_active[at][positions, arms] = True

    def _make_room(self, size: int) -> None:
        """Make room for twice this many events per run, and keep those collected so far."""
        more = 2 * size - self.event_round.shape[-1]
        last = ((0, 0), (0, 0), (0, more))
        self.event_round = np.pad(self.event_round, last)
        self.event_target = np.pad(self.event_target, last, constant_values=NONE)
        self.event_active = np.pad(self.event_active, (*last, (0, 0)))

    def finish(self) -> SimulationResult:
        """Return the result, once every run has been put."""
        size = max(1, self.num_events)  # NetCDF would take a dimension of size 0 for an unlimited one
        names = {field.name for field in dataclasses.fields(SimulationResult)} - {"undecided"}
        values = {name: getattr(self, name) for name in names}
        events = {name: values[name][:, :, :size] for name in ("event_round", "event_target", "event_active")}
        undecided = tuple(_by_number(counter) for counter in self.undecided)
        return SimulationResult(**values | events, undecided=undecided)


class GroupCollector:
    """Puts outcomes of runs, in any order, into the results of requests that differ in instances and seeds only."""

    def __init__(self, requests: Sequence[SimulationRequest]) -> None:
        self.requests = requests
        self.num_left = sum(request.runs * len(request.teachers) for request in requests)

    @functools.cached_property
    def collectors(self) -> list[Collector]:
        """One for each request, from the first outcome on: before it they would only take memory."""
        return [Collector(request) for request in self.requests]

    @property
    def is_complete(self) -> bool:
        return self.num_left == 0

    def put(self, request: int, outcome: RunOutcome) -> None:
        """Add the outcome of one run of the request of that number."""
        self.collectors[request].put(outcome)
        self.num_left -= 1

    def finish(self) -> list[SimulationResult]:
        """Return the result of each request, once every run has been put; the collectors are forgotten."""
        finished = [collector.finish() for collector in self.collectors]
        del self.collectors
        return finished


def _or_none(value: int | None) -> int:
    return NONE if value is None else value


def _by_number(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Sort by number, largest first, then by sentence, so that the order of the runs does not matter."""
    return tuple(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
