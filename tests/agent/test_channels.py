"""Channels: one read that serves several, and stores between source and sink."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pipelines.domain.journal import Done
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics
from tests.waiting import wait_for

COUNT = 60_000


def numbers_in(directory: Path) -> Counter[int]:
    lines = [line for path in directory.glob("*.json") for line in path.read_text().splitlines()]
    return Counter(int(json.loads(line)["body"][:10]) for line in lines)


def add_channel(pipeline: Pipeline, name: str, channel: dict[str, Any], sink: dict[str, Any]) -> None:
    pipeline.definition["channels"][name] = channel
    pipeline.definition["sinks"][name] = {"channel": name, **sink}


def test_memory_channels_share_one_read_and_lose_nothing_when_the_driver_dies(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    topics.produce(COUNT)
    pipeline = make_pipeline(max_events_per_batch=10_000)
    pipeline.definition["channels"]["lake"] = {"type": "memory", "transaction_capacity": 5_000}
    add_channel(pipeline, "audit", {"type": "memory"}, {"type": "file", "path": str(tmp_path / "audit")})
    run = pipeline.start()
    run.wait_delivered(COUNT // 3)
    run.kill("driver")
    run.wait_exit()
    pipeline.ingest()

    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    pipeline.ingest()
    assert sorted(path.name for path in pipeline.checkpoint("shop", "audit+lake").parent.iterdir()) == [
        "shop.audit+lake"
    ]
    assert max(done.counts.read for done in run.of_kind(Done)) <= 5_000
    out = topics.read()
    assert out.missing(COUNT) == set()
    assert out.duplicates <= pipeline.announced_duplicates
    audit = numbers_in(tmp_path / "audit")
    assert set(audit) == set(range(COUNT))
    assert audit.total() == COUNT


def test_a_kafka_channel_keeps_copies_that_feed_its_sink(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    store = f"{topics.name}-store"
    topics.create(store)
    topics.produce(2000, key=b"k", headers={"colour": b"red"})
    pipeline = make_pipeline(source={"interceptors": [{"type": "static", "key": "datacenter", "value": "prague"}]})
    add_channel(
        pipeline, "audit", {"type": "kafka", "bootstrap_servers": topics.servers, "topic": store},
        {"type": "file", "path": str(tmp_path / "audit")},
    )  # fmt: skip
    run = pipeline.start()
    wait_for(lambda: sum(numbers_in(tmp_path / "audit").values()) == 2000, "the files")
    wait_for(lambda: sum(done.counts.read for done in run.of_kind(Done)) >= 3 * 2000, "the other two channels")
    assert run.stop().exit_code == 0

    assert topics.read(store).missing(2000) == set()
    line = json.loads(next((tmp_path / "audit").glob("*.json")).read_text().splitlines()[0])
    assert line["origin"]["topic"] == store
    assert (line["key"], line["headers"]) == ("k", {"colour": "red", "datacenter": "prague"})
    read: Counter[tuple[str, str]] = Counter()
    for done in run.of_kind(Done):
        assert done.counts.balanced
        read[done.source, done.channel] += done.counts.read
    assert read == {("shop", "lake"): 2000, ("shop", "audit"): 2000, ("channels.audit", "audit"): 2000}


def test_a_file_channel_is_a_log_that_loses_and_doubles_nothing_when_the_driver_dies(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    topics.produce(COUNT)
    pipeline = make_pipeline()
    del pipeline.definition["channels"]["lake"], pipeline.definition["sinks"]["lake"]
    channel = {"type": "file", "capacity": 20_000, "transaction_capacity": 5_000}
    add_channel(pipeline, "audit", channel, {"type": "file", "path": str(tmp_path / "audit")})
    for share in (4, 2):
        run = pipeline.start()
        wait_for(lambda share=share: sum(numbers_in(tmp_path / "audit").values()) > COUNT // share, "a part")  # type: ignore[misc]
        run.kill("driver")
        run.wait_exit()
    run = pipeline.start()
    wait_for(lambda: sum(numbers_in(tmp_path / "audit").values()) >= COUNT, "all records", 120)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    found = numbers_in(tmp_path / "audit")
    assert (set(found), found.total()) == (set(range(COUNT)), COUNT)
    assert pipeline.announced_duplicates == 0
    log = pipeline.state_dir / "data" / pipeline.name / "1" / "channels" / "audit"
    assert sum(path.stat().st_size for path in log.glob("*.events")) < COUNT * 100
