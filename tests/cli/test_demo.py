"""The demo: a server, five clients that know nothing of teaching, and what is printed about them."""

import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from rich.console import Console

from tests.cli.commands import run_on_terminal
from tests.reference import UCB1, EpsilonGreedy, Thompson, generator
from tutelage.cli.app import execute
from tutelage.cli.demo_clients import CLIENTS, DemoClient, DemoClients
from tutelage.cli.demo_output import DemoOutput
from tutelage.instances.paper import LOCAL_MEANS
from tutelage.seeding import POLICY, REWARDS


def test_demo_runs_over_http_and_removes_its_files(tmp_path, python):
    """In a pipe: lines, an end that says what was taught, no colours; its folder and its server are gone."""
    environment = os.environ | {"TMPDIR": str(tmp_path), "TUTELAGE_HOST": "no.such.host", "TUTELAGE_PORT": "x"}
    ran = python("-m", "tutelage", "demo", "--horizon", "30", "--seed", "3", env=environment, cwd=tmp_path)
    assert ran.stdout.startswith("Dashboard: http://127.0.0.1:")
    assert "round 30: active arms" in ran.stdout
    assert "blt has not decided on an arm in 30 rounds." in ran.stdout
    assert "150 pulls lost " in ran.stdout
    assert "Teaching has not paid yet: " in ran.stdout
    assert "\x1b" not in ran.stdout
    assert ran.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_a_table(monkeypatch):
    """A display that is redrawn, with a row for each client; a given target is named, no proxy is asked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    shown, _ = run_on_terminal("demo", "--horizon", "150", "--teacher", "known(target=4)")
    assert "favourite arm" in shown
    assert "eps-greedy 3" in shown
    assert "The teacher decided on arm 4, the best arm for all." in shown
    assert "\x1b[?25h" in shown  # the cursor is back


@pytest.mark.parametrize("columns", [40, 50, 66, 67, 80])
def test_client_names_are_not_cut_off(columns):
    """On a narrow terminal headings are shorter, or fewer."""
    clients = DemoClients(1, 10)
    campaign = {
        "clients": [f"{spec} {number}" for number, spec in enumerate(CLIENTS)],
        "target": None,
        "round": 10_000,
        "horizon": 10_000,
        "active_arms": ["arm 0", "arm 4"],
        "report": "betting, 2 arms active",
        "cost": 0.0,
    }
    output, text = DemoOutput(), io.StringIO()
    output._console = Console(file=text, width=columns)
    output._console.print(output._create_view(campaign, clients))
    lines = text.getvalue().splitlines()
    for client in campaign["clients"]:
        assert any(line.startswith(client) for line in lines), text.getvalue()
    assert "still learning: any of 2 arms may be the best" in " ".join(text.getvalue().split()) or columns < 60
    assert "betting" not in text.getvalue()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_files_and_no_server(tmp_path, number):
    """Ctrl-C and SIGTERM in the middle: one line, status 130, no folder, no server."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-u", "-m", "tutelage", "demo", "--teacher", "none"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        for line in running.stdout:
            if line.startswith("Dashboard"):
                break
        time.sleep(0.5)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "Interrupted.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--teacher", "na"),
        ("--teacher", "nobody"),
        ("--horizon", "0"),
        ("--seed", "-1"),
        ("--pace", "-1"),
        ("--port", "70000"),
        ("--teacher", "known(target=9)"),
    ],
)
def test_errors_are_one_sentence(capfd, arguments):
    """Status 2 and no traceback."""
    assert execute(["demo", *arguments]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_clients_choose_as_the_reference_does(tmp_path):
    """Pull by pull the same as the plain transcriptions, from the same randomness."""
    kinds = {"ucb1": UCB1, "eps-greedy": EpsilonGreedy, "ts": Thompson}
    for number, kind in enumerate(CLIENTS):
        player, pulled = DemoClient(number, LOCAL_MEANS[number], 5), []
        expected, client = [], kinds[kind](5)
        choices, rewards = generator(5, 0, 1, number, POLICY), generator(5, 0, 1, number, REWARDS)

        def shown(arm, observed, pulled=pulled):
            pulled.append(arm)
            return 1.0 - 0.3 * observed  # rewards inside (0, 1], too

        for t in range(1, 400):
            player.pull(shown)
            arm = client.choose(t, choices)
            expected.append(arm)
            observed = 1.0 if rewards.random() < LOCAL_MEANS[number][arm] else 0.0
            client.learn(arm, 1.0 - 0.3 * observed, choices)
        assert pulled == expected


def test_regret_is_of_the_pulls_made():
    """From the known gaps; the twins have made as many pulls, and nobody has taught them."""
    clients = DemoClients(seed=2, horizon=600)
    clients.start(lambda client, arm, reward: float(arm == 4))
    while not clients.are_finished:
        time.sleep(0.01)
    regret, untaught = clients.compute_regrets()
    gaps = np.array([0.4, 0.3, 0.2, 0.1, 0.0])  # the paper's global means are .3 .4 .5 .6 .7
    assert regret == pytest.approx(sum(gaps @ player.agent.learner.counts for player in clients.taught))
    assert untaught == pytest.approx(sum(gaps @ twin.agent.learner.counts for twin in clients.twins))
    assert [twin.round for twin in clients.twins] == [600] * 5
    assert clients.all_follow(4)
    assert not clients.all_follow(3)


def test_the_end_says_whether_teaching_paid(capsys):
    """In euros: what untaught twins lost more, minus the cost; the events come once, in order."""
    clients, output = DemoClients(seed=1, horizon=400), DemoOutput()
    clients.start(lambda client, arm, reward: float(arm == 4))
    while not clients.are_finished:
        time.sleep(0.01)
    regret, untaught = clients.compute_regrets()
    campaign = {"round": 100, "target": None, "cost": 0.0, "teacher": "blt", "active_arms": ["arm 4"]}
    output.update(campaign, clients, None, is_last=False)
    decided = campaign | {"round": 200, "target": "arm 4", "cost": 10 * untaught}
    output.update(decided, clients, 4, is_last=False)
    paid = decided | {"round": 400, "cost": (untaught - regret) / 2}
    for _ in range(2):
        output.update(paid, clients, 4, is_last=False)
    events = capsys.readouterr().out.splitlines()
    assert events == ["Round 200: decided on arm 4.", "Round 400: teaching has saved more than it cost."]
    output.print_end("http://127.0.0.1:1", is_kept=False)
    words = " ".join(capsys.readouterr().out.split())
    assert f"2,000 pulls lost {untaught:,.0f} euros without teaching and {regret:,.0f} with it" in words
    half = f"{(untaught - regret) / 2:,.0f}"
    assert f"Teaching paid: {half} euros are left, and it had paid for itself by round 400." in words
    output.update(decided, clients, 4, is_last=False)
    output.print_end("http://127.0.0.1:1", is_kept=False)
    missing = f"{10 * untaught - (untaught - regret):,.0f}"
    assert f"Teaching has not paid yet: {missing} euros are missing." in " ".join(capsys.readouterr().out.split())


def test_clients_keep_their_pace():
    """No client is ahead of it, however fast the answers come."""
    clients, began = DemoClients(seed=1, horizon=1_000), time.monotonic()
    clients.start(lambda client, arm, reward: reward, pace=50.0)
    while min(client.round for client in clients.taught) < 5:
        time.sleep(0.01)
    clients.stop()
    most = 50 * (time.monotonic() - began) + 1
    assert all(client.round <= most for client in clients.taught)


def test_it_loads_no_compiler(python):
    """Neither numba nor the simulator is needed to watch."""
    code = """
import sys
import tutelage.cli.demo, tutelage.cli.demo_output, tutelage.cli.demo_clients
tutelage.cli.demo_clients.DemoClients(1, 10).taught[0].pull(lambda arm, observed: observed)
heavy = {"numba", "xarray", "tutelage.engine.kernels", "tutelage.simulator", "starlette"}
print(sorted(heavy & set(sys.modules)))
"""
    assert python("-c", code).stdout.strip() == "[]"
