"""The files in deploy/, against what the server exports and by the tools that read them, where those are installed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tutelage.service.monitoring.status import KINDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
DASHBOARD = json.loads((DEPLOY / "grafana" / "tutelage.json").read_text())
PAGE = (ROOT / "docs" / "deploy.md").read_text()
# What the text format, or Prometheus itself, adds.
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}
OWN_METRICS = {"up"}


def rules():
    """Every alert rule."""
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def expressions():
    """Every query of the dashboard and of the alerts, with Grafana's variables replaced."""
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    variables = [one["query"]["query"] for one in DASHBOARD["templating"]["list"] if isinstance(one["query"], dict)]
    queries = panels + [re.sub(r"label_values\((\w+), \w+\)", r"\1", query) for query in variables]
    return [re.sub(r"\$\w+", ".*", query.replace("$__rate_interval", "5m")) for query in queries] + [
        rule["expr"] for rule in rules()
    ]


def names(expression):
    """The metrics that an expression reads."""
    alternatives = re.findall(r"tutelage_\(([a-z_|]+)\)", expression)
    listed = {f"tutelage_{name}" for text in alternatives for name in text.split("|")}
    return listed | set(re.findall(r"\b(?:tutelage|process)_\w+\b|\bup\b", re.sub(r'"[^"]*"', "", expression)))


@pytest.fixture(scope="module")
def tool():
    """``tool("promtool", ...)`` runs a program, or skips the test where it is not installed."""

    def run(name, *arguments, **options):
        path = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
        if path is None:
            pytest.skip(f"{name} is not installed")
        done = subprocess.run([path, *arguments], check=False, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_every_metric_that_is_named_is_exported(server):
    """By the dashboard and by the alerts; every kind of status item that is an alert has its rule or panel."""
    server.create()
    text = server.call("GET", "/metrics").text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    exported = {name + suffix for name, kind in kinds.items() for suffix in SUFFIXES.get(kind, ("",))}
    named = set().union(*map(names, expressions()))
    assert len(named) > 25
    assert named - OWN_METRICS <= exported
    assert {kind.metric for kind in KINDS if kind.is_alert} <= named


def test_labels_that_are_named_are_exported(server):
    """In selectors: `reason`, `outcome`, `change`, `route` and their values."""
    server.create()
    server.pull({"id": "1", "client": "a", "arm": "x", "reward": 0.5})
    server.call("POST", "/v1/campaigns/c/pulls", {"id": "2", "client": "a", "arm": "z", "reward": 0.5})
    text = server.call("GET", "/metrics").text
    exported = set(re.findall(r'(\w+)="', text)) | {"job", "instance", "__name__", "kind"}
    for expression in expressions():
        assert set(re.findall(r'(\w+)(?:=|!=|=~)"', expression)) <= exported
        for value in re.findall(r'(?:outcome|change|route)="([^"]+)"', expression):
            assert f'="{value}"' in text


def test_every_alert_has_a_runbook():
    """Its link leads to a heading of docs/deploy.md that has its name."""
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", PAGE, re.MULTILINE)}
    for rule in rules():
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (page, anchor) == ("docs/deploy.md", rule["alert"].lower())
        assert anchor in headings


def test_promtool_accepts_the_alerts(tool, tmp_path):
    """Their syntax, and when they fire."""
    alerts = DEPLOY / "prometheus" / "alerts.yml"
    tool("promtool", "check", "rules", str(alerts))
    tests = (ROOT / "tests" / "service" / "alerts.test.yml").read_text().replace("ALERT_RULES", str(alerts))
    assert {rule["alert"] for rule in rules()} - set(re.findall(r"Tutelage\w+", tests)) == set()
    (tmp_path / "tests.yml").write_text(tests)
    tool("promtool", "test", "rules", str(tmp_path / "tests.yml"))


def test_promtool_accepts_the_dashboards_queries(tool, tmp_path):
    """Each as a recording rule."""
    found = [{"record": f"q{number}", "expr": text} for number, text in enumerate(expressions())]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": found}]}))
    assert f"{len(found)} rules found" in tool("promtool", "check", "rules", str(tmp_path / "rules.yml"))


def test_promtool_accepts_the_configuration(tool):
    """Without the key's file, which compose puts there."""
    tool("promtool", "check", "config", "--syntax-only", str(DEPLOY / "prometheus" / "prometheus.yml"))


def test_promtool_accepts_the_metrics(tool, server):
    """What `/metrics` answers, by the rules of names and help texts."""
    server.create()
    assert tool("promtool", "check", "metrics", input=server.call("GET", "/metrics").text) == ""


def test_the_unit_is_verified_and_hardened(tool, tmp_path):
    """`systemd-analyze verify` has nothing to say; the exposure is at most 2 of 10."""
    unit = (DEPLOY / "systemd" / "tutelage.service").read_text()
    program = tmp_path / "tutelage"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "tutelage.service"
    path.write_text(unit.replace("/opt/tutelage/bin/tutelage", str(program)))
    assert tool("systemd-analyze", "verify", str(path)) == ""
    tool("systemd-analyze", "security", "--offline=true", "--threshold=20", str(path))


def test_the_dockerfile_and_the_manifests_are_linted(tool):
    """hadolint has nothing to say; the manifests have only fields of their kinds."""
    assert tool("hadolint", str(DEPLOY / "Dockerfile")) == ""
    manifests = DEPLOY / "kubernetes" / "tutelage.yaml"
    kinds = [one["kind"].lower() for one in yaml.safe_load_all(manifests.read_text())]
    printed = tool("kubernetes-validate", "--strict", str(manifests))
    assert re.findall(r"passed for resource (\w+)/", printed) == kinds


def test_every_way_to_run_it_is_restricted():
    """No root, a file system that is read-only, no more privileges, and no variables of services."""
    image = (DEPLOY / "Dockerfile").read_text()
    user = re.search(r"^USER (\d+)$", image, re.MULTILINE)[1]
    assert f"--uid {user}" in image
    pods = [
        one for one in yaml.safe_load_all((DEPLOY / "kubernetes/tutelage.yaml").read_text()) if "replicas" in str(one)
    ]
    pod = pods[0]["spec"]["template"]["spec"]
    assert pod["enableServiceLinks"] is pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert str(pod["securityContext"]["runAsUser"]) == user
    container = pod["containers"][0]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness")} == {"/healthz"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["server"]
    assert compose["read_only"] is True
    assert compose["cap_drop"] == ["ALL"]


def test_the_wheels_agree():
    """The server's and the client's packages are among those of tutelage, with the same bounds and version."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in ("server", "client"):
        project = tomllib.loads((ROOT / "wheels" / name / "pyproject.toml").read_text())
        part, version = project["project"], project["tool"]["hatch"]["version"]
        assert set(part["dependencies"]) < set(whole["dependencies"])
        for extra, packages in part.get("optional-dependencies", {}).items():
            assert packages == whole["optional-dependencies"][extra]
        assert (
            re.search(version["pattern"], (ROOT / "pyproject.toml").read_text(), re.MULTILINE)["version"]
            == (whole["version"])
        )
