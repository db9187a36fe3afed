"""The log of a healthy run: lines of keeper, driver and JVM from the first second, and no trace of a clean stop."""

from __future__ import annotations

import re

from pipelines.domain.runs.log_lines import LogLevel, head_of
from tests.agent.sources import MakeSourcePipeline, make_source_pipeline
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]

_LINE = re.compile(r"[\d-]{10}T[\d:.]{12}Z (INFO|WARNING) +(?P<component>keeper|driver|jvm) (?P<run>\S+): \S")
_HARMLESS = {LogLevel.INFO, LogLevel.WARNING}


def test_a_healthy_run_and_its_stop_are_lines_with_time_level_component_and_run(
    make_source_pipeline: MakeSourcePipeline,
) -> None:
    run = make_source_pipeline({"type": "sequence", "rate": 1000, "body": "{n}"}).start()
    wait_for(lambda: "keeper ingest/1: The keeper starts" in run.log, "the first line")
    run.wait_delivered(100)
    assert run.stop().exit_code == 0
    lines = run.log.splitlines()
    matches = [_LINE.match(line) for line in lines]
    assert [line for line, match in zip(lines, matches, strict=True) if match is None] == []
    assert {match["component"] for match in matches if match} == {"keeper", "driver", "jvm"}
    assert {match["run"] for match in matches if match} == {"ingest/1"}
    assert {head.level for head in map(head_of, lines) if head} <= _HARMLESS
    assert not re.search(r"Traceback|Exception|^\s+at ", run.log, re.MULTILINE)
    assert not (run.dir / "reserve").exists()
