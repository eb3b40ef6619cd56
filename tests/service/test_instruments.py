"""What ``/metrics`` says of the server's own work, read as Prometheus reads it."""

import asyncio
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tutelage.service.api import access, monitoring_routes
from tutelage.service.api.access import make_key
from tutelage.service.instruments import Instruments
from tutelage.service.monitoring import monitor
from tutelage.versions import package_version

PULLS = "/v1/campaigns/{name}/pulls"


class Scrape:
    """The families of an answer of ``/metrics``."""

    def __init__(self, text):
        found = list(text_string_to_metric_families(text))
        self.families = {family.name: family for family in found}
        assert len(self.families) == len(found)

    def value(self, sample, **labels):
        """The value of a sample; 0 if it is not there."""
        found = [
            each.value
            for family in self.families.values()
            for each in family.samples
            if each.name == sample and labels.items() <= each.labels.items()
        ]
        assert len(found) < 2, f"{sample} of {labels} is ambiguous"
        return found[0] if found else 0.0


def scrape(server, **options):
    """Read the metrics of a server in this process."""
    answer = server.call("GET", "/metrics", **options)
    assert answer.status_code == 200, answer.text
    return Scrape(answer.text)


def pull(number, **changes):
    """A pull of one of two clients."""
    return {"id": str(number), "client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": 0.25} | changes


def answers(found):
    """The numbers of pulls answered, by outcome."""
    return [found.value("tutelage_answered_pulls_total", outcome=each) for each in ("accepted", "replayed", "bypassed")]


def test_pulls_are_counted_by_what_became_of_them(server):
    """Accepted, replayed, bypassed, refused by reason: each pull once."""
    server.create()
    server.pull(pull(0), pull(1))
    server.pull(pull(0), pull(2))
    server.pull(pull(1, bypassed=True), pull(3, bypassed=True))
    assert answers(scrape(server)) == [3, 1, 2]
    server.pull(pull(0, reward=0.5))
    server.pull(pull(4), pull(5, arm="z"))
    server.pull(pull(6), name="absent")
    server.call("POST", "/v1/campaigns/c/pulls", content={"pulls": 1})
    found = scrape(server)
    assert answers(found) == [3, 1, 2]
    reasons = {"conflict": 1, "invalid": 2 + 1, "unknown-campaign": 1}
    assert {each.labels["reason"]: each.value for each in found.families["tutelage_refused_pulls"].samples} == reasons


def test_requests_are_timed_by_route_and_status(server):
    """By the route's template, so that no campaign's name and no stray address makes a series."""
    server.create()
    server.pull(pull(0))
    server.pull(pull(1), name="absent")
    server.call("GET", "/nowhere/at/all")
    server.call("PUT", "/v1/campaigns/c")
    found = scrape(server)
    count = "tutelage_request_duration_seconds_count"
    assert found.value(count, method="POST", route=PULLS, status="200") == 1
    assert found.value(count, method="POST", route=PULLS, status="404") == 1
    assert found.value(count, method="other", route="other", status="404") == 1
    assert found.value(count, method="other", route="other", status="405") == 1
    assert found.value("tutelage_requests_in_flight") == 1  # this scrape
    routes = {route.path for route in server.gateway.table.routes} | {"other"}
    family = found.families["tutelage_request_duration_seconds"]
    assert {each.labels["route"] for each in family.samples} <= routes


def test_commits_and_consultations_are_timed(server):
    """As many consultations as new directives; a commit for each request that changed something."""
    server.create(teacher="blt", horizon=2_000)
    commits = scrape(server).value("tutelage_commit_duration_seconds_count")
    responses = [server.pull(*(pull(100 * n + k) for k in range(100))).json()["pulls"] for n in range(6)]
    found = scrape(server)
    assert found.value("tutelage_commit_duration_seconds_count") == commits + len(responses)
    directive = responses[-1][-1]["directive"]
    assert directive > 1
    assert found.value("tutelage_consultation_duration_seconds_count") == directive - 1


