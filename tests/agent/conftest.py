"""Agents are real, and so is the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.runs.protocol import SparkSettings
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics
from workers.agent.evaluation.previewer import READ_ONCE
from workers.agent.spark import jvm
from workers.agent.spark import session as spark


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory, spark_settings: SparkSettings) -> Iterator[SparkSession]:
    """One local session for all tests of expressions, which reads nothing twice."""
    tmp = tmp_path_factory.mktemp("spark")
    home, archive = spark_settings.java_home, spark_settings.archive
    process = jvm.Jvm(jvm.command(spark_settings.classpath, java_home=home, heap="512m", archive=archive), tmp)
    session = spark.connect(process, name="expressions", cores=2, tmp=tmp, differing=READ_ONCE)
    yield session
    session.stop()
    process.stop(10)


@pytest.fixture(params=[True, False])
def compiled(request: pytest.FixtureRequest, session: SparkSession) -> Iterator[bool]:
    """Whether Spark generates code for what runs in the test."""
    spark.generate_code(session, request.param)
    yield request.param
    spark.generate_code(session, True)


@pytest.fixture
def topics(broker: str) -> Topics:
    return Topics(broker)


def define(
    topics: Topics,
    *,
    source: dict[str, Any] | None = None,
    sink: dict[str, Any] | None = None,
    delivery: dict[str, Any],
) -> dict[str, Any]:
    """The definition of a pipeline from the topic `topics.source` to `topics.sink`, or another sink."""
    return {
        "api_version": "headgate/v1",
        "name": topics.name,
        "sources": {"shop": topics.as_source() | (source or {})},
        "channels": {"lake": {"type": "direct"}},
        "sinks": {"lake": {"channel": "lake"} | (sink or topics.as_sink())},
        "delivery": delivery,
    }


MakePipeline = Callable[..., Pipeline]


@pytest.fixture
def make_pipeline(tmp_path: Path, topics: Topics, spark_settings: SparkSettings) -> Iterator[MakePipeline]:
    """A pipeline by `define`; its processes end with the test."""
    made: list[Pipeline] = []

    def make(*, sink: dict[str, Any] | None = None, source: dict[str, Any] | None = None, **delivery: Any) -> Pipeline:
        definition = define(topics, source=source, sink=sink, delivery=delivery)
        made.append(Pipeline(tmp_path / "state", definition, spark_settings))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.kill_all()
