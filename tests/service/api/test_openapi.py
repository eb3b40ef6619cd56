"""The OpenAPI document, and the page on which it can be tried."""

import json

import pytest


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
