"""Tests of a definition on the real stack: run by the worker before the pipeline exists."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from tests.chaos.installation import Installation, wait_for
from tests.factories import definition_data
from tests.figures import RecordProperty


def test_the_tests_of_a_new_pipeline_run_and_say_what_differs(
    installation: Installation, record_property: RecordProperty
) -> None:
    data = definition_data("tested")
    data["sources"]["shop"]["interceptors"] = [{"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}]
    filtered = {"filtered_by": "sources.shop.interceptors[0]"}
    given = {"name": "debug lines are filtered", "given": [{"body": "DEBUG"}, {"body": "order"}]}
    right = given | {"expect": [filtered, {"channels": ["main"], "body": "order"}]}
    wrong = given | {"expect": [filtered, filtered]}
    took, results = [], []
    for test in (right, wrong):
        began = time.monotonic()
        results.append(_ran(installation, data | {"tests": [test]}))
        took.append(round(time.monotonic() - began, 1))
    record_property("seconds", took)
    passed, failed = results
    assert (passed["passed"], passed["error"]) == (True, None)
    (failure,) = failed["tests"][0]["failures"]
    assert (failure["path"], failure["got"]) == ("tests[0].expect[1]", "delivered to main")


def _ran(installation: Installation, definition: dict[str, Any]) -> Any:
    here = f"/test-runs/{installation.api.post('/test-runs', {'definition': definition})['id']}"
    wait_for(partial(_has_ended, installation, here), 120, "the tests have ended")
    return installation.api.get(here)


def _has_ended(installation: Installation, address: str) -> bool:
    return installation.api.get(address)["state"] in {"DONE", "FAILED"}
