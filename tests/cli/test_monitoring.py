"""What the command line shows of campaigns as they go on, what each command says it did, and completion."""

import json
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest
import typer.main
from rich.console import Console

from tests.cli.commands import error_of, output_of, running_server
from tutelage.cli import campaign_monitor
from tutelage.cli.app import app, execute
from tutelage.errors import RefusalError

CREATE = ("campaign", "create", "--arm", "red", "--arm", "blue", "--client", "anna", "--client", "ben")
CREATE += ("--horizon", "1000", "--teacher", "blt")


def pull(address, *numbers):
    """Send pulls of both clients and arms; blue is the better one."""
    pulls = [
        {"id": f"{client}{number}{arm}", "client": client, "arm": arm, "reward": float(arm == "blue")}
        for number in numbers
        for client in ("anna", "ben")
        for arm in ("red", "blue")
    ]
    httpx.post(f"{address}/v1/campaigns/c/pulls", json={"pulls": pulls}).raise_for_status()


def draw(found, name, height=40):
    """What a terminal shows of samples."""
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(campaign_monitor._create_view(found, name, height))
    console.file.close()
    return console.export_text()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a campaign that has decided; its address and its folder."""
    folder = tmp_path_factory.mktemp("server")
    with running_server(folder) as (address, _), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUTELAGE_SERVER", address)
        patch.chdir(folder)
        yield address, folder


def test_a_campaign_is_shown_as_it_goes_on(server, capsys):
    """The summary, the rate between two looks, the arms by pulls, and the status items with their commands."""
    address, _ = server
    output_of(capsys, *CREATE, "c", "--start")
    assert "not been consulted yet" in output_of(capsys, "campaign", "decisions", "c")
    looks = campaign_monitor._look_repeatedly("c", address, 0.2)
    first = next(looks)[0]
    pull(address, *range(40))
    second = next(looks)[0]
    assert first.rate is None
    assert second.rate > 0
    assert second.arm_pulls == [80, 80]
    shown = draw([second], "c")
    assert re.search(r"^pulls +160 by 2 clients, [\d,.]+ per second *$", shown, re.MULTILINE)
    assert re.search(r"^red +80 +50%", shown, re.MULTILINE)
    assert second.items[0]["message"].split(".")[0] in shown
    assert second.items[0]["kind"] in draw([second], None)
    assert "and 2 campaigns more" in draw([second] * 6, None, height=8)
    assert draw("The server does not answer.", "c").strip().endswith("The server does not answer.")


def test_decisions_are_listed(server, capsys):
    """A line each, and with --json all fields; read in pages."""
    lines = output_of(capsys, "campaign", "decisions", "c").splitlines()
    records = json.loads(output_of(capsys, "campaign", "decisions", "c", "--json"))["decisions"]
    assert len(lines) == len(records) > 0
    for line, record in zip(lines, records, strict=True):
        word = {"consulted": "not decided", "decided": "decided on blue"}[record["kind"]]
        assert line.startswith(
            f"{record['time']}  round {record['round']}: consultation {record['directive']}, {word};"
        )
    assert error_of(capsys, 1, "campaign", "decisions", "nope").startswith("Unknown campaign 'nope'")


def test_lines_where_there_is_no_terminal(server):
    """One line for each campaign that has changed, until Ctrl-C."""
    address, _ = server
    command = [sys.executable, "-m", "tutelage", "campaign", "monitor", "--every", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        first = running.stdout.readline()
        pull(address, 1_000)
        second = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest, err = running.communicate(timeout=60)
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:]+Z  c: running, round 80 of 1,000, 160 pulls, cost ", first)
    assert "round 82 of 1,000, 164 pulls" in second
    assert rest == ""
    assert (running.returncode, err) == (130, "Interrupted.\n")


def test_a_server_that_goes_is_waited_for(server, capsys, monkeypatch):
    """Only the first look may fail; later ones say why, and go on."""
    address, _ = server
    with pytest.raises(RefusalError, match="does not answer"):
        next(campaign_monitor._look_repeatedly(None, "http://127.0.0.1:1", 0.2))
    looks = campaign_monitor._look_repeatedly(None, address, 0.2)
    assert [one.summary["name"] for one in next(looks)] == ["c"]
    with monkeypatch.context() as patch:
        patch.setattr(campaign_monitor, "_sample", lambda *_: (_ for _ in ()).throw(RefusalError("It is away.")))
        assert next(looks) == "It is away."
    assert len(next(looks)) == 1
    assert "use 0.2 to 3600 seconds" in error_of(capsys, 2, "campaign", "monitor", "--every", "0")


def test_each_act_says_what_it_did(server, capsys, monkeypatch):
    """A sentence for every command that changes something; a command that is not listed here fails the test."""
    _, folder = server
    other = ("--store", "sqlite:///other.db")
    acts = [
        ((*CREATE, "d"), "The campaign d was created."),
        ((*CREATE, "e", "--start"), "The campaign e was created and started."),
        (
            ("campaign", "create", "o", "--arm", "a", "--arm", "b", "--open-registration", *CREATE[-4:]),
            "The campaign o was created.",
        ),
        (("campaign", "register", "o", "eve"), "eve was registered in o."),
        (("campaign", "start", "d"), "The campaign d was started."),
        (("campaign", "assign", "d", "anna", "--edge", "north", "--yes"), "d has moved anna to the edge north."),
        (("campaign", "assign", "d", "anna", "--edge", "north", "--yes"), "d is unchanged: anna is at the edge north"),
        (("campaign", "assign", "d", "ben", "--yes"), "d is unchanged: ben is at the leader already."),
        (("campaign", "exclude", "d", "ben", "--yes"), "The campaign d continues without the evidence of ben."),
        (("campaign", "stop", "d"), "The campaign d was stopped."),
        (("campaign", "export", "d", "--out", "d.ndjson"), "The ledger of d was written to d.ndjson: "),
        (("campaign", "delete", "d", "--yes"), "The campaign d was deleted."),
        (("db", "upgrade", *other), "other.db was created."),
        (("db", "backup", "copy.db", *other), "is a verified copy of "),
        (("ledger", "import", "d.ndjson", *other), "d: 4 rows imported."),
        (("key", "create", "eye", "--role", "viewer", *other), "The key eye is in the store sqlite:///"),
        (("key", "rotate", "eye", "--yes", *other), "The old secret of the key eye is valid until "),
        (("key", "revoke", "eye", "--yes", *other), "The key eye was revoked."),
    ]
    for arguments, sentence in acts:
        assert execute(arguments) == 0, capsys.readouterr()
        assert sentence in "".join(capsys.readouterr()), arguments
    assert (folder / "d.ndjson").exists()
    run = {" ".join(arguments[:2]) for arguments, _ in acts}
    shown = {"list", "show", "monitor", "decisions", "check", "stats", "verify", "dependence", "export"}
    for group in ("campaign", "key", "ledger", "db"):
        for name in vars(vars(typer.main.get_command(app))["commands"][group])["commands"]:
            assert f"{group} {name}" in run or name in shown, f"list what `{group} {name}` says"


def test_exit_codes_are_those_of_the_kind_of_fault(server, capsys):
    """1 for a campaign or client that the server does not have, 2 for what cannot be a name, by any command."""
    output_of(capsys, *CREATE, "codes", "--start")
    output_of(capsys, "campaign", "create", "empty", "--arm", "a", "--arm", "b", "--open-registration", *CREATE[-4:])
    commands = {
        "show": (), "monitor": (), "decisions": (), "register": ("eve",), "start": (), "stop": (),
        "exclude": ("anna", "--yes"), "assign": ("anna", "--yes"), "export": ("--out", "new.ndjson"),
        "delete": ("--yes",),
    }  # fmt: skip
    group = vars(vars(typer.main.get_command(app))["commands"]["campaign"])["commands"]
    assert commands.keys() == group.keys() - {"create", "list"}
    for name, arguments in commands.items():
        assert "Unknown campaign 'nope'" in error_of(capsys, 1, "campaign", name, "nope", *arguments)
        assert "Invalid campaign name" in error_of(capsys, 2, "campaign", name, "no/pe", *arguments)
    for name in ("exclude", "assign"):
        assert "Unknown client 'eve'" in error_of(capsys, 1, "campaign", name, "codes", "eve", "--yes")
    assert "has no clients yet" in error_of(capsys, 1, "campaign", "start", "empty")
    assert "has started" in error_of(capsys, 1, "campaign", "register", "codes", "eve")
    assert "client" in error_of(capsys, 2, "campaign", "register", "empty", "")
    assert "already exists" in error_of(capsys, 1, *CREATE, "codes")
    for name in ("codes", "empty"):
        assert execute(("campaign", "stop", name)) == (name == "empty")
        assert execute(("campaign", "export", name, "--out", f"{name}.ndjson")) in {0, 1}
        assert execute(("campaign", "delete", name, "--yes")) == 0
    capsys.readouterr()


@pytest.fixture
def ask(capsys, monkeypatch):
    """``ask("complete_bash", line)``: what a shell is answered about the last word of a line."""

    def answer(instruction, line=""):
        monkeypatch.setenv("_TUTELAGE_COMPLETE", instruction)
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        with pytest.raises(SystemExit):
            execute([])
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return answer


def test_values_are_completed(server, ask):
    """Campaigns of the server and of a store, teachers, policies and instances; nothing where nobody answers."""
    names = [one["name"] for one in httpx.get(f"{server[0]}/v1/campaigns").json()["campaigns"]]
    assert ask("complete_bash", "tutelage campaign show ").split() == names
    assert ask("complete_fish", "tutelage ledger verify --store sqlite:///t.db ").split() == names
    assert ask("complete_bash", "tutelage campaign show --server http://127.0.0.1:1 ").split() == []
    assert ask("complete_bash", "tutelage simulate paper --clients 2*ucb1,kl").split() == ["2*ucb1,kl-ucb"]
    assert '"twl"' in ask("complete_zsh", "tutelage campaign create x --teacher t")
    assert ask("complete_fish", "tutelage simulate gren").split() == ["grenoble"]


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete")])
def test_each_shell_gets_its_script(ask, shell, word):
    """For the program's own name."""
    script = ask(f"source_{shell}")
    assert word in script
    assert "_TUTELAGE_COMPLETE" in script


def test_bash_completes_with_the_script(tmp_path, ask):
    """Bash itself, with its script read: the commands of a group."""
    program = tmp_path / "tutelage"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tutelage "$@"\n')
    program.chmod(0o755)
    lines = "COMP_WORDS=(tutelage campaign mon) COMP_CWORD=2; _tutelage_completion tutelage; echo ${COMPREPLY[@]}"
    found = subprocess.run(
        ["/bin/bash"],
        input=f"{ask('source_bash')}\n{lines}\n",
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["monitor"]
