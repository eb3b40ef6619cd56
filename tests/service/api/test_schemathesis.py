"""What a machine makes of the OpenAPI document: no request fails, and every answer is as it says."""

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.listening_server import ListeningServer

schemathesis = pytest.importorskip("schemathesis")
MODES = schemathesis.GenerationMode

EVERYDAY_EXAMPLES = 15  # of each operation and mode; `--hypothesis-profile=long` tries more
# Much that is refused no schema can say: weights that do not sum to 1, an arm that the campaign lacks.
LENIENT = ("negative_data_rejection", "positive_data_acceptance")


@pytest.fixture(scope="module")
def listening(tmp_path_factory):
    """A server with a campaign."""
    found = ListeningServer(tmp_path_factory.mktemp("served") / "t.db")
    found.play("c", ["a", "b"], ["x", "y"])
    yield found
    found.close()


def number_of_examples():
    """Few, but for a long search."""
    most = hypothesis.settings.default.max_examples
    return EVERYDAY_EXAMPLES if most < 1_000 else most


def test_the_document_is_true(listening):
    """Status, content type and body of every answer; every other campaign asked for is there."""
    schema = schemathesis.openapi.from_url(f"{listening.plain}/openapi.json")
    schemathesis.checks.load_all_checks()
    excluded = schemathesis.checks.CHECKS.get_by_names(LENIENT)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 15
    failures = []
    for operation in operations:
        for mode in MODES:

            @hypothesis.settings(max_examples=number_of_examples())
            @given(case=operation.as_strategy(generation_mode=mode), is_there=st.booleans())
            def check(case, is_there):
                if is_there and "name" in case.path_parameters:
                    case.path_parameters["name"] = "c"
                case.call_and_validate(excluded_checks=excluded, timeout=20)

            try:
                check()
            except hypothesis.errors.Unsatisfiable:
                assert mode is MODES.NEGATIVE  # it takes nothing that could be wrong
            except Exception as error:  # noqa: BLE001 - all operations are tried
                failures.append(f"{operation.label} {mode}: {error!r}: {error}")
    assert not failures, "\n\n".join(failures)
