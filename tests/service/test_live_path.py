"""Which modules a live pull passes."""

import sys
from pathlib import Path

from tutelage import service
from tutelage.service.campaigns.writer import Writer

FOLDER = Path(service.__file__).parent


def test_a_pull_passes_at_most_twelve_modules_of_the_service(server, monkeypatch):
    """From the application's call to the commit and back, in the event loop and in the writer's thread."""
    server.create()
    passed, answer_group = set(), Writer._group

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(FOLDER):
            passed.add(path.relative_to(FOLDER).as_posix())

    def answer_noted(writer, jobs):
        sys.setprofile(note)
        try:
            answer_group(writer, jobs)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(Writer, "_group", answer_noted)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        answer = server.call("POST", "/v1/campaigns/c/pulls", {"id": "1", "client": "a", "arm": "x", "reward": 0.5})
    finally:
        sys.setprofile(before)
    assert answer.status_code == 200
    assert {"api/gateway.py", "campaigns/writer.py", "campaigns/session.py", "campaigns/campaign.py"} <= passed
    assert len(passed) <= 12, sorted(passed)
