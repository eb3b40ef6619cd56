"""The examples of the OpenAPI document: requests, and what a server answers to them.

``python -m tests.service.api.examples`` writes them again; a test compares them with the answers of now.
"""

import json
import re
import tempfile
from pathlib import Path

from tests.service.conftest import InProcessServer

import tutelage.service.api.openapi

FILE = Path(tutelage.service.api.openapi.__file__).with_name("static") / "examples.json"
CAMPAIGN = {
    "name": "shop",
    "arms": ["red", "blue"],
    "clients": ["anna"],
    "horizon": 50_000,
    "teacher": "twl",
    "open_registration": True,
}
PULL = {"id": "0001", "client": "anna", "arm": "red", "reward": 0.4}
MORE = [PULL | {"id": "0002", "client": "ben"}, PULL | {"id": "0003", "client": "ben", "arm": "blue", "reward": 1.0}]
SHOP = "/v1/campaigns/shop"
#: Operation, method, path, name of the example, body.
REQUESTS = [
    ("create_campaign", "POST", "/v1/campaigns", "campaign", CAMPAIGN),
    ("register_client", "POST", f"{SHOP}/clients", "client", {"client": "ben"}),
    ("start_campaign", "POST", f"{SHOP}/start", "campaign", None),
    ("check_access", "GET", f"{SHOP}/access", "campaign", None),
    ("answer_pulls", "POST", f"{SHOP}/pulls", "one", PULL),
    ("answer_pulls", "POST", f"{SHOP}/pulls", "several", {"pulls": MORE}),
    ("list_campaigns", "GET", "/v1/campaigns", "campaigns", None),
    ("show_campaign", "GET", SHOP, "campaign", None),
    ("show_status", "GET", f"{SHOP}/status", "learning", None),
    ("list_status", "GET", "/v1/status", "learning", None),
    ("show_totals", "GET", f"{SHOP}/totals", "totals", None),
    ("list_ledger_rows", "GET", f"{SHOP}/ledger?after=1&limit=2", "page", None),
    ("exclude_client", "POST", f"{SHOP}/exclude", "client", {"client": "ben"}),
    ("assign_client", "POST", f"{SHOP}/assign", "client", {"client": "ben", "edge": "north"}),
    ("list_decisions", "GET", f"{SHOP}/decisions", "exclusion", None),
    ("list_audit_records", "GET", "/v1/audit?limit=2", "page", None),
    ("list_keys", "GET", "/v1/keys", "keys", None),
    ("stop_campaign", "POST", f"{SHOP}/stop", "campaign", None),
    ("check_health", "GET", "/healthz", "health", None),
    ("check_readiness", "GET", "/readyz", "health", None),
]
_TIME = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]{15}Z")
_SECONDS = re.compile(r'("silent_seconds": )[0-9.e-]+')


def record(server):
    """Every request and its answer, by operation; times and silences are replaced."""
    found = {}
    headers = server.make_key("boss", "admin")
    for operation, method, path, name, body in REQUESTS:
        answer = server.call(method, path, body, headers=headers)
        assert answer.is_success, (operation, answer.text)
        one = found.setdefault(operation, {"request": {}, "response": {}})
        one["response"][name] = json.loads(_TIME.sub("2026-01-31T12:00:00.000000Z", answer.text))
        if body is not None:
            one["request"][name] = body
    text = json.dumps(found, indent=1, ensure_ascii=False)
    return _SECONDS.sub(r"\g<1>0.5", text) + "\n"


def main():
    """Writes the file."""
    with tempfile.TemporaryDirectory() as folder:
        server = InProcessServer(f"sqlite:///{folder}/t.db")
        FILE.write_text(record(server), encoding="utf-8")
        server.close()


if __name__ == "__main__":
    main()
