"""The states of a campaign: by example, and what holds for whatever figures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service import factories

from tutelage.service.monitoring.durations import UNKNOWN, duration
from tutelage.service.monitoring.status import ALERTS, CANNOT_BE_SERVED, ORDER, silent_clients, states_of
from tutelage.service.monitoring.thresholds import Thresholds

STATES = factories.every_state()
BASES = {"learning", "given up", "decided", "horizon reached", "stopped", "registering"}


@pytest.mark.parametrize(
    ("name", "kind", "colour"),
    [
        ("learning", "learning", "plain"),
        ("slow", "slow", "amber"),
        ("stalled", "stalled", "red"),
        ("avoids an arm", "avoids an arm", "red"),
        ("cannot end by pace", "cannot end", "amber"),
        ("cannot end", "cannot end", "red"),
        ("out of reach", "cannot end", "red"),
        ("decided", "decided", "green"),
        ("given up", "given up", "amber"),
        ("store lagging", "store lagging", "amber"),
        ("store failed", "store lagging", "red"),
        ("no data", "no data", "red"),
        ("no data, decided", "no data", "amber"),
        ("conflict", "conflict", "red"),
        ("replays", "replays", "amber"),
        ("follower", "follower", "note"),
        ("horizon reached", "horizon reached", "grey"),
        ("cut off", "cut off", "amber"),
        ("stopped", "stopped", "grey"),
        ("registering", "registering", "plain"),
    ],
)
def test_each_state_is_the_worst_of_its_example(name, kind, colour):
    """The figures made for a state are in it, and nothing is worse."""
    worst = states_of(STATES[name])[0]
    assert (worst.kind, worst.colour) == (kind, colour)


def test_every_alert_has_an_example():
    """No alert goes untested; of a campaign that cannot be served there are no figures."""
    kinds = {states_of(figures)[0].kind for figures in STATES.values()}
    assert set(ALERTS) == kinds & set(ALERTS) | {CANNOT_BE_SERVED}


def test_every_state_is_on_the_operators_page():
    """docs/dashboard.md says of each state and colour what it asks."""
    page = (Path(__file__).parents[3] / "docs" / "dashboard.md").read_text(encoding="utf-8")
    for kind, colour in ORDER:
        assert f"| {kind} | {'none' if colour == 'plain' else colour} |" in page


def test_stalled_says_who_what_and_how_much():
    """Client, arm, missing pulls, silence, and a command that a shell reads as one name each."""
    figures = factories.learning(clients=("a", "it's; rm -rf ~", "c", "d", "e"))
    figures = factories.silenced(figures, 1)
    state = states_of(figures)[0]
    arm = int(figures.taken.missing[1].argmax())
    assert f"{figures.taken.missing[1, arm]} more pulls of “{figures.taken.arms[arm]}”" in state.sentence
    assert "5 min 46 s" in state.sentence
    assert "alone" in state.sentence
    assert state.command == """tutelage campaign exclude spring-offers 'it'"'"'s; rm -rf ~'"""


def test_a_name_that_looks_like_an_option_is_none():
    """Its command has dashes before it."""
    figures = factories.silenced(factories.learning(clients=("--all", "b", "c", "d", "e")), 0)
    assert states_of(figures)[0].command == "tutelage campaign exclude -- spring-offers --all"


def test_a_silent_client_stalls_only_once_the_others_are_done():
    """Until then it is slow: others are waited for as well."""
    figures = factories.silenced(factories.learning(), 0)
    collected = figures.taken.collected.copy()
    collected[1, 0] = 1
    window = figures.recent.window
    figures = factories.with_recent(factories.with_taken(figures, collected=collected), window=window)
    assert states_of(figures)[0].kind == "slow"


def test_a_rare_client_is_not_silent_before_twenty_gaps():
    """Whoever pulls once a minute has 20 minutes."""
    figures = factories.silenced(factories.learning(), 0, seconds=1_100.0)
    rare = factories.with_recent(figures, usual_interval=np.full(5, 60.0))
    assert "stalled" not in {state.kind for state in states_of(rare)}
    patient = Thresholds(stalled_intervals=5.0)
    assert states_of(rare, patient)[0].kind == "stalled"


def test_a_quota_of_any_arm_is_blocked_only_if_every_arm_is():
    """One listed arm that the silent client has pulled enough is a way out."""
    figures = factories.with_taken(factories.silenced(factories.learning(), 0), mode="any")
    assert states_of(figures)[0].kind == "stalled"
    collected = figures.taken.collected.copy()
    collected[0, 2] = 10_000
    collected[1, 2] = 1
    figures = factories.with_taken(figures, collected=collected)
    assert "stalled" not in {state.kind for state in states_of(figures)}


def test_the_last_client_cannot_be_excluded():
    """It is not told to be."""
    figures = factories.learning(1, 5)
    window = figures.recent.window.copy()
    window[0, 4] = 0
    window[0, 0] = 400
    state = states_of(factories.with_recent(figures, window=window))[0]
    assert state.kind == "avoids an arm"
    assert state.command == ""


def test_decided_tells_bounds_in_the_senders_units():
    """Rewards from -10 to 10: a lower bound of 0.64 is 2.8."""
    figures = factories.with_taken(STATES["decided"], low=-10.0, high=10.0)
    taken = figures.taken
    state = next(state for state in states_of(figures) if state.kind == "decided")
    assert f"at least {-10 + 20 * taken.lower[0]:.3f}" in state.sentence
    assert f"at most {-10 + 20 * np.delete(taken.upper, 0).max():.3f}" in state.sentence
    assert "1/T = 0.00002" in state.sentence
    assert "position 70,000" in state.remedy


def test_a_decision_shows_the_error_bound_of_the_teacher():
    """The sentence is the teacher's own; a teacher without one says nothing."""
    for sentence in ("Wrong with probability at most 1/T = 0.00002.", ""):
        figures = factories.with_taken(STATES["decided"], error_bound=sentence)
        assert states_of(figures)[0].sentence.endswith(sentence)
        assert ("1/T" in states_of(figures)[0].sentence) == bool(sentence)


