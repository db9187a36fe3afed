"""A pipeline that reads Kafka record by record, is held up and started again does what Flume's source does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from pipelines.domain.runs.protocol import SparkSettings, Status
from tests.agent.conftest import define
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.vectors import Vector, drives, vector

PRODUCED = {
    "KS-005": ["record12", "record13", "record14"],
    "KS-007": ["hello, world", "foo, bar"],
    "KS-012": ["once"],
    "KS-013": ["hello, world"],
    "KS-014": ["event 1", "event 2"],
}
STEPS = {
    "KS-001": ["process on empty topic"],
    "KS-005": [
        "produce record12,13",
        "stop",
        "new source, same group, start",
        "produce record14",
        "process",
    ],
    "KS-007": ["produce 'hello, world','foo, bar'", "process"],
    "KS-008": ["process"],
    "KS-012": ["produce 1", "process", "stop, start", "process"],
    "KS-013": ["produce 1", "process with a failing channel", "process with a good channel"],
    "KS-014": ["produce event 1, process", "produce event 2, process"],
}
"""What the story does for each vector, in the words of that one."""


@dataclass
class Story:
    """One pipeline into files; `seen` is what it did for each vector."""

    topics: Topics
    directory: Path
    pipeline: Pipeline
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    reported: int = 0

    def produce(self, *bodies: str) -> None:
        producer = Producer({"bootstrap.servers": self.topics.servers})
        for body in bodies:
            producer.produce(self.topics.source, body.encode(), partition=0)
        assert producer.flush(60) == 0

    def process(self, run: Run) -> list[str]:
        """The bodies that arrived since the last time, once everything has been read."""

        def at_rest(status: Status) -> bool:
            return bool(status.queries) and status.queries[0].lag == 0 and status.progress > 0

        run.wait_read(self.topics.ends(self.topics.source))
        run.wait_status(at_rest, "the source to be read to its end")
        arrived = self.arrived()
        new, self.reported = arrived[self.reported :], len(arrived)
        return new

    def arrived(self) -> list[str]:
        lines = [json.loads(line) for path in self.directory.glob("*.json") for line in path.read_text().splitlines()]
        return [line["body"] for line in sorted(lines, key=lambda line: int(line["origin"]["offset"]))]


def status(bodies: list[str]) -> str:
    """Flume's word for a round that read something, or nothing."""
    return "READY" if bodies else "BACKOFF"


@pytest.fixture(scope="module")
def seen(
    broker: str, spark_settings: SparkSettings, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Mapping[str, Any]]:
    """Tell the story: two runs."""
    tmp = tmp_path_factory.mktemp("story")
    topics = Topics(broker)
    sizes = [size for name in STEPS if (size := vector(name).config.get("batchSize"))]
    sink = {"type": "file", "path": str(tmp / "out"), "roll": {"interval": 0}}
    definition = define(topics, sink=sink, delivery={"max_events_per_batch": min(sizes)})
    story = Story(topics, tmp / "out", Pipeline(tmp / "state", definition, spark_settings))
    try:
        first_run(story)
        second_run(story)
    finally:
        story.pipeline.kill_all()
    return story.seen


def first_run(story: Story) -> None:
    run = story.pipeline.start()
    nothing = story.process(run)
    story.seen["KS-001"] = {"status": status(nothing), "events": len(nothing)}
    story.seen["KS-008"] = {"status": status(nothing)}
    for name in ("KS-007", "KS-014"):
        bodies = []
        for group in [PRODUCED[name]] if name == "KS-007" else [[body] for body in PRODUCED[name]]:
            story.produce(*group)
            bodies += story.process(run)
        story.seen[name] = {"bodies": bodies}
    be_held_up(story, run)
    story.produce(*PRODUCED["KS-012"])
    story.seen["KS-012"] = {"statuses": [status(story.process(run))]}
    assert run.stop().exit_code == 0
    story.pipeline.ingest()


def be_held_up(story: Story, run: Run) -> None:
    """Put a file in the way of the sink's own directory, and take it away."""
    own = story.directory / ".headgate" / story.topics.name
    moved = story.directory.with_name("moved")
    own.rename(moved)
    own.write_text("in the way")
    story.produce(*PRODUCED["KS-013"])
    run.wait_status(lambda s: s.queries[0].holding is not None, "the batch to be held")
    held = status(story.arrived()[story.reported :])
    own.unlink()
    moved.rename(own)
    bodies = story.process(run)
    story.seen["KS-013"] = {"statuses": [held, "(delivered)"][: 1 + len(bodies)], "bodies": bodies}


def second_run(story: Story) -> None:
    *before, last = PRODUCED["KS-005"]
    story.produce(*before)
    run = story.pipeline.start()
    story.produce(last)
    bodies = story.process(run)
    again = [body for body in bodies if body in PRODUCED["KS-012"]]
    story.seen["KS-012"]["statuses"].append(status(again))
    story.seen["KS-005"] = {"bodies": bodies}
    assert run.stop().exit_code == 0


@drives(*STEPS)
def test_records_are_read_as_flume_reads_them(vector: Vector, seen: Mapping[str, Mapping[str, Any]]) -> None:
    assert vector.steps == STEPS[vector.id]
    assert seen[vector.id] == vector.expected
