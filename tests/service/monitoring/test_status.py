"""The status items of a campaign: by example, and properties that hold for every view."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.factories import every_status, learning_view, silence_client, with_activity, with_metrics

from tutelage.service.dashboard.panels import render_panels
from tutelage.service.monitoring.status import DEFAULTS, KINDS, Thresholds, rank, status_of
from tutelage.service.monitoring.status.stalled import find_silent_clients
from tutelage.service.monitoring.status.unservable import unservable

EXAMPLES = every_status()
PHASES = {"learning", "undecidable", "decided", "finished", "stopped", "registering"}


@pytest.mark.parametrize(
    ("name", "kind", "severity"),
    [
        ("learning", "learning", "info"),
        ("slow", "slow", "warning"),
        ("stalled", "stalled", "critical"),
        ("arm avoided", "arm avoided", "critical"),
        ("horizon too short by rate", "horizon too short", "warning"),
        ("horizon too short", "horizon too short", "critical"),
        ("out of reach", "horizon too short", "critical"),
        ("decided", "decided", "info"),
        ("undecidable", "undecidable", "warning"),
        ("store lagging", "store lagging", "warning"),
        ("store failed", "store lagging", "critical"),
        ("no data", "no data", "critical"),
        ("no data, decided", "no data", "warning"),
        ("id conflict", "id conflict", "critical"),
        ("replays", "replays", "warning"),
        ("follower", "follower", "info"),
        ("finished", "finished", "info"),
        ("outdated", "outdated", "warning"),
        ("stopped", "stopped", "info"),
        ("registering", "registering", "info"),
    ],
)
def test_each_kind_is_the_most_severe_of_its_example(name, kind, severity):
    """The view made for a kind has that item, and no more severe one."""
    worst = status_of(EXAMPLES[name])[0]
    assert (worst.kind, worst.severity) == (kind, severity)


def test_the_examples_cover_the_alerts():
    """All ten of them, except that of a campaign without a view; a new one may have its own test."""
    kinds = {status_of(view)[0].kind for view in EXAMPLES.values()}
    alerts = {kind.name for kind in KINDS if kind.is_alert}
    assert len(alerts & kinds) == 10
    assert unservable.name in alerts - kinds


def test_every_item_has_a_documented_severity():
    """Each kind declares a case for every severity that its check can return."""
    cases = {(kind.name, severity) for kind in KINDS for severity in kind.cases}
    found = {(item.kind, item.severity) for view in EXAMPLES.values() for item in status_of(view)}
    assert found <= cases
    assert all(when.endswith(".") and action.endswith(".") for kind in KINDS for when, action in kind.cases.values())


def test_stalled_names_client_arm_and_missing_pulls():
    """Also the silence, and a command in which a shell reads each name as one word."""
    view = learning_view(clients=("a", "it's; rm -rf ~", "c", "d", "e"))
    view = silence_client(view, 1)
    item = status_of(view)[0]
    arm = int(view.metrics.missing[1].argmax())
    assert f"{view.metrics.missing[1, arm]} more pulls of “{view.metrics.arms[arm]}”" in item.details
    assert "5 min 46 s" in item.details
    assert "from it's; rm -rf ~ only" in item.details
    assert item.command == """tutelage campaign exclude spring-offers 'it'"'"'s; rm -rf ~'"""


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ([57, 0, 0, 0, 0], "“arm 00” from"),
        ([57, 57, 57, 57, 0], "“arm 00” (and as many of 3 other arms) from"),
        ([57, 3, 0, 9, 0], "“arm 00” (and fewer of 2 other arms) from"),
        ([57, 57, 1, 9, 0], "“arm 00” (and as many of 1 other arm and fewer of 2 other arms) from"),
    ],
    ids=["one", "tie", "fewer", "both"],
)
def test_stalled_says_how_many_pulls_other_arms_lack(missing, words):
    """A tie is not called fewer."""
    view = silence_client(learning_view(), 0)
    lacking = np.zeros_like(view.metrics.missing)
    lacking[0] = missing
    assert f"57 more pulls of {words}" in status_of(with_metrics(view, missing=lacking))[0].details


def test_no_client_is_slow_when_all_are_silent():
    """Before that counts as missing data too: no client differs from the others."""
    good = learning_view()
    some = good.activity.silence.copy()
    some[:-1] = 45.0
    kinds = {
        quiet: {item.kind for item in status_of(with_activity(good, silence=silence))}
        for quiet, silence in (("some", some), ("all", np.full(5, 45.0)))
    }
    assert "slow" in kinds["some"]
    assert kinds["all"] == {"learning"}


def test_a_failed_store_is_one_item():
    """Refused pulls are its effect: that no client pulls and that the quota waits is not said as well."""
    view = with_activity(EXAMPLES["store failed"], silence=np.full(5, 400.0), window_pulls=np.zeros((5, 5), dtype=int))
    assert [item.kind for item in status_of(view)] == ["store lagging", "learning"]
    works = replace(view, server=EXAMPLES["learning"].server)
    assert [item.kind for item in status_of(works) if item.severity == "critical"] == ["no data"]


@pytest.mark.parametrize(("mode", "pair"), [("all", (2, 3)), ("any", (1, 4))])
def test_learning_names_the_pair_furthest_behind(mode, pair):
    """The item, its share and the number at the top of the page are those of the pair that decides."""
    good = learning_view()
    quota = int(good.metrics.quota[0])
    collected = np.full_like(good.metrics.pulls, quota)
    collected[:, 0], collected[2, 3], collected[1, 4] = quota // 3, quota // 25, quota // 2
    collected[0, 1:3] = quota // 4
    view = with_metrics(good, evidence_pulls=collected, mode=mode)
    made, metrics = int(collected[pair]), view.metrics
    assert metrics.deciding_pair == pair
    share = f"{100 * made // quota} %"
    (item,) = (item for item in status_of(view) if item.kind == "learning")
    assert (
        f"{metrics.clients[pair[0]]} with “{metrics.arms[pair[1]]}”: {made} of {quota} pulls ({share})" in item.details
    )
    panels = render_panels(view).panels
    assert f"<b>{share}</b>" in panels["numbers"]
    assert f">{share[:-2]}</td>" in panels["quota"]


def test_a_name_that_looks_like_an_option():
    """The command has two dashes before it."""
    view = silence_client(learning_view(clients=("--all", "b", "c", "d", "e")), 0)
    assert status_of(view)[0].command == "tutelage campaign exclude -- spring-offers --all"


def test_a_silent_client_stalls_only_once_the_others_are_done():
    """Until then it is slow: the quota waits for others as well."""
    view = silence_client(learning_view(), 0)
    collected = view.metrics.evidence_pulls.copy()
    collected[1, 0] = 1
    window = view.activity.window_pulls
    view = with_activity(with_metrics(view, evidence_pulls=collected), window_pulls=window)
    assert status_of(view)[0].kind == "slow"


def test_a_rare_client_is_not_silent_before_twenty_intervals():
    """A client that pulls once a minute has 20 minutes."""
    view = silence_client(learning_view(), 0, seconds=1_100.0)
    rare = with_activity(view, usual_interval=np.full(5, 60.0))
    assert "stalled" not in {item.kind for item in status_of(rare)}
    patient = Thresholds(stalled_intervals=5.0)
    assert status_of(rare, patient)[0].kind == "stalled"


def test_a_quota_of_any_arm_is_blocked_only_if_every_arm_is():
    """It can be met by an arm that the silent client has pulled often enough."""
    view = with_metrics(silence_client(learning_view(), 0), mode="any")
    assert status_of(view)[0].kind == "stalled"
    collected = view.metrics.evidence_pulls.copy()
    collected[0, 2] = 10_000
    collected[1, 2] = 1
    view = with_metrics(view, evidence_pulls=collected)
    assert "stalled" not in {item.kind for item in status_of(view)}


def test_the_last_client_cannot_be_excluded():
    """The item does not advise it."""
    view = learning_view(1, 5)
    window = view.activity.window_pulls.copy()
    window[0, 4] = 0
    window[0, 0] = 400
    item = status_of(with_activity(view, window_pulls=window))[0]
    assert item.kind == "arm avoided"
    assert item.command == ""


@pytest.mark.parametrize("num_avoiding", [1, 2])
def test_one_client_is_not_excluded_for_an_arm_that_all_avoid(num_avoiding):
    """Excluding one would change nothing; if another client pulls the arm, exclusion is advised."""
    view = learning_view(2, 5)
    window = np.full((2, 5), 400)
    window[:num_avoiding, 4] = 0
    missing = np.full_like(view.metrics.missing, 10)
    view = with_metrics(with_activity(view, window_pulls=window), missing=missing)
    (item,) = (item for item in status_of(view) if item.kind == "arm avoided")
    assert ("campaign exclude" in item.command) is (num_avoiding == 1)
    assert ("All clients avoid this arm" in item.action) is (num_avoiding == 2)


def test_decided_gives_bounds_in_the_units_of_the_rewards():
    """Rewards from -10 to 10: a lower bound of 0.64 is 2.8."""
    view = with_metrics(EXAMPLES["decided"], low=-10.0, high=10.0)
    metrics = view.metrics
    item = next(item for item in status_of(view) if item.kind == "decided")
    assert f"at least {-10 + 20 * metrics.lower[0]:.3f}" in item.details
    assert f"at most {-10 + 20 * np.delete(metrics.upper, 0).max():.3f}" in item.details
    assert "1/T = 0.00002" in item.details
    assert "position 70,000" in item.details


def test_a_decision_shows_the_error_bound_of_the_teacher():
    """The sentence is the teacher's own; without one the item has none."""
    for sentence in ("Wrong with probability at most 1/T = 0.00002.", ""):
        view = with_metrics(EXAMPLES["decided"], error_bound=sentence)
        assert sentence in status_of(view)[0].details
        assert ("1/T" in status_of(view)[0].details) == bool(sentence)


