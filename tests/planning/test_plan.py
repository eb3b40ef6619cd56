"""Whole plans."""

import json

import pytest
from tests import paper_epochs

from tutelage import load_instance, planning, simulator
from tutelage.errors import InputError
from tutelage.planning.decision_times import likely_horizon
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory import guarantee


def made(case, teachers=("twl", "blt"), **options):
    """A plan of three runs."""
    return planning.make_plan(planning.make_request(case, teachers, **({"runs": 3} | options)))


@pytest.fixture(scope="module")
def paper():
    """TAL, TWL and BLT with UCB1 clients on the paper's instance at its horizon."""
    return made(planning.KnownInstance(load_instance("paper")), ("tal", "twl", "blt"))


def test_tal_ends_where_the_schedule_says(paper):
    """In psi = 3, round K F(3), in simulation as in closed form."""
    tal = next(each for each in paper.choice.assessments if each.measurement.spec.startswith("tal"))
    assert tal.measurement.decided == 1
    assert set(tal.measurement.rounds.tolist()) == {paper.reach.likely["tal"].latest}
    assert paper.reach.likely["tal"].latest == 5 * paper_epochs.last_round(3)
    assert tal.measurement.epoch_counts == {3: 3}


def test_figures_are_those_of_simulate(paper):
    """The same seed plays the same runs as tutelage simulate."""
    request = simulator.make_request("paper", ["blt", "none"], "ucb1", horizon=50_000, runs=3)
    summaries = {each["teacher"]: each for each in paper.summary()["teachers"]}
    for each in simulator.simulate_request(request).summary().teachers:
        assert summaries[each.teacher]["regret"] == vars(each.regret)
        assert summaries[each.teacher]["cost"] == vars(each.cost)


def test_smaller_gaps_are_planned_too(paper):
    """Half and a quarter; at a quarter TAL and TWL cannot end (epoch 5), as the schedule says."""
    assert [gap for gap, _ in paper.smaller] == pytest.approx([0.05, 0.025])
    quarter = {each.measurement.spec.partition("(")[0]: each.measurement for each in paper.smaller[1][1].assessments}
    assert quarter["tal"].decided == quarter["twl"].decided == 0


def test_where_all_end_nothing_else_need_do(paper):
    """A remedy is for those that fail."""
    assert paper.remedies == ()
    assert paper.why == paper.choice.why


def test_the_document(paper):
    """Plain finite numbers, with what the issue names in it."""
    summary = json.loads(json.dumps(paper.summary(), allow_nan=False))
    assert summary["choice"] in [each["teacher"] for each in summary["teachers"]]
    assert summary["why"]
    for each in summary["teachers"]:
        assert set(each) == {
            "teacher", "spec", "decided", "round", "epochs", "regret", "cost", "wrong", "score", "rejection"
        }  # fmt: skip
        assert 0 <= each["decided"] <= 1
        assert (
            set(each["regret"]) == set(each["cost"]) == {*("mean", "sd", "q10", "q50", "q90", "mean_low", "mean_high")}
        )
        assert (each["round"] is None) == (each["decided"] == 0)
    assert {each["teacher"] for each in summary["teachers"]} >= {"none", "known"}
    assert summary["instance"]["name"] == "paper:rewards=bernoulli"
    assert [each["gap"] for each in summary["smaller_gaps"]] == pytest.approx([0.05, 0.025])


def test_default_candidates_cover_the_constants():
    """TAL and TWL over the same pairs of constants, BLT, and the two baselines."""
    request = planning.make_request(planning.KnownInstance(load_instance("paper")), horizon=100, runs=1)
    specs = request.first.teacher_specs
    pairs = {kind: {spec[3:] for spec in specs if spec.startswith(kind)} for kind in ("tal", "twl")}
    assert pairs["tal"] == pairs["twl"]
    assert {"(gamma1=1,gamma2=0)", "(gamma1=0,gamma2=0)"} <= pairs["tal"]
    assert sum(spec.startswith("blt") for spec in specs) == 1
    assert specs[-2:] == ("known", "none")


def test_ends_of_the_scale_are_not_doubled():
    """Who names known or none gets each once."""
    case = planning.KnownInstance(load_instance("paper"))
    request = planning.make_request(case, ["none", "known", "twl"], horizon=100, runs=1)
    assert request.first.teacher_specs == ("none", "known", "twl(gamma1=1,gamma2=0)")


def test_learning_impossible():
    """T below the first epoch: no choice, and a horizon and a gap that do, found and simulated."""
    plan = made(planning.KnownInstance(load_instance("planted:clients=3,arms=3,gap=0.1,seed=1")), horizon=100)
    assert plan.choice.best is None
    twl, blt = sorted(plan.remedies, key=lambda each: each.teacher, reverse=True)
    assert plan.summary()["choice"] is None
    closed = likely_horizon(TEACHERS.parse("twl"), plan.request.first.instance)
    assert twl.horizon.value == closed
    assert twl.horizon.decided == 1
    assert blt.horizon.enough
    assert blt.horizon.value in (200, 400, 800, 1600)
    assert twl.gap is None  # not even the first epoch fits
    assert f"{min(blt.horizon.value, closed):,} rounds" in plan.why


def test_a_gap_that_remedies():
    """With epoch 2 in time, a gap that it tells: larger than 2 CB(2) = 1/8, and simulated."""
    plan = made(
        planning.KnownInstance(load_instance("planted:clients=3,arms=3,gap=0.05,seed=2")), ["twl"], horizon=4000
    )
    (twl,) = plan.remedies
    assert 0.125 < twl.gap.value <= 0.25
    assert twl.gap.decided == 1
    assert twl.horizon.enough


