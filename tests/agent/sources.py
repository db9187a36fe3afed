"""Pipelines from sources that are no broker into files, and what arrived in them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs.protocol import SparkSettings
from tests.agent.harness import Pipeline
from tests.agent.topics import EVERY_MS

MakeSourcePipeline = Callable[..., Pipeline]


@pytest.fixture
def make_source_pipeline(tmp_path: Path, spark_settings: SparkSettings) -> Iterator[MakeSourcePipeline]:
    """A pipeline from the given source to files below `tmp_path / "out"`; its processes end with the test."""
    made: list[Pipeline] = []

    def make(source: dict[str, Any], **more: Any) -> Pipeline:
        definition = {
            "api_version": "headgate/v1",
            "name": "ingest",
            "sources": {"src": source},
            "channels": {"lake": {"type": "direct"}},
            "sinks": {
                "lake": {"type": "file", "channel": "lake", "path": str(tmp_path / "out"), "roll": {"interval": 0}}
            },
            "delivery": {"trigger_interval_ms": EVERY_MS},
            "placement": {"launcher": {"cores": 2}},
            **more,
        }
        made.append(Pipeline(tmp_path / "state", definition, spark_settings))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.kill_all()


def delivered(directory: Path) -> list[dict[str, Any]]:
    """The events in the finished files. What a sink works on lies in hidden directories, which come and go."""
    found: list[Path] = []
    for top, below, names in os.walk(directory):
        below[:] = [name for name in below if not name.startswith((".", "_"))]
        found += [Path(top, name) for name in names if not name.startswith((".", "_"))]
    return [json.loads(line) for path in sorted(found) for line in path.read_text().splitlines()]


def bodies(directory: Path) -> Counter[str]:
    """How often each body arrived."""
    return Counter(event["body"] for event in delivered(directory))
