"""Previews of sources that are no broker: sequences, files and ingest buffers. Nothing of the pipeline is changed."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.access.reach import AllowedRoot, ReachPolicy
from pipelines.domain.definitions.components.source.http import HttpSource
from pipelines.domain.preview.protocol import PreviewResult
from tests.agent.reading_beside import CountedReader
from tests.agent.test_previews import FILTER, STATIC, only, previewed
from workers.agent.base.findings import Refused
from workers.agent.components.source import sequence
from workers.agent.evaluation import reading
from workers.agent.push import log as logs
from workers.agent.push.event import Event, record_batch
from workers.agent.push.log import IngestBuffer

OLD = 1_000_000_000


def definition(source: dict[str, Any], *interceptors: dict[str, Any]) -> dict[str, Any]:
    return {
        "api_version": "headgate/v1",
        "name": "ingest",
        "sources": {"src": source | {"interceptors": list(interceptors)}},
        "channels": {"lake": {"type": "direct"}},
        "sinks": {"lake": {"type": "null", "channel": "lake"}},
    }


def compared(
    session: SparkSession, tmp_path: Path, source: dict[str, Any], *, last: int = 1000, **more: Any
) -> PreviewResult:
    """The source as it is, and with a header more, so that every event differs and is shown."""
    tmp = Path(tempfile.mkdtemp(prefix="preview-", dir=tmp_path))
    more = {"selection": {"last": last}, "state": str(tmp_path / "state"), **more}
    new = more.pop("new", definition(source, STATIC))
    return previewed(session, tmp, definition(source), new, **more)


def bodies(result: PreviewResult) -> list[str]:
    """In the order of the log."""
    return [row.record["body"] for row in result.differences if row.record]


def snapshot(directory: Path) -> dict[str, tuple[int, int, int]]:
    found = {path: path.lstat() for path in sorted(directory.rglob("*"))}
    return {str(path): (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The directory of a pipeline whose sequence began a thousand seconds ago."""
    path = tmp_path / "state" / "sequences" / "src.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"began": time.time() - 1000}))
    return path


SEQUENCE = {"type": "sequence", "rate": 10, "limit": 5000, "body": '{"n": {n}}', "partitions": 2}


def test_the_last_events_of_a_sequence_are_those_that_its_agent_reads(
    session: SparkSession, tmp_path: Path, begun: Path
) -> None:
    before = snapshot(tmp_path / "state")
    result = compared(session, tmp_path, SEQUENCE, last=10)
    assert sorted(bodies(result)) == [f'{{"n": {n}}}' for n in range(4990, 5000)]
    assert {(row.topic, row.partition) for row in result.differences} == {("src", 0), ("src", 1)}
    assert snapshot(tmp_path / "state") == before
    assert not list(tmp_path.glob("preview-*/*"))


def test_a_range_of_a_sequence_has_the_same_events_at_the_same_offsets(
    session: SparkSession, tmp_path: Path, begun: Path
) -> None:
    wanted = {"topic": "src", "partition": 1, "start": 100, "end": 103}
    result = compared(session, tmp_path, SEQUENCE, selection={"ranges": [wanted]})
    assert {row.offset: bodies(result)[at] for at, row in enumerate(result.differences)} == {
        100: '{"n": 201}',
        101: '{"n": 203}',
        102: '{"n": 205}',
    }


def test_events_of_a_sequence_are_selected_by_the_time_when_they_were_due(
    session: SparkSession, tmp_path: Path, begun: Path
) -> None:
    source = SEQUENCE | {"limit": None}
    result = compared(session, tmp_path, source, selection={"since": 10})
    assert 90 <= result.records <= 400
    assert compared(session, tmp_path, SEQUENCE, selection={"since": 10}).records == 0, "the last one was due long ago"


def test_a_sequence_that_was_never_started_has_no_events(session: SparkSession, tmp_path: Path) -> None:
    assert compared(session, tmp_path, SEQUENCE).records == 0
    assert not (tmp_path / "state").exists()


def test_a_sequence_without_an_end_is_asked_for_a_range(session: SparkSession, tmp_path: Path, begun: Path) -> None:
    endless = {"type": "sequence", "rate": 0}
    with pytest.raises(Refused, match="no last events"):
        compared(session, tmp_path, endless)
    wanted = {"topic": "src", "partition": 0, "start": 7, "end": 9}
    assert bodies(compared(session, tmp_path, endless, selection={"ranges": [wanted]})) == ["7", "8"]


