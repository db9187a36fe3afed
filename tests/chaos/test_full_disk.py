"""Rows 52 and 75: the disk of journal and log, of the checkpoint, and of the log alone is full, then there is room
again; what page, API, command line and alerts say meanwhile is true within seconds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from pipelines.domain.ledger.journal import Done, Exited, Planned, read_entries
from pipelines.domain.ledger.ledger import Counts
from tests.agent.harness import Run, holders
from tests.agent.sources import MakeSourcePipeline, bodies, make_source_pipeline
from tests.chaos.installation import installed
from tests.chaos.small_disk import full, small_disk
from tests.chaos.stream import MOVING_WITHIN, Stream, streaming
from tests.chaos.test_page_truth import alerts, headgate, seconds_until
from tests.counts import not_once
from tests.waiting import wait_for
from workers.adapters.rundirs import LocalRunDirs
from workers.agent.run_dir.journal_writer import DiskFull, Journal
from workers.agent.run_dir.reserve import Reserve
from workers.keeper import files
from workers.keeper.keeper import _last_epoch, _name_epoch
from workers.keeper.log import LogPump

__all__ = ["make_source_pipeline"]

SOME = 2000
WHERE = {"source": "shop", "channel": "lake"}
PLANNED = Planned(**WHERE, batch=0, ranges=[])
DONE = Done(**WHERE, batch=0, ranges=[], counts=Counts(), sink="lake")
PATIENCE = 180.0


def test_a_full_disk_ends_a_run_with_nothing_half_written_and_the_next_one_goes_on_when_there_is_room(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path, record_property: Any
) -> None:
    """Nobody touches a file: the journal of every run can be read whole, and each record arrives once."""
    source = {"type": "sequence", "rate": 1000, "body": "{n}"}
    pipeline = make_source_pipeline(source)
    runs, checkpoints = tmp_path / "state" / "runs", tmp_path / "state" / "checkpoints"
    with small_disk(runs, "48m"), small_disk(checkpoints, "8m"):
        for place in (checkpoints, runs):
            run = pipeline.start()
            run.wait_delivered(SOME, PATIENCE)
            with full(place):
                _is_seen(run, place)
            record = run.wait_exit() if _is_over(run) else run.stop()
            assert record.killed_by is None
            run.entries()
        run = pipeline.start()
        run.wait_delivered(SOME, PATIENCE)
        assert run.stop().exit_code == 0
        run.entries()
    found = bodies(tmp_path / "out")
    assert not not_once(found, map(str, range(max(map(int, found)) + 1)))
    record_property("missing", 0)
    record_property("duplicates", 0)
    record_property("tries", 2)


def _is_seen(run: Run, place: Path) -> None:
    """The run ends by itself, or says that it cannot write; what moves on meanwhile needs no byte of that disk.

    A log on the full disk says nothing, and exit.json waits for room: then the processes are looked at.
    """
    said = "No space left" if place.name == "checkpoints" else "cannot be written"
    wait_for(lambda: _is_over(run) or said in run.log, f"the full disk of {place.name} to be seen", PATIENCE)


def _is_over(run: Run) -> bool:
    """Nothing but the keeper is left, which may be waiting for room to write exit.json."""
    return run.exit is not None or set(holders(run.token)) <= {run.pid("keeper")}


def test_a_full_disk_is_shown_within_seconds_and_the_stream_resumes_by_itself(
    tmp_path: Path, record_property: Any
) -> None:
    """Nobody touches a file, or asks for anything."""
    runs = tmp_path / "state" / "runs"
    with (
        small_disk(runs, "64m"),
        installed(tmp_path) as installation,
        streaming(installation, name="full-disk") as stream,
    ):
        with full(runs):
            record_property("seconds until shown", seconds_until(lambda: _is_shown(stream), "the full disk is shown"))
            code, text = headgate(installation, "status", "full-disk")
            assert (code, "DISK_FULL" in text) == (0, True), text
            (host,) = cast("list[dict[str, Any]]", installation.api.get("/hosts"))
            assert host["disk"]["state"] != "OK"
        stream.goes_on(stream.read)
        wait_for(lambda: not alerts(stream), "the alerts are resolved", MOVING_WITHIN)
        stream.nothing_is_missing()


def _is_shown(stream: Stream) -> bool:
    """By header, finding and alert."""
    status = stream.installation.api.get(f"/pipelines/{stream.demo.name}/status")
    found = {finding["code"] for finding in status["findings"]}
    shown = status["phase_reason"] == "disk_full" and "is full" in status["headline"] and "DISK_FULL" in found
    return shown and "disk_full" in alerts(stream)


def test_the_reserve_has_room_for_the_last_words_of_a_run_on_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "2m"):
        reserve = Reserve(disk / "reserve")
        journal = Journal(disk / "journal.jsonl", 1, reserve)
        journal.append(PLANNED)
        with full(disk):
            while not reserve.released:
                journal.append(DONE)  # the last page of the journal has some room left
            with pytest.raises(DiskFull):
                journal.append(PLANNED)
            journal.append(Exited(code=17, reason="full"))
            files.write_atomically(disk / "exit.json", {"exit_code": 17})
            assert LocalRunDirs(tmp_path).found_full(disk)
        entries = read_entries((disk / "journal.jsonl").read_bytes())[0]
        left = sorted(path.name for path in disk.iterdir())
    assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[-1].payload() == Exited(code=17, reason="full")
    assert left == ["exit.json", "journal.jsonl", "reserve"]


def test_the_lock_of_a_pipeline_keeps_its_epoch_on_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "64k"):
        locks = [os.open(disk / name, os.O_RDWR | os.O_CREAT, 0o600) for name in ("named", "new")]
        _name_epoch(locks[0], 9)
        with full(disk):
            _name_epoch(locks[0], 10)
            with pytest.raises(OSError, match="No space left"):
                _name_epoch(locks[1], 10)
        assert [_last_epoch(lock) for lock in locks] == [10, 0]
        for lock in locks:
            os.close(lock)


def test_a_log_that_cannot_be_written_blocks_nobody_and_says_afterwards_what_it_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "64k"):
        log = disk / "agent.log"
        pump = LogPump(log, size=1 << 20, files=2)
        pump.start()
        with full(disk):
            for _ in range(200):
                os.write(pump.sink, b"x" * 1000 + b"\n")
            wait_for(lambda: pump._lost == 200 * 1001, "all of it is dropped")
        pump.say("there is room again")
        os.close(pump.sink)
        pump.join(10)
        text = log.read_text()
    assert "200200 bytes of output were lost" in text
    assert text.rstrip().endswith("there is room again")
