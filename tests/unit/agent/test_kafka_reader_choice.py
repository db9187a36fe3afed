"""Which reader Kafka sources have: Headgate's, unless the host's setting asks for Spark's, which every run says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane import bootstep
from controlplane.environment import Environment
from controlplane.provision.training_job import definition_of, launch_of
from pipelines.domain.runs.protocol import KafkaReader, SparkSettings
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.components.source import kafka
from workers.agent.graph import compile as compiler
from workers.agent.graph.component import SourceBuilder
from workers.agent.kafka import cluster_warnings


class Reading:
    """A session that notes the formats it is asked for."""

    def __init__(self) -> None:
        self.formats: list[str] = []
        self.read = self.readStream = self

    def format(self, name: str) -> Any:
        self.formats.append(name)
        raise StopIteration


def source_of(reader: KafkaReader) -> SourceBuilder:
    definition = definition_of("127.0.0.1:9", "in", "out", "/nowhere")
    launch = launch_of(definition, SparkSettings(classpath=[], kafka_reader=reader), "/nowhere")
    return compiler.of_run(launch, definition).sources["in"]


@pytest.fixture
def without_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options are made without asking a cluster for its brokers."""
    monkeypatch.setattr(kafka.Builder, "_options", lambda _: {})


def formats(reader: KafkaReader) -> list[str]:
    """Of a stream in micro-batches, of a batch, and of a stream in real time."""
    source, reading = source_of(reader), Reading()
    asked: Any = reading
    for read in (
        lambda: source.stream(asked, {}, BatchLimits(1, 0.0)),
        lambda: source.records(asked, {}, {}),
        lambda: source.flow(asked, {}),
    ):
        with pytest.raises(StopIteration):
            read()
    return reading.formats


@pytest.mark.usefixtures("without_brokers")
def test_headgates_reader_is_the_default_where_spark_has_no_better() -> None:
    assert SparkSettings(classpath=[]).kafka_reader == "headgate"
    own = "org.apache.spark.sql.kafka010.HeadgateKafkaProvider"
    assert formats("headgate") == [own, own, "kafka"]


@pytest.mark.usefixtures("without_brokers")
def test_sparks_reader_is_used_where_the_host_says_so() -> None:
    assert formats("spark") == ["kafka"] * 3


@pytest.mark.parametrize(("reader", "told"), [("headgate", []), ("spark", ["KAFKA_READER_SPARK"])])
def test_a_run_says_that_it_has_the_slower_reader(
    monkeypatch: pytest.MonkeyPatch, reader: KafkaReader, told: list[str]
) -> None:
    monkeypatch.setattr(kafka.Builder, "_partitions", lambda _: [])
    monkeypatch.setattr(cluster_warnings, "of_source", lambda *_: [])
    source = source_of(reader)
    source.probe()
    assert [each.code for each in source.warnings] == told


@pytest.fixture
def unread() -> Iterator[None]:
    """What a host gives to agents is looked up once; not in this test."""
    bootstep.spark_settings.cache_clear()
    yield
    bootstep.spark_settings.cache_clear()


@pytest.mark.usefixtures("unread")
def test_the_setting_of_the_host_reaches_its_runs(
    monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADGATE_KAFKA_READER", "spark")
    monkeypatch.setattr(bootstep, "provisioned", lambda: SparkSettings(classpath=["a.jar"]))
    settings.HEADGATE = Environment(state=tmp_path)
    assert bootstep.spark_settings() == SparkSettings(classpath=["a.jar"], kafka_reader="spark")


def test_another_reader_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_KAFKA_READER", "fast")
    with pytest.raises(ValueError, match=r"kafka_reader[\s\S]*'headgate' or 'spark'"):
        Environment()