def test_a_preview_reads_its_source_once(
    session: SparkSession, tmp_path: Path, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequence, "SequenceReader", CountedReader)
    told = tmp_path / "told"
    source = SEQUENCE | {"body": f"{told} {{n}}", "partitions": 1}
    result = compared(session, tmp_path, source, last=50)
    assert (result.records, result.differing) == (50, 50)
    assert told.read_bytes() == b"x"


def written(directory: Path, name: str, *lines: str, changed: int = OLD, end: str = "\n") -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text("\n".join(lines) + end)
    os.utime(path, (changed, changed))
    return path


def tail(directory: Path, **more: Any) -> dict[str, Any]:
    group = {"directory": str(directory), "pattern": r"app\.log(\.\d+)?"}
    return {"type": "taildir", "file_groups": {"app": group}, **more}


def test_the_last_whole_lines_of_growing_files_are_read_and_the_file_changed_last_comes_first(
    session: SparkSession, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    written(logs, "app.log.1", *(f"old {n}" for n in range(50)), changed=OLD)
    written(logs, "app.log", *(f"new {n}" for n in range(20)), "not whole yet", changed=OLD + 10, end="")
    written(logs, "other.log", "of somebody else")
    before = snapshot(logs)
    expected = [f"new {n}" for n in range(20)] + [f"old {n}" for n in range(45, 50)]
    assert sorted(bodies(compared(session, tmp_path, tail(logs), last=25))) == sorted(expected)
    assert bodies(compared(session, tmp_path, tail(logs), last=3)) == ["new 17", "new 18", "new 19"]
    assert compared(session, tmp_path, tail(logs)).records == 70
    assert snapshot(logs) == before
    assert not (tmp_path / "state").exists()


def test_headers_of_a_file_are_those_of_its_agent_and_may_be_what_differs(
    session: SparkSession, tmp_path: Path
) -> None:
    path = written(tmp_path / "logs", "app.log", "first", "second")
    new = definition(tail(path.parent, byte_offset_header=True))
    result = compared(session, tmp_path, tail(path.parent), new=new)
    assert [(each.name, each.after) for row in result.differences for each in row.headers] == [
        ("byteoffset", "0"),
        ("byteoffset", "6"),
    ]


def test_growing_files_are_not_selected_by_time_or_offsets(session: SparkSession, tmp_path: Path) -> None:
    logs = written(tmp_path / "logs", "app.log", "a").parent
    with pytest.raises(Refused, match="does not know when"):
        compared(session, tmp_path, tail(logs), selection={"since": 3600})
    wanted = {"topic": "app", "partition": 1, "start": 0, "end": 10}
    with pytest.raises(Refused, match="count bytes"):
        compared(session, tmp_path, tail(logs), selection={"ranges": [wanted]})


def test_a_sample_of_lines_is_the_same_lines_each_time(session: SparkSession, tmp_path: Path) -> None:
    logs = written(tmp_path / "logs", "app.log", *(f"line {n}" for n in range(2000))).parent
    selection = {"last": 100, "sample": 0.1}
    once, again = (compared(session, tmp_path, tail(logs), selection=selection) for _ in range(2))
    assert 50 <= once.records <= 100
    assert bodies(once) == bodies(again)


def spool(directory: Path, **more: Any) -> dict[str, Any]:
    return {"type": "spooldir", "directory": str(directory), "include_pattern": r".*\.csv", **more}


def test_finished_files_are_read_with_those_that_were_delivered(session: SparkSession, tmp_path: Path) -> None:
    files = tmp_path / "files"
    written(files, "a.csv.COMPLETED", *(f"a{n}" for n in range(10)), changed=OLD)
    written(files, "b.csv.COMPLETED.1", "b0", "b1", changed=OLD + 1)
    written(files, "c.csv", "c0", "c1", changed=OLD + 2)
    written(files, "d.txt", "of somebody else", changed=OLD + 3)
    before = snapshot(files)
    assert bodies(compared(session, tmp_path, spool(files), last=6)) == ["a8", "a9", "b0", "b1", "c0", "c1"]
    assert compared(session, tmp_path, spool(files, completed="delete")).records == 2
    assert snapshot(files) == before
    assert not (tmp_path / "state").exists()


def test_finished_files_are_selected_by_the_time_of_their_change(session: SparkSession, tmp_path: Path) -> None:
    files = tmp_path / "files"
    written(files, "a.csv", "old")
    written(files, "b.csv", "young", changed=int(time.time()) - 60)
    assert bodies(compared(session, tmp_path, spool(files), selection={"since": 3600})) == ["young"]


def before_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens between the selection of records and their first reading."""
    read = reading._measured

    def after_that(*asked: Any) -> Any:
        act()
        return read(*asked)

    monkeypatch.setattr(reading, "_measured", after_that)


def test_a_file_that_its_agent_renames_meanwhile_is_read_all_the_same(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "files", "a.csv", "one", "two")
    before_reading(monkeypatch, lambda: path.rename(f"{path}.COMPLETED"))
    assert bodies(compared(session, tmp_path, spool(path.parent))) == ["one", "two"]


def test_files_that_go_away_meanwhile_are_a_finding(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "files", "a.csv", "one", "two")
    before_reading(monkeypatch, path.unlink)
    with pytest.raises(Refused, match="went away while"):
        compared(session, tmp_path, spool(path.parent))


def test_other_rules_for_finished_files_have_no_records_in_common(session: SparkSession, tmp_path: Path) -> None:
    files = written(tmp_path / "files", "a.csv", "one").parent
    new = definition(spool(files, include_pattern=".*"))
    with pytest.raises(Refused, match="no records in common"):
        compared(session, tmp_path, spool(files), new=new)


def test_files_outside_the_allowed_directories_are_not_read(session: SparkSession, tmp_path: Path) -> None:
    secret = written(tmp_path / "secrets", "key", "a key")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "app.log").symlink_to(secret)
    allowed = ReachPolicy(roots=(AllowedRoot(path=str(logs)),)).model_dump(mode="json")
    with pytest.raises(Refused) as refused:
        compared(session, tmp_path, tail(logs), reach=allowed)
    assert "a key" not in str(refused.value)


def test_a_directory_that_cannot_be_read_is_a_finding(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="does not exist"):
        compared(session, tmp_path, spool(tmp_path / "missing"))


def test_a_line_that_is_too_long_is_shown_as_the_dead_letter_that_it_is(session: SparkSession, tmp_path: Path) -> None:
    logs = written(tmp_path / "logs", "app.log", "x" * 5000, "short").parent
    result = compared(session, tmp_path, tail(logs, max_line_bytes=1000))
    assert {(row.result, row.component): row.before for row in result.counts} == {
        ("delivered", "channels.lake"): 1,
        ("dead_lettered", "sources.src"): 1,
    }


def test_a_filter_over_lines_is_compared(session: SparkSession, tmp_path: Path) -> None:
    logs = written(tmp_path / "logs", "app.log", "DEBUG a", "INFO b").parent
    result = compared(session, tmp_path, tail(logs), new=definition(tail(logs), FILTER))
    row = only(result)
    assert row.record
    assert row.record["body"] == "DEBUG a"


def pushed(**more: Any) -> dict[str, Any]:
    return {"type": "http", "port": 18080, **more}


@pytest.fixture
def buffer(tmp_path: Path) -> IngestBuffer:
    """That of a pipeline, with a thousand events, all of which were delivered."""
    directory = tmp_path / "state" / "ingest_buffer" / "src"
    spec = HttpSource.model_validate(pushed())
    log = IngestBuffer(directory, spec, durable=True)
    for first in range(0, 1000, 100):
        log.append(record_batch([Event(b"%d" % n, {"n": str(n)}) for n in range(first, first + 100)]))
    logs.acknowledge(directory, 1000)
    return log


def test_recent_events_of_a_push_source_are_read_where_it_keeps_them(
    session: SparkSession, tmp_path: Path, buffer: IngestBuffer
) -> None:
    before = snapshot(tmp_path / "state")
    source = pushed(recent_records=50)
    assert bodies(compared(session, tmp_path, source, last=3)) == ["997", "998", "999"]
    result = compared(session, tmp_path, source)
    assert (result.records, result.ranges[0].start) == (50, 950)
    wanted = {"topic": "src", "partition": 0, "start": 960, "end": 962}
    assert bodies(compared(session, tmp_path, source, selection={"ranges": [wanted]})) == ["960", "961"]
    with pytest.raises(Refused, match="does not know when"):
        compared(session, tmp_path, source, selection={"since": 60})
    assert snapshot(tmp_path / "state") == before


def test_a_push_source_that_keeps_none_is_refused_and_says_which_key_helps(
    session: SparkSession, tmp_path: Path, buffer: IngestBuffer
) -> None:
    with pytest.raises(Refused) as refused:
        compared(session, tmp_path, pushed())
    (finding,) = refused.value.findings
    assert (finding.code, "recent_records" in finding.suggestion) == ("SOURCE_NOT_READABLE", True)


def test_a_push_source_that_took_nothing_yet_has_no_events(session: SparkSession, tmp_path: Path) -> None:
    assert compared(session, tmp_path, pushed(recent_records=50)).records == 0
    assert not (tmp_path / "state").exists()
