"""The OpenAPI document, and the page on which it can be tried."""

import json

import jsonschema
import pytest
from tests.service.api import examples

from tutelage.service.api.problems import MEDIA_TYPE, PROBLEMS, TYPE_PREFIX
from tutelage.service.monitoring.status import KINDS


@pytest.fixture
def document(server):
    """The document that the server sends."""
    return server.call("GET", "/openapi.json").json()


def find_answer(operation):
    """The schema of a successful answer."""
    (answer,) = (one for code, one in operation["responses"].items() if code.startswith("2"))
    return answer.get("content", {}).get("application/json", {}).get("schema")


def test_each_operation_names_its_answer(document):
    """By reference to a struct; a deletion answers nothing, and a file has its media types."""
    paths = document["paths"]
    assert find_answer(paths["/v1/campaigns"]["post"]) == {"$ref": "#/components/schemas/ChangedCampaign"}
    assert find_answer(paths["/v1/campaigns/{name}"]["delete"]) is None
    export = paths["/v1/campaigns/{name}/export"]["get"]["responses"]["200"]["content"]
    assert set(export) == {"application/x-ndjson", "text/csv", "application/vnd.apache.parquet"}


def test_every_field_and_operation_is_described(document):
    """Each operation has a sentence and its role; each field a description, or a struct of its own."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert "Requires" in operation["description"], path
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        for field, wanted in schema["properties"].items():
            text = json.dumps(wanted)
            assert "description" in wanted or "$ref" in text or wanted.get("enum") == ["ok"], (name, field)


def test_each_operation_lists_its_refusals_and_its_role(document):
    """Each status with its types of problems; together they are all types but those of unknown addresses."""
    found = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert "default" not in operation["responses"]
            for status, answer in operation["responses"].items():
                if MEDIA_TYPE not in answer.get("content", {}):
                    continue
                _, types = answer["content"][MEDIA_TYPE]["schema"]["allOf"]
                for written in types["properties"]["type"]["enum"]:
                    kind = written.removeprefix(TYPE_PREFIX)
                    found.add(kind)
                    assert PROBLEMS[kind][0] == int(status)
                    assert PROBLEMS[kind][1] in answer["description"]
                assert ("Retry-After" in answer.get("headers", {})) == (status in {"429", "503"}), path
            (role,) = operation["security"][0]["key"] if operation["security"] else ["anyone"]
            assert ("no key" if role == "anyone" else f"the role {role}") in operation["description"]
    assert set(PROBLEMS) - found == {"not-found", "method-not-allowed"}


def test_words_and_limits_are_listed(document):
    """Where a field takes one of several words, or has a limit that is checked elsewhere."""
    schemas = document["components"]["schemas"]
    assert schemas["CampaignStatusItem"]["properties"]["kind"]["enum"] == [kind.name for kind in KINDS]
    assert "bypassed" in schemas["LedgerRow"]["properties"]["kind"]["enum"]
    assert schemas["NewCampaign"]["properties"]["arms"]["items"]["maxLength"] == 128
    assert schemas["NewCampaign"]["properties"]["horizon"]["maximum"] == 2**53
    assert schemas["PullRequest"]["properties"]["id"]["minLength"] == 1
    assert "/metrics" in document["paths"]
    ids = [one["operationId"] for operations in document["paths"].values() for one in operations.values()]
    assert len(ids) == len(set(ids))
    assert all("_" in one for one in ids)


def test_examples_are_what_the_server_answers(server, document):
    """Each JSON body and answer of the document has examples, which are recorded and fit their schemas."""
    assert examples.record(server) == examples.FILE.read_text(encoding="utf-8"), (
        "python -m tests.service.api.examples writes them again"
    )
    for path, operations in document["paths"].items():
        for operation in operations.values():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in (body.get("content", {}).get("application/json") for body in bodies):
                if content is not None:
                    schema = json.loads(json.dumps(content["schema"]).replace("#/components", "#/$defs/components"))
                    defined = json.loads(json.dumps(document["components"]).replace("#/comp", "#/$defs/comp"))
                    assert content["examples"], path
                    for example in content["examples"].values():
                        jsonschema.validate(
                            example["value"],
                            schema | {"$defs": {"components": defined}},
                            jsonschema.Draft202012Validator,
                        )


def test_a_status_item_has_its_numbers_as_fields(server):
    """Of the pair that the next consultation waits for most, as in the sentence."""
    server.create(horizon=1000, teacher="twl")
    server.pull(*({"id": str(i), "client": "a", "arm": "x", "reward": 1.0} for i in range(3)))
    (item,) = server.call("GET", "/v1/campaigns/c/status").json()["items"]
    totals = server.call("GET", "/v1/campaigns/c/totals").json()
    client, number = totals["clients"].index(item["client"]), totals["arms"].index(item["arm"])
    assert item["missing"] == totals["quota"]["counts"][number] - totals["pulls"][client][number]
    assert item["silent_seconds"] >= 0


def test_all_references_lead_somewhere(document):
    """Every schema that is named is there."""
    for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]:
        assert part.partition('"')[0] in document["components"]["schemas"]


def test_the_document_names_the_prefix(serve):
    """The page sends its requests there."""
    document = serve(root_path="/t").call("GET", "/t/openapi.json").json()
    assert document["servers"] == [{"url": "/t"}]


@pytest.mark.parametrize("file", ["viewer.js", "viewer.css", "swagger-ui-bundle.js", "swagger-ui.css"])
def test_the_files_of_the_page_are_the_servers_own(server, file):
    """No other site is asked for any of them."""
    page = server.call("GET", "/docs").text
    assert f'"docs/{file}"' in page
    assert "://" not in page
    assert server.call("GET", f"/docs/{file}").status_code == 200


def test_other_files_of_the_package_are_not_served(server):
    """Only those that the page needs."""
    for name in ("index.html", "swagger-initializer.js", "__init__.py", "..%2fopenapi.py"):
        assert server.call("GET", f"/docs/{name}").status_code == 404