def test_leases_are_counted(server):
    """A server that starts acquires a lease, one that ends releases it; who leads is a gauge."""
    server.create()
    found = scrape(server)
    assert found.value("tutelage_leads", campaign="c") == 1
    assert found.value("tutelage_lease_changes_total", change="acquired") == 1
    instruments = server.gateway.handoff.writer.instruments
    instruments.count_lease("c", "acquired")  # loaded again
    assert scrape(server).value("tutelage_lease_changes_total", change="acquired") == 1
    server.gateway.handoff.writer.give_up()
    found = scrape(server)
    assert found.value("tutelage_lease_changes_total", change="released") == 1
    assert found.value("tutelage_lease_changes_total", change="lost") == 0


def test_the_build_and_the_process_are_described(server):
    """The version that is installed, and what prometheus_client says of every process."""
    found = scrape(server)
    assert found.value("tutelage_build_info", version=package_version()) == 1
    assert found.value("process_resident_memory_bytes") > 0
    assert found.value("process_open_fds") > 0


def test_names_follow_the_conventions(server):
    """A counter, and nothing else, ends in _total; units are seconds and ratios; every metric has its help."""
    server.create()
    server.pull(pull(0))
    text = server.call("GET", "/metrics").text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert {name for name, kind in kinds.items() if kind == "counter"} == {
        name for name in kinds if name.endswith("_total")
    }
    assert {"counter", "gauge", "histogram"} == set(kinds.values())
    assert not [name for name in kinds if name.endswith(("_created", "_milliseconds", "_percent"))]
    assert all(family.documentation.endswith(".") for family in Instruments().collect() if "process" not in family.name)


@pytest.mark.parametrize(("most", "left_out"), [(1_000, 0), (4, 0), (3, 2), (0, 4)])
def test_the_metrics_of_clients_are_bounded(serve, most, left_out):
    """Whole campaigns as long as they fit; 0 switches them off, and what is left out is counted."""
    server = serve(client_metrics=most)
    for name in ("c", "d"):
        server.create(name=name, horizon=2_000)
    server.pull(pull(0))
    found = scrape(server)
    missing = found.families["tutelage_client_missing_pulls"].samples
    assert len(missing) == len(found.families["tutelage_client_silent_seconds"].samples) == 4 - left_out
    assert found.value("tutelage_clients_without_metrics") == left_out
    if most >= 2:
        of_c = sum(each.value for each in missing if each.labels["campaign"] == "c")
        assert of_c == found.value("tutelage_missing_pulls", campaign="c") > 0


def test_metrics_are_answered_while_the_database_is_away(server, monkeypatch):
    """For ten minutes after keys were last read, for this route alone; campaigns as they were known."""
    server.create()
    server.pull(pull(0))
    secret, row = make_key("prometheus", "viewer", None, (), 1)
    server.store.create_key(row)
    server.keys_changed()
    headers = {"authorization": f"Bearer {secret}"}
    assert scrape(server, headers=headers).value("tutelage_pulls_total", campaign="c") == 1
    door = server.gateway.access
    door.has_failed = True
    monkeypatch.setattr(door, "update", lambda keys: None)  # the task that reads keys finds no database
    monkeypatch.setattr(monitor, "SCRAPE_SECONDS", 0.1)

    async def wait_forever(job):
        await asyncio.sleep(60)

    monkeypatch.setattr(server.gateway.handoff, "ask", wait_forever)
    read_at = door._read_at
    for age, status in ((access.MAX_KEY_AGE, 200), (monitoring_routes.METRICS_KEY_AGE - 5, 200)):
        door._read_at = read_at - age
        answer = server.call("GET", "/metrics", headers=headers)
        assert answer.status_code == status
        assert Scrape(answer.text).value("tutelage_pulls_total", campaign="c") == 1
        assert server.call("GET", "/v1/campaigns", headers=headers).status_code == 503
    assert server.call("GET", "/metrics").status_code == 401
    door._read_at = read_at - monitoring_routes.METRICS_KEY_AGE - 1
    assert server.call("GET", "/metrics", headers=headers).status_code == 503