def test_undecidable_names_the_arm_and_claims_nothing():
    """Clients are led to an arm that is not proven best; no other item is shown."""
    (item,) = status_of(EXAMPLES["undecidable"])
    assert item.title == "No decision expected; clients are led to “arm 00”, which is not proven best."
    assert "does not expect to tell the 5 arms that are still active apart by round 50,000" in item.details
    assert "without a guarantee" in item.details
    assert "1/T" not in item.details
    assert "longer horizon, fewer arms or, with blt, a tolerance" in item.action
    assert (item.command, item.client) == ("", None)


def test_an_undecidable_campaign_ends_without_a_decision():
    """At the horizon the arm is still named as one that is not proven best; a stop is shown as a stop."""
    view = EXAMPLES["undecidable"]
    finished = with_metrics(view, horizon=int(view.metrics.rounds.min()))
    details = status_of(finished)[0].details
    assert "without a decision, and clients were led to “arm 00”, which is not proven best" in details
    assert status_of(with_metrics(view, status="stopped"))[0].kind == "stopped"


def test_an_unreachable_decision_needs_another_campaign():
    """No client is blamed; the command is the one after which clients see the observed rewards."""
    item = status_of(EXAMPLES["out of reach"])[0]
    assert (item.client, item.command) == (None, "tutelage campaign stop spring-offers")
    assert "longer horizon or fewer arms" in item.action


