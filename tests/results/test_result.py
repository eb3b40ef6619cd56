"""The result as a dataset and as a summary."""

import json

import numpy as np

from tutelage import simulator
from tutelage.engine.simulation import simulate_run
from tutelage.inference import interval_of_share
from tutelage.instances import Instance
from tutelage.results import describe_request, encode_json

TIED = Instance("tied", np.array([[0.2, 0.6, 0.6], [0.4, 0.8, 0.8]]), np.array([0.5, 0.5]))


def test_dataset_holds_every_run(outcome, dataset):
    """Pulls, cost, target, decision and events of each run are those that simulate_run gives."""
    request = outcome.request
    assert dataset.spec.values.tolist() == list(request.teacher_specs)
    for n, label in enumerate(request.teacher_labels):
        for number in range(request.runs):
            played = simulate_run(request, n, number)
            saved = dataset.sel(teacher=label, run=number)
            assert np.array_equal(saved.pulls.transpose("client", "checkpoint", "arm"), played.pulls)
            assert np.array_equal(saved.cost.transpose("client", "checkpoint"), played.costs)
            assert int(saved.target) == (-1 if played.target is None else played.target)
            assert int(saved.decided_in) == (-1 if played.decided_in is None else played.decided_in)
            happened = saved.event_round.values > 0
            assert saved.event_round.values[happened].tolist() == [event.round for event in played.events]
            targets = [-1 if event.target is None else event.target for event in played.events]
            assert saved.event_target.values[happened].tolist() == targets
            active = [np.flatnonzero(row).tolist() for row in saved.event_active.values[happened]]
            assert active == [list(event.active_arms) for event in played.events]
            assert saved.event_num_active.values[happened].tolist() == [len(arms) for arms in active]


def test_events_are_padded(dataset):
    """Runs without events hold round 0, target -1 and no active arm there."""
    none = dataset.sel(teacher="none")
    assert not none.event_round.any()
    assert (none.event_target == -1).all()
    assert not none.event_active.any()


def test_regret_follows_from_pulls_and_gaps(dataset):
    """The stored regret is pulls times gaps at every checkpoint, within rounding."""
    assert np.allclose(dataset.regret, (dataset.pulls * dataset.gap).sum("arm"), rtol=1e-12, atol=0)


def test_pulls_add_up_to_the_rounds(dataset):
    """Every client pulls one arm a round."""
    assert (dataset.pulls.sum("arm") == dataset.checkpoint).all()


def test_attributes_hold_the_whole_request(outcome, dataset):
    """The file contains the whole request, with the seed and the versions."""
    request = json.loads(dataset.attrs["request"])
    assert request == json.loads(encode_json(describe_request(outcome.request)))
    assert request["instance"]["name"] == outcome.request.instance.name
    assert request["teachers"] == ["twl(gamma1=1,gamma2=0)", "known", "none"]
    assert request["clients"] == ["ucb1"] * 3 + ["ts(update=bernoulli)"] * 2
    assert int(dataset.attrs["seed"]) == request["seed"] == 7
    assert {"tutelage", "numpy", "numba", "python"} <= dataset.attrs.keys()


def test_a_tied_arm_is_not_wrong():
    """Arms 1 and 2 are tied for best: either is right, arm 0 is wrong."""
    request = simulator.make_request(
        TIED, ["known(target=1)", "known(target=2)", "known(target=0)"], horizon=10, runs=2
    )
    summary = simulator.simulate_request(request).summary()
    assert [teacher.target.wrong for teacher in summary.teachers] == [0, 0, 2]
    assert summary.instance.best_arms == [1, 2]
    assert summary.instance.min_gap == 0


def test_summary_is_finite_and_complete(outcome):
    """The keys of the document, in order; known counts as decided from the start, none never."""
    document = json.loads(encode_json(outcome.summary()))
    assert list(document) == [
        "tutelage",
        "instance",
        "clients",
        "horizon",
        "runs",
        "seed",
        "engine",
        "teachers",
        "differences",
    ]
    twl, known, none = document["teachers"]
    assert list(twl) == [
        "teacher",
        "spec",
        "regret",
        "cost",
        "regret_per_client",
        "cost_per_client",
        "learning",
        "target",
        "consultations",
        "messages",
        "noticed",
        "pulls",
        "floors",
    ]
    assert list(twl["regret"]) == list(twl["cost"]) == ["mean", "sd", "q10", "q50", "q90", "mean_low", "mean_high"]
    all_three, no_run = list(interval_of_share(3, 3)), list(interval_of_share(0, 3))
    assert known["learning"] == {"decided": 3, "interval": all_three, "rounds": [0, 0, 0]}
    assert known["target"] == {"counts": [0, 0, 0, 0, 3], "wrong": 0, "interval": no_run}
    assert none["learning"] == {"decided": 0, "interval": no_run, "rounds": []}
    assert none["target"] == {"counts": [0] * 5, "wrong": 0, "interval": no_run}
    assert len(document["differences"]) == 2 * 3  # quantities times pairs
    assert {each["than"] for each in document["differences"]} == {"known", "none"}
    assert none["cost"]["mean"] == 0
    assert len(twl["learning"]["rounds"]) == twl["learning"]["decided"]


def test_summary_agrees_with_the_dataset(outcome, dataset):
    """Means and quantiles of the document can be worked out from the file."""
    for teacher in json.loads(encode_json(outcome.summary()))["teachers"]:
        last = dataset.sel(teacher=teacher["teacher"]).isel(checkpoint=-1)
        for name in ("regret", "cost"):
            totals = last[name].sum("client").values
            document = [teacher[name][key] for key in ("mean", "sd", "q10", "q50", "q90")]
            expected = [totals.mean(), totals.std(ddof=1), *np.quantile(totals, [0.1, 0.5, 0.9])]
            assert np.allclose(document, expected, rtol=1e-12, atol=1e-9)
            assert np.allclose(teacher[f"{name}_per_client"], last[name].mean("run"))
        assert np.allclose(teacher["pulls"], last.pulls.mean("run").transpose("client", "arm"))
