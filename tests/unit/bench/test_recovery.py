from __future__ import annotations

from typing import Any

import pytest

from bench import report
from bench.__main__ import _parser
from bench.cases import CASES, RUNS
from bench.figures import result
from bench.recovery.timeline import PARTS, first_new, journal_marks, log_marks, missing, split
from bench.recovery.victims import VICTIMS, by_definition
from pipelines.domain.ledger.journal import Done, Entry, EntryKind, Planned, Replayed, Resolved
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base import log

KILLED = 1000.0
WHOLE = {
    "agent_end": 1000.1,
    "detection": 1000.5,
    "backoff": 1001.6,
    "process": 1001.9,
    "jvm_and_session": 1003.4,
    "preflight": 1003.5,
    "query_start": 1004.25,
    "sink_tail": 1004.75,
}
FIRST = 1005.0


def test_each_part_begins_where_the_one_before_ends() -> None:
    found = split(KILLED, WHOLE, FIRST)
    assert list(found) == list(PARTS)
    assert found["agent_end"] == pytest.approx(0.1)
    assert found["backoff"] == pytest.approx(1.1)
    assert found["first_batch"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    "marks",
    [
        WHOLE,
        {part: at for part, at in WHOLE.items() if part not in {"agent_end", "sink_tail"}},
        WHOLE | {"process": 900.0, "jvm_and_session": 901.0, "preflight": 902.0},
        WHOLE | {"detection": 1002.0},
        WHOLE | {"agent_end": 999.9},
        WHOLE | {"sink_tail": 1006.0},
        {},
    ],
    ids=["all", "optional ones missing", "standby", "out of order", "clock apart", "late", "none"],
)
def test_parts_add_up_to_the_whole_and_none_is_negative(marks: dict[str, float]) -> None:
    found = split(KILLED, marks, FIRST)
    assert sum(found.values()) == pytest.approx(FIRST - KILLED)
    assert min(found.values()) >= 0


def test_what_an_agent_did_before_the_kill_takes_no_time() -> None:
    found = split(KILLED, WHOLE | {"process": 900.0, "jvm_and_session": 901.0, "preflight": 902.0}, FIRST)
    assert (found["process"], found["jvm_and_session"], found["preflight"]) == (0, 0, 0)
    assert found["query_start"] == pytest.approx(1004.25 - 1001.6)


def test_only_parts_that_a_recovery_may_do_without_can_be_missing() -> None:
    assert missing(WHOLE) == []
    assert missing({"backoff": 1.0}) == ["detection", "process", "jvm_and_session", "preflight", "query_start"]


def test_the_first_new_record_is_one_that_was_not_there_before() -> None:
    appended = {1: 999_900, 2: 1_000_050, 3: 1_005_300, 4: 1_005_200}
    assert first_new(appended, 1001.0) == 1005.2005
    assert first_new(appended, 1005.3) == 1005.3005
    assert first_new(appended, 1006.0) is None


def test_marks_are_found_in_lines_as_an_agent_writes_them(capsys: pytest.CaptureFixture[str]) -> None:
    for text in (
        "The driver starts as process 4711.",
        "phase PREFLIGHT",
        "the Spark session is open",
        "every component is ready after 1.2 s",
        "every component is ready after 9.9 s",
    ):
        log.say(text)
    lines = capsys.readouterr().out
    keeper = lines.splitlines()[0].replace(" driver ", " keeper ")
    found = log_marks(f"{keeper}\nTraceback: the Spark session is open\n{lines}")
    assert set(found) == {"process", "jvm_and_session", "preflight"}
    assert found["process"] <= found["jvm_and_session"] <= found["preflight"]


def test_the_instant_of_a_line_is_in_utc() -> None:
    line = "2026-11-24T01:21:43.250Z INFO    driver bench/3: the Spark session is open trace_id=00\n"
    assert log_marks(line) == {"jvm_and_session": 1795483303.25}


def test_a_log_without_marks_has_none() -> None:
    assert log_marks("") == log_marks("no line of ours\n") == {}


PLACE: dict[str, Any] = {"source": "in", "channel": "out", "batch": 7}
PAYLOADS = {
    EntryKind.PLANNED: Planned(**PLACE, ranges=[]),
    EntryKind.RESOLVED: Resolved(**PLACE, delivered_before=3),
    EntryKind.REPLAYED: Replayed(**PLACE),
    EntryKind.DONE: Done(**PLACE, ranges=[], counts=Counts(), sink="out"),
}


def entries(*kinds: EntryKind) -> list[Entry]:
    return [
        Entry(n=at, epoch=1, at=float(at), kind=kind, data=PAYLOADS[kind].model_dump(mode="json"))
        for at, kind in enumerate(kinds, 1)
    ]


PLANNED, RESOLVED, REPLAYED, DONE = EntryKind.PLANNED, EntryKind.RESOLVED, EntryKind.REPLAYED, EntryKind.DONE


@pytest.mark.parametrize(
    ("kinds", "marks"),
    [
        ([PLANNED, RESOLVED, DONE, PLANNED, RESOLVED], {"query_start": 1.0, "sink_tail": 2.0}),
        ([REPLAYED, PLANNED, DONE, PLANNED, RESOLVED], {"query_start": 2.0}),
        ([RESOLVED, PLANNED, RESOLVED], {"query_start": 2.0, "sink_tail": 3.0}),
        ([PLANNED], {"query_start": 1.0}),
        ([], {}),
    ],
)
def test_the_first_batch_of_the_next_run_counts(kinds: list[EntryKind], marks: dict[str, float]) -> None:
    assert journal_marks(entries(*kinds)) == marks


def test_victims_share_a_pipeline_where_their_definitions_agree() -> None:
    *alone, standby = VICTIMS
    assert (standby.lifecycle, standby.agents) == ({"standby": "warm"}, 2)
    assert by_definition() == [alone, [standby]]


def test_the_victims_are_the_columns_of_the_parts() -> None:
    found = [
        result("recovery", "headgate_micro_batch", "agent_recovery_seconds", [4.0, 6.0, 4.5]),
        result("recovery", "flume", "agent_recovery_seconds", [12.0]),
        result("recovery", "flume", "lost_records", [17.0]),
        result("recovery_parts", "jvm", "detection_seconds", [0.4]),
        result("recovery_parts", "agent", "detection_seconds", [1.2]),
    ]
    page = report.markdown(
        {
            "machine": {},
            "versions": {},
            "commands": [],
            "skipped": {},
            "notes": {},
            "records": {},
            "results": [each.plain() for each in found],
        }
    )
    assert "|  | agent: keeper, driver and JVM | JVM |" in page
    assert "| detection seconds, s | **1.2** (1.2) | **0.4** (0.4) |" in page
    assert "| lost records, records |  | **17** (17) |" in page
    assert "| recovery after a kill of the whole agent, s | ≤ 5 | 4.5 | yes |" in page
    assert "| the same, against Flume, s | ≤ 12 | 4.5 | yes |" in page
    assert "| the same, against Connect, s |  | 4.5 | not measured |" in page


def test_a_case_has_its_own_number_of_runs_where_none_is_given() -> None:
    assert set(RUNS) <= set(CASES)
    assert _parser().parse_args(["--case", "recovery"]).runs is None
    assert _parser().parse_args(["--runs", "2"]).runs == 2