def test_only_a_client_with_too_few_rounds_is_to_be_excluded():
    """It is named; if all clients have too few rounds, no exclusion would help."""
    view = learning_view()
    pulls = view.metrics.pulls.copy()
    pulls[2] += 9_000
    view = with_metrics(view, pulls=pulls, horizon=int(pulls.sum(axis=1).max()) + 7)
    item = status_of(view)[0]
    missing = int(view.metrics.missing[2].sum())
    assert item.details == (f"base station 002 has 7 rounds left but still needs {missing:,} pulls for consultation 3.")
    assert item.command == "tutelage campaign exclude spring-offers 'base station 002'"
    pulls[3] = pulls[2]
    two = status_of(with_metrics(view, pulls=pulls))[0]
    assert "; 1 other client shows the same." in two.details
    assert two.client is not None
    every = status_of(with_metrics(view, pulls=pulls * 0 + pulls[2]))[0]
    assert "no other client has enough rounds left" in every.details
    assert (every.client, every.command) == (None, "tutelage campaign stop spring-offers")


def test_a_quota_of_any_arm_needs_rounds_for_one_arm_only():
    """A client with enough rounds for the arm that lacks least is not short of rounds."""
    view = with_metrics(learning_view(1, 3), mode="any")
    fewest = int(view.metrics.missing[0].min())
    for left, kind in ((fewest, "learning"), (fewest - 1, "horizon too short")):
        short = with_metrics(view, horizon=view.metrics.round + left)
        item = status_of(with_activity(short, window_seconds=0.0))[0]
        assert item.kind == kind
    assert f"{fewest - 1} rounds left but still needs {fewest} pulls" in item.details


def silence_all(num_clients, seconds, excluded=()):
    """A view in which all clients are silent, except the excluded ones."""
    is_evidence = np.array([client not in excluded for client in range(num_clients)])
    good = with_metrics(learning_view(num_clients, 3), is_evidence=is_evidence)
    return with_activity(good, silence=np.where(is_evidence, seconds, 0.5))