def test_given_up_says_what_is_so_and_what_it_asks():
    """An arm that is led to and not proved; nothing is said of a quota, of who is slow, or of an end."""
    figures = STATES["given up"]
    (state,) = states_of(figures)
    assert state.headline == "No decision; all are led to “arm 00”, unproved."
    assert "no hope of telling the 5 arms in play apart by round 50,000" in state.sentence
    assert "claims nothing of it" in state.sentence
    assert "1/T" not in state.sentence
    assert "longer horizon, fewer arms or, with blt, a tolerance" in state.remedy
    assert (state.command, state.client) == ("", None)


def test_what_was_given_up_ends_without_a_decision():
    """At the horizon the arm is still told, and still as one that is not proved; so is a stop."""
    figures = STATES["given up"]
    over = factories.with_taken(figures, horizon=int(figures.taken.rounds.min()))
    assert "without a decision, and clients were led to “arm 00”, which is not proved" in (
        states_of(over)[0].sentence
    )
    assert states_of(factories.with_taken(figures, status="stopped"))[0].kind == "stopped"


def test_out_of_reach_asks_for_another_campaign():
    """No client is to blame; the line to type is the one after which rewards are shown as they are."""
    state = states_of(STATES["out of reach"])[0]
    assert (state.client, state.command) == (None, "tutelage campaign stop spring-offers")
    assert "longer horizon or fewer arms" in state.remedy


def test_without_rounds_only_who_has_too_few_is_to_exclude():
    """If one client has too few rounds left, it is named; if all have, no exclusion would help."""
    figures = factories.learning()
    pulls = figures.taken.pulls.copy()
    pulls[2] += 9_000
    figures = factories.with_taken(figures, pulls=pulls, horizon=int(pulls.sum(axis=1).max()) + 7)
    state = states_of(figures)[0]
    missing = int(figures.taken.missing[2].sum())
    assert state.sentence == f"base station 002 has 7 rounds left and misses {missing} pulls of directive 3."
    assert state.command == "tutelage campaign exclude spring-offers 'base station 002'"
    pulls[3] = pulls[2]
    two = states_of(factories.with_taken(figures, pulls=pulls))[0]
    assert "; 1 other client likewise." in two.sentence
    assert two.client is not None
    every = states_of(factories.with_taken(figures, pulls=pulls * 0 + pulls[2]))[0]
    assert "no other client has rounds enough" in every.sentence
    assert (every.client, every.command) == (None, "tutelage campaign stop spring-offers")


def test_of_a_quota_of_any_arm_the_least_is_missed():
    """A client that has rounds for one listed arm is not out of them."""
    figures = factories.with_taken(factories.learning(1, 3), mode="any")
    least = int(figures.taken.missing[0].min())
    at = figures.taken.round
    for left, kind in ((least, "learning"), (least - 1, "cannot end")):
        state = states_of(factories.with_recent(factories.with_taken(figures, horizon=at + left), span=0.0))[
            0
        ]
        assert state.kind == kind
    assert f"{least - 1} rounds left and misses {least} pulls" in state.sentence


