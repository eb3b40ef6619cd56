"""The numbers of a report."""

import json

import msgspec
import pytest

from tests.report.small_report import NAMES
from tutelage.report import ReportBuild, summarize_panels


def test_the_summary_has_the_numbers_of_the_datasets(result, report):
    """They are plain finite JSON numbers."""
    build = ReportBuild(None, report, result, summarize_panels(result))
    content = json.loads(json.dumps(msgspec.to_builtins(build.document()), allow_nan=False))
    assert [panel["panel"] for panel in content["panels"]] == NAMES
    assert [(panel["samples"], panel["of"], panel["runs"]) for panel in content["panels"]] == [
        (3, "runs", 3),
        (3, "runs", 3),
        (5, "instances", 5),
    ]
    known = content["panels"][0]["teachers"][5]
    data = result.panels[0].dataset
    assert known["teacher"] == "known"
    assert known["regret"]["mean"] == pytest.approx(float(data.regret[5, :, :, -1].sum("client").mean()))
    assert (known["decided"], known["wrong"], known["runs"]) == (3, 0, 3)
    assert content["missing"] == [{"panel": "fig9z", "sentence": result.missing[0].sentence}]
    assert [each["name"] for each in content["experiments"]] == ["figure-2-fixed", "figure-2-random"]
