"""Numbered events out of nothing."""

from __future__ import annotations

from pathlib import Path

from tests.agent.sources import MakeSourcePipeline, bodies, make_source_pipeline
from tests.counts import not_once

__all__ = ["make_source_pipeline"]


def test_a_sequence_is_complete_after_a_kill_and_continues_where_it_was(
    make_source_pipeline: MakeSourcePipeline, tmp_path: Path
) -> None:
    source = {"type": "sequence", "rate": 5000, "limit": 40_000, "body": '{"n": {n}}', "partitions": 3}
    pipeline = make_source_pipeline(source)
    run = pipeline.start()
    run.wait_delivered(5000)
    run.kill("driver")
    run.wait_exit()
    before = sum(bodies(tmp_path / "out").values())
    run = pipeline.start()
    run.wait_status(lambda s: s.queries[0].lag == 0 and s.queries[0].read + before >= 40_000, "all of them")
    assert run.stop().exit_code == 0
    assert not not_once(bodies(tmp_path / "out"), (f'{{"n": {n}}}' for n in range(40_000)))