@pytest.mark.parametrize(
    ("num_clients", "seconds", "excluded", "title", "details"),
    [
        (4, 90.0, (), "Stalled: no client pulls.", "for 1 min 30 s. Consultation 3 waits most for "),
        (1, 90.0, (), "Stalled: no client pulls.", "for 1 min 30 s. Consultation 3 waits most for "),
        (4, 300.0, (1,), "No data.", "No client has pulled an arm for 5 min, except excluded clients."),
        (4, 300.0, (1, 2, 3), "No data.", "No client has pulled an arm for 5 min, except excluded clients."),
        (4, 300.0, (), "No data.", "No client has pulled an arm for 5 min."),
    ],
    ids=["all", "the only one", "all but an excluded one", "all but three excluded ones", "all for long"],
)
def test_no_exclusion_is_advised_when_no_client_pulls(num_clients, seconds, excluded, title, details):
    """The platform is down: that is critical, and an exclusion, which cannot be undone, is not advised."""
    status = status_of(silence_all(num_clients, seconds, excluded))
    assert (status[0].severity, status[0].title) == ("critical", title)
    assert details in status[0].details
    assert "platform" in status[0].action
    assert not any("exclude" in item.command or item.kind == "slow" for item in status)


def test_an_interval_is_known_from_enough_pulls():
    """After two pulls at one time and 40 seconds of silence no client is slow."""
    view = EXAMPLES["slow"]
    assert status_of(view)[0].kind == "slow"
    unknown = np.zeros_like(view.activity.is_interval_known)
    assert status_of(with_activity(view, is_interval_known=unknown))[0].kind == "learning"


def test_a_forecast_names_no_client_before_a_minute_of_pulls():
    """A client that pulls rarely may just have no pull yet."""
    good = learning_view()
    window = good.activity.window_pulls.copy()
    window[0] = 0
    for seconds, kind in ((59.0, "learning"), (61.0, "slow")):
        view = with_activity(good, window_pulls=window, window_seconds=seconds)
        assert status_of(view)[0].kind == kind


@pytest.mark.parametrize("mode", ["all", "any"])
def test_nothing_is_forecast_without_pulls(mode):
    """Nor from the pulls of excluded clients, for whom no arm is missing."""
    good = with_metrics(learning_view(active=(1, 2)), mode=mode)
    assert "the rest will take" in status_of(good)[0].details
    is_evidence = np.array([False, True, True, True, True])
    good = with_metrics(good, is_evidence=is_evidence)
    window = good.activity.window_pulls * ~is_evidence[:, None]
    for pulls in (window, window * 0):
        status = status_of(with_activity(good, window_pulls=pulls))
        item = next(item for item in status if item.kind == "learning")
        assert "the rest will take" not in item.details
        assert item.details.startswith("Consultation 3 waits most for ")


def test_no_client_is_slow_before_any_pulls():
    """Just after the start no client has a forecast, so they have no median to compare with."""
    view = learning_view()
    window = view.activity.window_pulls.copy()
    nothing = with_activity(view, window_pulls=window * 0, silence=np.full(5, 20.0))
    assert [item.kind for item in status_of(nothing)] == ["learning"]
    window[:, 0] = 0
    assert "slow" not in {item.kind for item in status_of(with_activity(view, window_pulls=window))}