def silent_all(num_clients, seconds, excluded=()):
    """All clients that count have been silent for so long; the excluded ones pull on."""
    good = factories.learning(num_clients, 3)
    counted = np.array([client not in excluded for client in range(num_clients)])
    silent = np.where(counted, seconds, 0.5)
    return factories.with_recent(factories.with_taken(good, counted=counted), silent=silent)


@pytest.mark.parametrize(
    ("num_clients", "seconds", "excluded", "headline", "sentence"),
    [
        (4, 90.0, (), "Stalled: nobody pulls.", "for 1 min 30 s; directive 3 is 7"),
        (1, 90.0, (), "Stalled: nobody pulls.", "for 1 min 30 s; directive 3 is 7"),
        (4, 300.0, (1,), "No data.", "No client that counts has pulled an arm for 5 min; excluded ones do."),
        (4, 300.0, (1, 2, 3), "No data.", "No client that counts has pulled an arm for 5 min"),
        (4, 300.0, (), "No data.", "No client has pulled an arm for 5 min."),
    ],
    ids=["all", "the only one", "all but a excluded one", "the last that counts", "all for long"],
)  # fmt: skip
def test_nobody_is_to_exclude_when_nobody_pulls(num_clients, seconds, excluded, headline, sentence):
    """The platform is down: it is red, and what cannot be undone is not advised."""
    states = states_of(silent_all(num_clients, seconds, excluded))
    assert (states[0].colour, states[0].headline) == ("red", headline)
    assert sentence in states[0].sentence
    assert "platform" in states[0].remedy
    assert not any("exclude" in state.command or state.kind == "slow" for state in states)


def test_a_gap_is_judged_from_enough_pulls():
    """After two pulls in one moment and 40 seconds of silence nobody is slow."""
    some = STATES["slow"].recent
    assert states_of(STATES["slow"])[0].kind == "slow"
    new = factories.with_recent(STATES["slow"], is_usual=np.zeros_like(some.is_usual))
    assert states_of(new)[0].kind == "learning"


def test_a_forecast_blames_nobody_before_a_minute_of_pulls():
    """A client that pulls rarely has no pull yet; that says nothing."""
    good = factories.learning()
    window = good.recent.window.copy()
    window[0] = 0
    for span, kind in ((59.0, "learning"), (61.0, "slow")):
        assert states_of(factories.with_recent(good, window=window, span=span))[0].kind == kind


@pytest.mark.parametrize("mode", ["all", "any"])
def test_nothing_is_foretold_from_no_pulls(mode):
    """Nor from those of the excluded, where arms that are not listed lack nothing."""
    good = factories.with_taken(factories.learning(active=(1, 2)), mode=mode)
    assert "it will be full in" in states_of(good)[0].sentence
    counted = np.array([False, True, True, True, True])
    good = factories.with_taken(good, counted=counted)
    window = good.recent.window * ~counted[:, None]
    for made in (window, window * 0):
        told = next(
            state for state in states_of(factories.with_recent(good, window=made)) if state.kind == "learning"
        )
        assert "it will be full" not in told.sentence
        assert "filled" in told.sentence


def test_nobody_is_slow_before_anybody_pulls():
    """Just started, all have no end in sight: there is no median to be slower than."""
    figures = factories.learning()
    nothing = factories.with_recent(figures, window=figures.recent.window * 0, silent=np.full(5, 20.0))
    assert [state.kind for state in states_of(nothing)] == ["learning"]
    window = figures.recent.window.copy()
    window[:, 0] = 0
    assert "slow" not in {state.kind for state in states_of(factories.with_recent(figures, window=window))}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.003, "3 ms"), (0.035, "35 ms"), (0.0999, "0.1 s"), (0.4, "0.4 s"), (46, "46 s"),
        (346, "5 min 46 s"), (3600, "1 h"),
        (11_520, "3 h 12 min"), (86_400 * 2 + 7200, "2 d 2 h"), (float("nan"), UNKNOWN),
        (float("inf"), UNKNOWN),
    ],
)  # fmt: skip
def test_durations(seconds, words):
    """The two largest units."""
    assert duration(seconds) == words