def test_too_long_to_simulate_says_so():
    """What `tutelage bound` has is given as such, without a share of runs; nothing where it has nothing."""
    plan = made(
        planning.KnownInstance(load_instance("planted:clients=3,arms=3,gap=0.001,seed=2")), ["tal"], horizon=500
    )
    (tal,) = plan.remedies
    assert tal.horizon.decided is None
    promised = guarantee(plan.request.first.instance, TEACHERS.parse("tal"), [POLICIES.parse("ucb1")] * 3, 1)
    assert tal.horizon.value == promised.needed_horizon
    (tal,) = made(plan.request.case, ["tal"], horizon=500, clients="ts").remedies
    assert tal.horizon is None


def test_clients_that_do_not_explore():
    """Thompson samplers under gamma1 = 1: TAL should end by the schedule, it does not, so longer horizons are tried.

    Nothing is called sure, as no theorem speaks of them.
    """
    case = planning.KnownInstance(load_instance("planted:clients=3,arms=3,gap=0.6,seed=1"))
    plan = made(case, ["tal"], clients="ts", horizon=2000)
    assert plan.reach.likely["tal"].in_time
    assert not plan.reach.sure
    assert [TEACHERS.spec(teacher) for teacher in plan.reach.unproved] == ["tal(gamma1=1,gamma2=0)"]
    (tal,) = plan.remedies
    assert tal.horizon.value > 2000
    assert tal.horizon.enough or tal.horizon.value == 2000 * 2**4


def test_tied_arms():
    """No smaller gap, no horizon; who has a tolerance can end and be chosen."""
    case = planning.KnownInstance(load_instance("planted:clients=3,arms=3,gap=0,seed=2"))
    plan = made(case, ["tal", "blt(tolerance=0.05)"], horizon=20_000)
    assert plan.smaller == ()
    assert "tolerance=0.05" in plan.choice.best.measurement.spec
    (tal,) = plan.remedies
    assert tal.horizon is None
    json.dumps(plan.summary(), allow_nan=False)


def test_guess_has_the_unknown_means_in_its_spread():
    """Every run is another instance: no teaching loses more in some than in others, as it does not in one."""
    guess = planning.AssumedInstance(num_clients=3, num_arms=3, gap=0.3)
    plan = made(guess, ["blt"], horizon=1000, runs=8)
    none = next(each.measurement for each in plan.choice.assessments if each.measurement.spec == "none")
    single = made(planning.KnownInstance(guess.instance(0.3, 0, 0)), ["blt"], horizon=1000, runs=8)
    fixed = next(each.measurement for each in single.choice.assessments if each.measurement.spec == "none")
    assert none.regret.size == 8
    assert none.regret.std() > 3 * fixed.regret.std()
    assert none.regret[0] == fixed.regret[0]  # run 0 plays that very instance
    summary = plan.summary()["instance"]
    assert summary["min_gap"] == 0.3
    assert "global_means" not in summary


@pytest.mark.parametrize(
    "case",
    [planning.KnownInstance(load_instance("paper")), planning.AssumedInstance(num_clients=2, num_arms=3, gap=0.2)],
)
def test_one_seed_one_plan(case):
    """The same to the last digit, with any number of workers; another seed gives another."""
    options = {"horizon": 600, "runs": 2}
    request = planning.make_request(case, ["twl", "blt"], seed=5, **options)
    documents = {json.dumps(planning.make_plan(request, workers=workers).summary()) for workers in (1, 3)}
    assert len(documents) == 1
    other = planning.make_plan(planning.make_request(case, ["twl", "blt"], seed=6, **options))
    assert json.dumps(other.summary()) not in documents


def test_progress_counts_every_run():
    """It grows to the number that the request foretells."""
    seen = []

    class PlanProgress:
        def __call__(self, played):
            seen.append(played)

        def describe(self, what):
            seen.append(what)

    request = planning.make_request(
        planning.AssumedInstance(num_clients=2, num_arms=3, gap=0.2), ["twl"], horizon=300, runs=3
    )
    planning.make_plan(request, progress=PlanProgress())
    counts = [each for each in seen if not isinstance(each, str)]
    assert counts == sorted(counts)
    assert counts[-1] == request.num_runs == 3 * 3 * 3
    assert [each for each in seen if isinstance(each, str)] == ["remedies for twl"]


@pytest.mark.parametrize(("watcher", "said"), [(3, "progress 3"), ("bar", "progress 'bar'")])
def test_an_invalid_progress_is_refused(watcher, said):
    """A progress callback is a function."""
    request = planning.make_request(planning.KnownInstance(load_instance("paper")), ["twl"], horizon=10, runs=1)
    with pytest.raises(InputError, match=said):
        planning.make_plan(request, progress=watcher)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cost_weight": -1.0}, "cost weight -1"),
        ({"cost_weight": float("nan")}, "cost weight nan"),
        ({"cost_weight": float("inf")}, "cost weight inf"),
        ({"min_decided": 0.0}, "share of decided runs 0"),
        ({"min_decided": 1.5}, "share of decided runs 1.5"),
        ({"runs": 0}, "Invalid number of runs 0"),
        ({"horizon": 0}, "Invalid horizon 0"),
        ({"seed": -1}, "Invalid seed -1: use a whole number of at least 0"),
        ({"clients": "2*ucb1"}, "add up to 2"),
    ],
)
@pytest.mark.parametrize(
    "case",
    [planning.KnownInstance(load_instance("paper")), planning.AssumedInstance(num_clients=5, num_arms=3, gap=0.2)],
)
def test_bad_requests(case, options, said):
    """The offending value is named, of a given instance and of a guess."""
    with pytest.raises(InputError, match=said):
        planning.make_request(case, **options)