@st.composite
def views(draw):
    """Any campaign: any pulls, silences, modes, statuses."""
    num_clients, num_arms = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    view = learning_view(num_clients, num_arms, seed=draw(st.integers(0, 99)))
    size = (num_clients, num_arms)

    def array(strategy, shape):
        flat = draw(st.lists(strategy, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        return np.array(flat).reshape(shape)

    is_evidence = array(st.booleans(), (num_clients,))
    is_evidence[draw(st.integers(0, num_clients - 1))] = True
    view = with_metrics(
        view,
        evidence_pulls=array(st.sampled_from([0, 100, 612, 613, 700]), size),
        quota=array(st.sampled_from([0, 613]), (num_arms,)),
        is_evidence=is_evidence,
        mode=draw(st.sampled_from(["all", "any"])),
        status=draw(st.sampled_from(["running", "running", "running", "stopped", "registering"])),
        reachable=draw(st.sampled_from([True, True, False])),
        target=draw(st.sampled_from([None, None, None, 0])),
        provisional_arm=draw(st.sampled_from([None, None, 0])),
        horizon=draw(st.sampled_from([1, 2500, 50_000])),
    )
    view = with_activity(
        view,
        silence=array(st.sampled_from([0.0, 30.0, 61.0, 500.0]), (num_clients,)),
        usual_interval=array(st.sampled_from([float("nan"), 0.1, 2.0, 60.0]), (num_clients,)),
        is_interval_known=array(st.booleans(), (num_clients,)),
        window_pulls=array(st.sampled_from([0, 1, 400]), size),
        window_seconds=draw(st.sampled_from([0.0, 5.0, 300.0])),
        conflicts=draw(st.sampled_from([0, 0, 3])),
        replays=draw(st.sampled_from([0, 5, 1000])),
    )
    server = replace(
        view.server,
        leads=draw(st.booleans()),
        commit_seconds=draw(st.sampled_from([None, 0.001, 0.3, 11.0])),
        failure=draw(st.sampled_from([None, None, "The disk is full."])),
    )
    return replace(view, server=server, measured=view.now - draw(st.sampled_from([0, 0, 60])))


@given(views())
def test_items_are_ordered_and_one_of_them_is_the_phase(view):
    """The list is in order, has no kind twice and one phase, and is the same every time."""
    status = status_of(view)
    assert status == sorted(status, key=rank)
    assert len({item.kind for item in status}) == len(status)
    assert sum(item.kind in PHASES for item in status) == 1
    assert all(item.title and item.kind for item in status)
    assert status == status_of(view)


@given(views())
def test_undecidable_is_shown_exactly_while_it_holds(view):
    """The campaign is running and leads to an arm that is not the target; no contrary item is shown."""
    metrics, kinds = view.metrics, {item.kind for item in status_of(view)}
    assert ("undecidable" in kinds) == (metrics.is_learning and metrics.provisional_arm is not None)
    if "undecidable" in kinds:
        assert kinds.isdisjoint({"horizon too short", "decided", "learning"})
    elif metrics.is_learning and not metrics.reachable:
        assert "horizon too short" in kinds


@given(views())
def test_stalled_is_shown_exactly_while_only_silent_clients_are_missing(view):
    """For a quota of any arm: while each of its arms lacks pulls of a silent client."""
    metrics, silent = view.metrics, find_silent_clients(view, DEFAULTS)
    assert not silent[~metrics.is_evidence].any()
    stuck = (metrics.missing > 0) & silent[:, None]
    if metrics.mode == "any":
        blocked = bool(metrics.in_quota.any()) and bool(stuck.any(axis=0)[metrics.in_quota].all())
    else:
        blocked = bool(stuck.any()) and not bool(((metrics.missing > 0) & ~silent[:, None]).any())
    stalled = [item for item in status_of(view) if item.kind == "stalled"]
    quiet = view.activity.silence[metrics.is_evidence].min()
    is_own_cause = view.server.failure is None and quiet <= DEFAULTS.idle_seconds
    assert bool(stalled) == (metrics.is_learning and blocked and is_own_cause)
    if stalled:
        assert not any("the rest will take" in item.details for item in status_of(view))
    if stalled and silent[metrics.is_evidence].all():  # the platform is down: no client is to blame
        assert (stalled[0].client, stalled[0].command) == (None, "")
    elif stalled:
        client = stalled[0].client
        assert stuck[client].any()
        assert metrics.clients[client] in stalled[0].title


@given(views())
def test_silence_of_all_clients_is_critical_while_learning_waits(view):
    """Excluded clients change nothing, and no exclusion is advised for it."""
    metrics, quiet = view.metrics, view.activity.silence[view.metrics.is_evidence].min()
    severities = {item.kind: item.severity for item in status_of(view)}
    is_running = metrics.status == "running" and not metrics.is_finished
    assert ("no data" in severities) == (is_running and quiet > 120 and view.server.failure is None)
    if "no data" in severities:
        waits = metrics.is_learning and metrics.missing.any()
        assert severities["no data"] == ("critical" if waits else "warning")
        assert "slow" not in severities
        assert "stalled" not in severities


@given(views())
def test_an_exclusion_that_is_advised_is_possible(view):
    """The command names a client that is not excluded, and there is another one."""
    for item in status_of(view):
        if "exclude" in item.command:
            assert view.metrics.is_evidence[item.client]
            assert view.metrics.is_evidence.sum() > 1
