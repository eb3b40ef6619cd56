"""A run of the simulator repeated over HTTP: the same pulls in the same rounds, and the comparison."""

import dataclasses
import itertools

import numpy as np
from tests.simulated_run import simulate_once

from tutelage import instances
from tutelage.conditions import Conditions, MeanShift
from tutelage.metrics import compute_pseudo_regret
from tutelage.request import make_problem
from tutelage.simulator import parse_clients
from tutelage.teachers import TEACHERS

MIXED = "2*ucb1,2*eps-greedy,1*ts"
# With gaps so large TAL and TWL settle within the horizon; on the paper's instance they would decide nothing.
MEANS = "0.9,0.2,0.5\n0.8,0.1,0.9\n0.9,0.3,0.1\n0.7,0.2,0.3\n0.9,0.1,0.2\n"
HORIZON = 500
# It decides, restarts and decides within the horizon on the instance of shifted().  With a free leading arm it decides
# before it has pulled the other arms often enough to notice the shift so soon.
SHIFTED = (
    'change-detector(teacher="blt(leading_arm=levelled,rho=2,offset=2.5,slack=5,slack_share=0.1,push=2)",growth=0.2)'
)


def far_apart(folder):
    """Five clients and three arms, far apart; arm 0 is the best."""
    (folder / "means.csv").write_text(MEANS)
    return instances.load(str(folder / "means.csv"))


def shifted(instance):
    """After round 150 the best arm and the worst one change places; the mean of the third is far above the worst."""
    means = instance.local_means.copy()
    means[:, 2] = 0.65
    shift = MeanShift(150, means[:, [1, 0, 2]])
    return dataclasses.replace(instance, local_means=means, conditions=Conditions(shifts=(shift,)))


def created(server, teacher, problem, seed):
    """A running campaign."""
    server.keys_changed()  # the server's loop stood still for as long as the simulator played
    made = server.create(
        teacher=teacher,
        horizon=problem.horizon,
        seed=seed,
        clients=[f"m{m}" for m in range(problem.num_clients)],
        arms=[f"k{k}" for k in range(problem.num_arms)],
        weights=[float(weight) for weight in problem.weights],
    )
    assert made.status_code == 201, made.text


def sent(number, m, k, reward, **more):
    """A pull as it is sent."""
    return {"id": str(number), "client": f"m{m}", "arm": f"k{k}", "reward": float(reward)} | more


def events_of(server):
    """Every decision and exclusion: round, active arms, target."""
    decisions, after = [], 0
    while after is not None:
        page = server.call("GET", "/v1/campaigns/c/decisions", params={"after": after, "limit": 300}).json()
        decisions += page["decisions"]
        after = page["next"]
    return [(one["round"], one["active_arms"], one["target"]) for one in decisions]


def named(events):
    """Events with arms as the server names them."""
    return [
        (round, [f"k{k}" for k in active], None if target is None else f"k{target}") for round, active, target in events
    ]


def turns(targets):
    """Each target when it was new, without the None that it begins with."""
    return [target for before, target in itertools.pairwise([None, *targets]) if target != before]


class SimulatedRun:
    """A run of the simulator, round by round against a campaign of its own on a server."""

    def __init__(self, server, instance, spec, horizon=HORIZON):
        self.instance, self.horizon = instance, horizon
        teacher = TEACHERS.parse(spec)
        self.run = simulate_once(
            instance,
            parse_clients(MIXED, 5),
            teacher,
            horizon=horizon,
            seed=3,
            run=0,
            checkpoints=np.array([horizon]),
            trace=True,
        )
        created(server, spec, make_problem(instance, horizon, teacher), 3)

    def pulls(self, t):
        """What is sent for a round, from 0."""
        trace = self.run.trace
        return [sent(5 * t + m, m, trace.arms[m, t], trace.observed[m, t]) for m in range(5)]

    def check_answers(self, t, response):
        """Revealed rewards, bit for bit."""
        assert response.status_code == 200, response.text
        revealed = [one["reward"] for one in response.json()["pulls"]]
        assert revealed == self.run.trace.revealed[:, t].tolist()

    def check_rounds(self, server, rounds):
        """Play these rounds."""
        for t in rounds:
            self.check_answers(t, server.pull(*self.pulls(t)))

    def check_end(self, server):
        """Events, pulls, regret and cost, bit for bit."""
        state = server.call("GET", "/v1/campaigns/c/totals").json()
        assert state["costs"] == self.run.costs[:, -1].tolist()
        assert state["pulls"] == self.run.pulls[:, -1].tolist()
        gaps = self.instance.gaps
        regret = compute_pseudo_regret(np.array(state["pulls"]), gaps)
        assert regret.tolist() == compute_pseudo_regret(self.run.pulls[:, -1], gaps).tolist()
        events = [(event.round, event.active_arms, event.target) for event in self.run.events]
        assert events_of(server) == named(events)


def check_against_the_lab(server, instance, spec, horizon=HORIZON):
    """All of a run; gives it."""
    play = SimulatedRun(server, instance, spec, horizon)
    play.check_rounds(server, range(horizon))
    play.check_end(server)
    return play.run
