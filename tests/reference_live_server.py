"""The live server in plain Python: requests with any pulls in any order, each one step of the contract.

Of the package it uses only what `tests.reference.ContractServer` uses.  All sums are computed again from the
whole history at each request, so no count can go wrong on the way.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.reference import RuleClient
from tutelage.teachers.base import Evidence


@dataclass
class ReferenceLiveServer:
    """One campaign; rewards in [0, 1].  ``answers`` tell of each pull what was revealed, and in which epoch."""

    teacher: Any
    problem: Any
    rng: Any
    evidence: list = field(default_factory=list)  # (client, arm, reward), since the start or the latest restart
    rounds: dict = field(default_factory=dict)  # client -> pulls
    left_out: set = field(default_factory=set)  # clients whose next step a window leaves out
    excluded: set = field(default_factory=set)
    costs: dict = field(default_factory=dict)
    events: list = field(default_factory=list)  # (round, active arms, target)
    consultations: int = 0

    def __post_init__(self):
        self.cuts = list(self.teacher.segments(self.problem))
        self.client_rules = [RuleClient(self.problem.num_arms) for _ in range(self.problem.num_clients)]
        self.delivered = [0] * self.problem.num_arms
        self.state = self.teacher.begin(self.problem, self.rng)
        self.directive = self.teacher.directive(self.state)

    def step(self, pulls):
        """Observe all pulls, consult at most once, reveal in order: [(revealed, directive)]."""
        observed, counted = [], []
        seen = {m: self.rounds.get(m, 0) for m, _, _, _ in pulls}
        for m, k, x, bypassed in pulls:
            self.rounds[m] = self.rounds.get(m, 0) + 1
            if self.rounds[m] <= self.problem.horizon:
                observed.append((m, k, x))
                if not (self.directive.windows and (bypassed or m in self.left_out)):
                    counted.append((m, k, x))
        self.evidence += counted
        self.left_out -= {m for m, _, _, bypassed in pulls if not bypassed}
        if observed and self.is_due():
            self.state = self.teacher.advance(self.state, self.completed())
            self.consultations += 1
            self.publish(observed)
        answers = []
        for m, k, x, bypassed in pulls:
            rules = self.client_rules[m]
            rules.N[k] += 1
            rules.Q[k] += x
            beyond = seen[m] >= self.problem.horizon
            seen[m] += 1
            revealed = self.reveal(rules, k, x, bypassed or beyond)
            self.costs[m] = self.costs.get(m, 0.0) + abs(revealed - x)
            answers.append((revealed, 0 if beyond else 1 + self.consultations))
        return answers

    def reveal(self, rules, k, x, bypassed):
        """Return the revealed reward; a bypassed client has seen the observed reward."""
        if not bypassed:
            return rules.reveal(self.directive, k, x)
        rules.z = 0.0 if self.directive.target is None else rules.z + ((k != self.directive.target) - rules.z) / 200
        rules.S[k] += x
        return x

    def exclude(self, m):
        """Exclude a client: go on as if it had never been evidence."""
        self.excluded.add(m)
        self.state = self.teacher.exclude(self.state, m)
        self.publish([])

    def rewards(self, m, k):
        """Return the rewards of a client's pulls of an arm, in order."""
        return [x for client, arm, x in self.evidence if (client, arm) == (m, k)]

    def clients_in_evidence(self):
        return [m for m in range(self.problem.num_clients) if m not in self.excluded]

    def is_due(self):
        quota = self.directive.quota
        if quota is None:
            return False
        full = [
            all(len(self.rewards(m, k)) >= count for m in self.clients_in_evidence())
            for k, count in enumerate(quota.counts)
            if count > 0
        ]
        return all(full) if quota.mode == "all" else any(full)

    def completed(self):
        """The sums of the segments that all clients in evidence have completed since the last consultation."""
        found = []
        for k in range(self.problem.num_arms):
            done = min(sum(cut <= len(self.rewards(m, k)) for cut in self.cuts) for m in self.clients_in_evidence())
            rows = []
            for i in range(self.delivered[k], done):
                start = self.cuts[i - 1] if i else 0
                row = []
                for m in range(self.problem.num_clients):
                    total = 0.0
                    for x in self.rewards(m, k)[start : self.cuts[i]] if m not in self.excluded else ():
                        total += x
                    row.append(total)
                rows.append(row)
            self.delivered[k] = done
            found.append(np.array(rows).reshape(len(rows), self.problem.num_clients))
        return Evidence(tuple(found))

    def publish(self, recent):
        before, self.directive = self.directive, self.teacher.directive(self.state)
        if self.directive.target != before.target:
            for rules in self.client_rules:
                rules.z = 0.0
        if self.directive.restarts > before.restarts:
            self.client_rules = [RuleClient(self.problem.num_arms) for _ in self.client_rules]
            self.delivered = [0] * self.problem.num_arms
            self.evidence = list(recent)
        if self.directive.windows > before.windows:
            self.left_out = set(range(self.problem.num_clients))
            self.delivered = [0] * self.problem.num_arms
            self.evidence = []
        self.events.append(
            (
                min(max(self.rounds.values(), default=0), self.problem.horizon),
                list(self.directive.active_arms),
                self.directive.target,
            )
        )
