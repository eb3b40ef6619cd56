"""The live server in plain Python: requests of any pulls in any order, as the contract says a step goes.

Uses of the engine nothing, of the teachers what `tests.reference.ContractServer` uses.  All sums are made
anew from the whole history at each request: nothing is counted on the way.
"""

from dataclasses import dataclass, field

import numpy as np

from tests.reference import Pupil
from tutelage.teachers.base import Evidence


@dataclass
class AsynchronousServer:
    """One campaign; rewards in [0, 1].  ``answers`` tell of each pull what was shown, and in which epoch."""

    teacher: object
    problem: object
    rng: object
    evidence: list = field(default_factory=list)  # (client, arm, reward), since evidence began (anew)
    rounds: dict = field(default_factory=dict)  # client -> pulls
    gone: set = field(default_factory=set)
    costs: dict = field(default_factory=dict)
    events: list = field(default_factory=list)  # (round, active arms, target)
    consultations: int = 0

    def __post_init__(self):
        self.cuts = list(self.teacher.segments(self.problem))
        self.pupils = [Pupil(self.problem.num_arms) for _ in range(self.problem.num_clients)]
        self.delivered = [0] * self.problem.num_arms
        self.state = self.teacher.begin(self.problem, self.rng)
        self.directive = self.teacher.directive(self.state)

    def step(self, pulls):
        """Observe all, consult at most once, reveal in order: [(shown, epoch)]."""
        observed = []
        for m, k, x, _ in pulls:
            self.rounds[m] = self.rounds.get(m, 0) + 1
            if self.rounds[m] <= self.problem.horizon:
                observed.append((m, k, x))
        self.evidence += observed
        if observed and self.is_due():
            self.state = self.teacher.advance(self.state, self.completed())
            self.consultations += 1
            self.publish(observed)
        answers = []
        for m, k, x, bypassed in pulls:
            pupil = self.pupils[m]
            pupil.N[k] += 1
            pupil.Q[k] += x
            shown = self.shown(pupil, k, x, bypassed)
            self.costs[m] = self.costs.get(m, 0.0) + abs(shown - x)
            answers.append((shown, 1 + self.consultations))
        return answers

    def shown(self, pupil, k, x, bypassed):
        """What the rule says; a client that did not wait has seen the reward itself."""
        if not bypassed:
            return pupil.reveal(self.directive, k, x)
        pupil.z = (
            0.0 if self.directive.target is None else pupil.z + ((k != self.directive.target) - pupil.z) / 200
        )
        pupil.S[k] += x
        return x

    def exclude(self, m):
        """This client was never evidence."""
        self.gone.add(m)
        self.state = self.teacher.exclude(self.state, m)
        self.publish([])

    def rewards(self, m, k):
        """The rewards of a client's pulls of an arm, in order."""
        return [x for client, arm, x in self.evidence if (client, arm) == (m, k)]

    def counted(self):
        return [m for m in range(self.problem.num_clients) if m not in self.gone]

    def is_due(self):
        quota = self.directive.quota
        if quota is None:
            return False
        full = [
            all(len(self.rewards(m, k)) >= count for m in self.counted())
            for k, count in enumerate(quota.counts)
            if count > 0
        ]
        return all(full) if quota.mode == "all" else any(full)

    def completed(self):
        """The sums of the segments that all counted clients have completed since the last consultation."""
        found = []
        for k in range(self.problem.num_arms):
            done = min(sum(cut <= len(self.rewards(m, k)) for cut in self.cuts) for m in self.counted())
            rows = []
            for i in range(self.delivered[k], done):
                start = self.cuts[i - 1] if i else 0
                row = []
                for m in range(self.problem.num_clients):
                    total = 0.0
                    for x in self.rewards(m, k)[start : self.cuts[i]] if m not in self.gone else ():
                        total += x
                    row.append(total)
                rows.append(row)
            self.delivered[k] = done
            found.append(np.array(rows).reshape(len(rows), self.problem.num_clients))
        return Evidence(tuple(found))

    def publish(self, recent):
        before, self.directive = self.directive, self.teacher.directive(self.state)
        if self.directive.target != before.target:
            for pupil in self.pupils:
                pupil.z = 0.0
        if self.directive.restarts > before.restarts:
            self.pupils = [Pupil(self.problem.num_arms) for _ in self.pupils]
            self.delivered = [0] * self.problem.num_arms
            self.evidence = list(recent)
        self.events.append(
            (max(self.rounds.values(), default=0), list(self.directive.active_arms), self.directive.target)
        )
