"""A client that openapi-python-client generates from the OpenAPI document works against the server.

The generator is installed in an environment of its own: it requires an older typer than the package has.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.service.listening_server import ListeningServer

LOCK = Path(__file__).parents[3] / "requirements" / "generator.txt"


@pytest.fixture(scope="module")
def listening(tmp_path_factory):
    """A server that needs keys."""
    found = ListeningServer(tmp_path_factory.mktemp("served") / "t.db")
    yield found
    found.close()


@pytest.fixture(scope="module")
def generated(listening, tmp_path_factory):
    """Imports modules of the client, which the generator wrote without a warning."""
    folder = tmp_path_factory.mktemp("generated")
    document, settings = folder / "openapi.json", folder / "settings.json"
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-compile", "--no-deps", "--require-hashes", "-r", LOCK], check=True)
    document.write_text(httpx.get(f"{listening.plain}/openapi.json").text)
    settings.write_text('{"post_hooks": []}')
    command = [python, "-m", "openapi_python_client", "generate", "--path", document, "--config", settings]
    command += ["--meta", "none", "--output-path", folder / "shop_client", "--fail-on-warning"]
    subprocess.run(command, check=True, timeout=300, env={})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield lambda name: importlib.import_module(f"shop_client.{name}")


def test_a_generated_client_works(listening, generated):
    """It creates a campaign, sends pulls, reads status items with their fields, and is refused with a type."""
    models, api = generated("models"), generated("api")
    assert api
    secret = listening.key("boss", "admin")
    client = generated("client").AuthenticatedClient(base_url=listening.plain, token=secret)

    def call(module, *arguments, **options):
        return generated(f"api.{module}").sync_detailed(*arguments, client=client, **options)

    new = models.NewCampaign("shop", ["red", "blue"], 50_000, "twl", clients=["anna", "ben"], start=True)
    made = call("campaigns.create_campaign", body=new)
    assert made.status_code == 201
    assert (made.parsed.name, made.parsed.warnings) == ("shop", [])
    pull = models.PullRequest("0001", "anna", "red", 0.4)
    answer = call("pulls.answer_pulls", "shop", body=pull).parsed
    assert isinstance(answer, models.PullResponse)
    assert answer.reward == pytest.approx(0.4 + answer.adjustment)
    batch = models.PullBatch([models.PullRequest("0002", "ben", "blue", 1.0), pull])
    assert [one.replayed for one in call("pulls.answer_pulls", "shop", body=batch).parsed.pulls] == [False, True]
    (item,) = call("monitoring.show_status", "shop").parsed.items
    assert item.kind == "learning"
    assert (item.client, item.arm) in {("anna", "blue"), ("ben", "red")}
    assert item.missing > 0
    rows = call("ledger.list_ledger_rows", "shop", after=1, limit=2).parsed
    assert [row.kind for row in rows.rows] == ["pull", "pull"]
    assert b"tutelage_pulls_total" in call("monitoring.show_metrics").content
    refused = call("campaigns.create_campaign", body=new)
    assert refused.status_code == 409
    assert refused.parsed.type_ == "urn:tutelage:problem:exists"
    assert "already exists" in refused.parsed.detail
    assert call("campaigns.show_campaign", "none").parsed.type_ == "urn:tutelage:problem:unknown-campaign"
    client.get_httpx_client().close()
    with generated("client").Client(base_url=listening.plain) as client:
        assert call("keys.list_keys").parsed.type_ == "urn:tutelage:problem:unauthorized"
