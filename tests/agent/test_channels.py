"""Channels: one read that serves several, and stores between source and sink."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics
from tests.chaos.extent import WHOLE
from tests.counts import not_once
from tests.waiting import wait_for

COUNT = 30_000
SHARES = (4, 2) if WHOLE else (3,)
"""Of the records, when the driver is killed."""


def numbers_in(directory: Path) -> Counter[int]:
    lines = [line for path in directory.glob("*.json") for line in path.read_text().splitlines()]
    return Counter(int(json.loads(line)["body"][:10]) for line in lines)


def only(*channels: str) -> dict[str, Any]:
    """The selector of a source that feeds these channels."""
    return {"type": "replicating", "channels": list(channels)}


def add_channel(pipeline: Pipeline, name: str, channel: dict[str, Any], sink: dict[str, Any]) -> None:
    pipeline.definition["channels"][name] = channel
    pipeline.definition["sinks"][name] = {"channel": name, **sink}


def test_memory_channels_share_one_read_and_a_file_channel_is_a_log_and_none_loses_anything_when_the_driver_dies(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    topics.produce(COUNT)
    pipeline = make_pipeline(max_events_per_batch=10_000)
    audit, stored = tmp_path / "audit", tmp_path / "stored"
    pipeline.definition["channels"]["lake"] = {"type": "memory", "transaction_capacity": 5_000}
    add_channel(pipeline, "audit", {"type": "memory"}, {"type": "file", "path": str(audit), "roll": {"interval": 0}})
    channel = {"type": "file", "capacity": 20_000, "transaction_capacity": 5_000}
    add_channel(pipeline, "store", channel, {"type": "file", "path": str(stored), "roll": {"interval": 0}})
    sources = pipeline.definition["sources"]
    sources["log"] = {**sources["shop"], "group_id": f"headgate.{topics.name}.log", "selector": only("store")}
    sources["shop"]["selector"] = only("audit", "lake")
    for share in SHARES:
        run = pipeline.start()
        run.wait_delivered(COUNT // 3)
        wait_for(lambda share=share: numbers_in(stored).total() > COUNT // share, "a part of it")  # type: ignore[misc]
        run.kill("driver")
        run.wait_exit()

    run = pipeline.start()
    run.wait_status(lambda s: [q.lag for q in s.queries if q.source == "shop"] == [0, 0], "all records")
    wait_for(lambda: numbers_in(stored).total() >= COUNT, "all records in the files", 120)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    checkpoints = {path.name for path in pipeline.checkpoint("shop", "audit+lake").parent.iterdir()}
    assert {name for name in checkpoints if name.startswith("shop.")} == {"shop.audit+lake"}
    batches = {query: ledger.done for query, ledger in pipeline.ledger.items()}
    assert max(done.counts.read for done in batches["shop", "lake"]) <= 5_000
    out = topics.read()
    assert out.missing(COUNT) == set()
    assert out.duplicates <= sum(done.duplicates_max for done in batches["shop", "lake"])
    assert not_once(numbers_in(audit), range(COUNT)) == {}
    assert not_once(numbers_in(stored), range(COUNT)) == {}
    assert sum(done.duplicates_max for (_, name), each in batches.items() if name == "store" for done in each) == 0
    log = pipeline.state_dir / "data" / pipeline.name / "1" / "channels" / "store"
    assert sum(path.stat().st_size for path in log.glob("*.events")) < COUNT * 100
