"""Finished files: read whole, let go of once delivered, and once only."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done
from tests.agent.sources import MakeSourcePipeline, bodies, delivered, make_source_pipeline
from tests.counts import not_once
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]


def drop(directory: Path, name: str, numbers: range) -> None:
    """Put a finished file there, as one should: under another name first."""
    part = directory / f".{name}"
    part.write_text("".join(f"line {n}\r\n" for n in numbers))
    part.rename(directory / name)


def test_files_are_read_once_and_renamed_although_the_agent_is_killed(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    source = {
        "type": "spooldir",
        "directory": str(spool),
        "basename_header": True,
        "scan_interval": "100ms",
        "max_line_bytes": 1000,
    }
    pipeline = make_source_pipeline(source)
    for file in range(20):
        drop(spool, f"in-{file:02}.txt", range(file * 1000, file * 1000 + 1000))
    run = pipeline.start()
    run.wait_delivered(1000)
    run.kill("driver")
    run.wait_exit()
    for file in range(20, 30):
        drop(spool, f"in-{file:02}.txt", range(file * 1000, file * 1000 + 1000))
    (spool / "empty.txt").touch()
    (spool / "long.txt").write_text("x" * 5000 + "\nshort\n")
    run = pipeline.start()
    out = tmp_path / "out"
    wait_for(lambda: len(bodies(out)) >= 30_002, "every line", 240)
    wait_for(lambda: len(list(spool.glob("*.COMPLETED"))) == 32, "the files to be let go of")
    assert run.stop().exit_code == 0
    assert not not_once(bodies(out), [*(f"line {n}" for n in range(30_000)), "", "short"])
    assert next(e for e in delivered(out) if e["body"] == "line 2500")["headers"] == {"basename": "in-02.txt"}
    assert sum(done.counts.dead_lettered for done in run.of_kind(Done)) == 1


def test_a_file_that_changed_after_it_was_taken_blocks_the_next_start(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    pipeline = make_source_pipeline({"type": "spooldir", "directory": str(spool), "scan_interval": "100ms"})
    drop(spool, "a.txt", range(10))
    run = pipeline.start()
    run.wait_delivered(10)
    run.obey(Command.PAUSE)
    drop(spool, "b.txt", range(10, 20))
    run.wait_status(lambda s: (s.queries[0].lag or 0) > 0, "the file to be taken")
    assert run.stop().exit_code == 0
    with (spool / "b.txt").open("a") as file:
        file.write("one more\n")
    run = pipeline.start()
    run.wait_exit()
    assert run.status is not None
    assert [finding.code for finding in run.status.findings] == ["FILE_CHANGED"]
    assert len(bodies(tmp_path / "out")) == 10
