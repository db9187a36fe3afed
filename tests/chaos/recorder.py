"""A plugin of pytest: writes what became of each test, as it happens, to the file that HEADGATE_CHAOS_RECORD names.

One JSON document per line: {"started": id}, then {"finished": id, "passed": …, "seconds": …, "figures": …, "why": …}.
A process that is killed in the middle of a test leaves everything before it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "HEADGATE_CHAOS_RECORD"
_WHY = 400


def _write(line: dict[str, Any]) -> None:
    if VARIABLE in os.environ:
        with Path(os.environ[VARIABLE]).open("a") as record:
            record.write(json.dumps(line) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    _write({"started": nodeid})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test has passed when it was called and passed; an error before or after it is a failure."""
    if report.when == "call" or not report.passed:
        _write(
            {
                "finished": report.nodeid,
                "passed": report.passed,
                "skipped": report.skipped,
                "seconds": round(report.duration, 1),
                "figures": dict(report.user_properties),
                "why": _why(report),
            }
        )


def _why(report: pytest.TestReport) -> str:
    """The last line that says something of an error, or why it was skipped."""
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")] or [report.longreprtext]
    return "" if report.passed else lines[0].removeprefix("E").strip()[:_WHY]