@st.composite
def figures(draw):
    """Any campaign: any pulls, silences, modes, statuses."""
    num_clients, num_arms = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    made = factories.learning(num_clients, num_arms, seed=draw(st.integers(0, 99)))
    size = (num_clients, num_arms)

    def array(strategy, shape):
        flat = draw(st.lists(strategy, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        return np.array(flat).reshape(shape)

    counted = array(st.booleans(), (num_clients,))
    counted[draw(st.integers(0, num_clients - 1))] = True
    made = factories.with_taken(
        made,
        collected=array(st.sampled_from([0, 100, 612, 613, 700]), size),
        quota=array(st.sampled_from([0, 613]), (num_arms,)),
        counted=counted,
        mode=draw(st.sampled_from(["all", "any"])),
        status=draw(st.sampled_from(["running", "running", "running", "stopped", "registering"])),
        reachable=draw(st.sampled_from([True, True, False])),
        target=draw(st.sampled_from([None, None, None, 0])),
        provisional=draw(st.sampled_from([None, None, 0])),
        horizon=draw(st.sampled_from([1, 2500, 50_000])),
    )
    made = factories.with_recent(
        made,
        silent=array(st.sampled_from([0.0, 30.0, 61.0, 500.0]), (num_clients,)),
        usual_interval=array(st.sampled_from([float("nan"), 0.1, 2.0, 60.0]), (num_clients,)),
        is_usual=array(st.booleans(), (num_clients,)),
        window=array(st.sampled_from([0, 1, 400]), size),
        span=draw(st.sampled_from([0.0, 5.0, 300.0])),
        conflicts=draw(st.sampled_from([0, 0, 3])),
        replays=draw(st.sampled_from([0, 5, 1000])),
    )
    server = replace(
        made.server,
        leads=draw(st.booleans()),
        disk=draw(st.sampled_from([None, 0.001, 0.3, 11.0])),
        failure=draw(st.sampled_from([None, None, "The disk is full."])),
    )
    return replace(made, server=server, time=made.now - draw(st.sampled_from([0, 0, 60])))


@given(figures())
def test_exactly_one_worst(figures):
    """The list has one beginning and one base, is in order, tells nothing twice, and is always the same."""
    states = states_of(figures)
    places = [ORDER.index((state.kind, state.colour)) for state in states]
    assert places == sorted(places)
    assert len({state.kind for state in states}) == len(states)
    assert sum(state.kind in BASES for state in states) == 1
    assert all(state.headline and state.kind for state in states)
    assert states == states_of(figures)


@given(figures())
def test_given_up_is_told_while_it_is_so_and_never_with_its_opposite(figures):
    """It is told of a running campaign that leads to an arm that is no target; nothing else tells its end."""
    taken, kinds = figures.taken, {state.kind for state in states_of(figures)}
    assert ("given up" in kinds) == (taken.is_learning and taken.provisional is not None)
    if "given up" in kinds:
        assert kinds.isdisjoint({"cannot end", "decided", "learning"})
    elif taken.is_learning and not taken.reachable:
        assert "cannot end" in kinds


@given(figures())
def test_stalled_is_told_exactly_while_all_that_is_missing_is_of_silent_clients(figures):
    """Of a quota for any arm: while each listed arm lacks pulls of one.  Excluded clients change nothing."""
    taken, silent = figures.taken, silent_clients(figures)
    assert not silent[~taken.counted].any()
    stuck = (taken.missing > 0) & silent[:, None]
    if taken.mode == "any":
        blocked = bool(taken.listed.any()) and bool(stuck.any(axis=0)[taken.listed].all())
    else:
        blocked = bool(stuck.any()) and not bool(((taken.missing > 0) & ~silent[:, None]).any())
    stalled = [state for state in states_of(figures) if state.kind == "stalled"]
    assert bool(stalled) == (taken.is_learning and blocked)
    if stalled:
        assert not any("it will be full" in state.sentence for state in states_of(figures))
    if stalled and silent[taken.counted].all():  # the platform is down: no client is to blame
        assert (stalled[0].client, stalled[0].command) == (None, "")
    elif stalled:
        client = stalled[0].client
        assert stuck[client].any()
        assert taken.clients[client] in stalled[0].headline


@given(figures())
def test_silence_of_all_who_count_is_red_where_learning_waits(figures):
    """Whatever excluded clients do; the banner says that nobody pulls, and no exclusion is advised for it."""
    taken, quiet = figures.taken, figures.recent.silent[figures.taken.counted].min()
    states = states_of(figures)
    told = {state.kind: state.colour for state in states}
    is_running = taken.status == "running" and not taken.is_over
    assert ("no data" in told) == (is_running and quiet > 120)
    if "no data" in told:
        assert told["no data"] == ("red" if taken.is_learning and taken.missing.any() else "amber")
        assert "slow" not in told
        kinds = [state.kind for state in states]
        if "stalled" in told:
            assert kinds.index("no data") < kinds.index("stalled")


@given(figures())
def test_a_exclusion_that_is_advised_is_possible(figures):
    """A command to exclude names a client that counts, beside another one."""
    for state in states_of(figures):
        if "exclude" in state.command:
            assert figures.taken.counted[state.client]
            assert figures.taken.counted.sum() > 1
