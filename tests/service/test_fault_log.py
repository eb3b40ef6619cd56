"""A fault is an error when it begins, a warning a minute while it lasts, and one line when it ends."""

import logging

from tutelage.service.fault_log import REMINDER_SECONDS, FaultLog


def test_a_fault_that_two_see(caplog):
    """It begins with the first who sees it and ends with the last; a second fault is a fault of its own."""
    now = [0.0]
    fault = FaultLog(logging.getLogger("tutelage.test"), "begins", "lasts", "ends", clock=lambda: now[0])
    with caplog.at_level("INFO", "tutelage.test"):
        fault.end("one")
        for second in range(int(2.5 * REMINDER_SECONDS)):
            now[0] = float(second)
            fault.report("one", f"{second}")
            fault.report("two", "the same cause")
        fault.end("one")
        fault.end("one")
        fault.report("two", "still")
        fault.end("two")
        fault.report("one", "again")
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert lines == [
        ("ERROR", "begins"),
        ("WARNING", "lasts"),
        ("WARNING", "lasts"),
        ("INFO", "ends"),
        ("ERROR", "begins"),
    ]
    assert caplog.records[0].reason == "0"
    assert caplog.records[3].seconds == now[0]
