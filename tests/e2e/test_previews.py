"""A preview on the real stack: a filter that takes everything is seen while the pipeline runs on."""

from __future__ import annotations

import time
from functools import partial

from tests.chaos.installation import Installation, wait_for
from tests.chaos.migrating import intercepted
from tests.chaos.stream import streaming
from tests.figures import RecordProperty


def test_a_change_that_filters_everything_is_seen_beside_the_running_pipeline(
    installation: Installation, record_property: RecordProperty
) -> None:
    installation.rest()
    with streaming(installation, name="previewed") as stream:
        everything = intercepted(stream.demo, type="regex_filter", regex=".", exclude_events=True)
        address, took = "/pipelines/previewed/previews", []
        for _ in range(2):
            began = time.monotonic()
            made = installation.api.post(address, {"definition": everything, "selection": {"last": 500}})
            here = f"{address}/{made['id']}"
            wait_for(partial(_is_over, installation, here), 120, "the preview is made")
            took.append(round(time.monotonic() - began, 1))
            found = installation.api.get(here)
            assert found["error"] is None
        record_property("seconds", took)
        result = found["result"]
        assert result["records"] == 500
        filtered = {
            row["component"]: (row["before"], row["after"]) for row in result["counts"] if row["result"] == "filtered"
        }
        assert (
            result["kinds"]["newly_filtered"] == result["differing"] == sum(new - old for old, new in filtered.values())
        )
        shown = installation.api.get(f"{here}/differences")["results"]
        assert {row["after"]["result"] for row in shown} == {"filtered"}
        stream.goes_on(0)


def _is_over(installation: Installation, address: str) -> bool:
    return installation.api.get(address)["state"] in {"DONE", "FAILED"}
