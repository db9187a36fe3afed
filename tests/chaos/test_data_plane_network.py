"""A network that is cut, halved, slowed down or reset between an agent and its broker or sink; a broker that is killed.

Everything arrives, what is there twice was announced, and records flow again soon after the network is whole.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from controlplane.install.services.child import Child, running
from controlplane.install.services.kafka import bootstrap_servers, kafka_service, running_kafka
from controlplane.install.services.ports import free_port
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import AgentPhase
from pipelines.domain.ledger.journal import Done, SinkFailed
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.chaos import data_plane
from tests.chaos.data_plane import MakeDefined
from tests.chaos.extent import WHOLE, whole_only
from tests.chaos.pairs import balanced_reads
from tests.fakes.http_servers import Reply, serving
from tests.fakes.proxy import Network, relaying
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for

KILLS = 10
TROUBLES = ["cut", "unresponsive", "reset"] if WHOLE else ["reset"]
HASTE = {"write_timeout": "10s", "options": {"request.timeout.ms": 5000}}


def to_kafka(topics: Topics, make_defined: MakeDefined, batch: int) -> Pipeline:
    """Source and sink on one broker."""
    return make_defined(
        topics.name,
        sources={"shop": topics.as_source()},
        channels={"lake": {"type": "direct"}},
        sinks={"lake": topics.as_sink() | HASTE},
        delivery={"max_events_per_batch": batch},
    )


def batches(run: Run) -> int:
    return len(run.of_kind(Done))


def finish(pipeline: Pipeline, run: Run, ends: dict[TopicPartition, int]) -> None:
    """Wait for the last record, stop in order, and take the books."""
    run.wait_read(ends, 300)
    assert run.stop().exit_code == 0
    pipeline.ingest()


def wait_for_batch(run: Run, tell: RecordProperty) -> None:
    """Tell how long it takes until a batch is done from now on."""
    before, started = batches(run), time.monotonic()
    wait_for(lambda: batches(run) > before, "records to flow again", 180)
    tell("recovery_seconds", round(time.monotonic() - started, 1))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_broken_network_to_the_broker_costs_no_record(
    trouble: str, make_defined: MakeDefined, tmp_path: Path, record_property: RecordProperty
) -> None:
    port, behind = free_port(), free_port()
    listens = f"listeners=PLAINTEXT://{{host}}:{behind},CONTROLLER://{{host}}:{{controller_port}}\n"
    with relaying(behind, port) as proxy, running_kafka(tmp_path / "own", port=port, extra=listens):
        topics = Topics(bootstrap_servers(port))
        topics.produce(12_000)
        ends = topics.ends(topics.source)
        pipeline = to_kafka(topics, make_defined, batch=750)
        run = pipeline.start()
        run.wait_delivered(2000, 180)
        if trouble == "reset":
            for _ in range(5):
                before = batches(run)
                proxy.reset()
                wait_for(lambda before=before: batches(run) > before, "the next batch", 180)  # type: ignore[misc]
        else:
            proxy.network = Network(trouble)
            run.wait_status(lambda s: s.phase is AgentPhase.DEGRADED, "the trouble to be seen", 180)
            proxy.network = Network.PASSES
        wait_for_batch(run, record_property)
        finish(pipeline, run, ends)
        found = topics.read().numbers
    possible_duplicates = pipeline.possible_duplicates
    missing, duplicates = report_arrival(record_property, found, range(12_000), possible_duplicates)
    assert (missing, set(found) - set(range(12_000))) == (0, set())
    assert duplicates <= possible_duplicates
    assert balanced_reads(pipeline.ledger["shop", "lake"]) == 12_000


@whole_only
@pytest.mark.parametrize("trouble", [Network.UNRESPONSIVE, Network.DRIBBLES])
def test_a_server_whose_answers_do_not_come_is_given_up_in_time_and_what_it_took_was_announced(
    trouble: Network, topics: Topics, make_defined: MakeDefined, record_property: RecordProperty
) -> None:
    with serving(lambda _: Reply()) as server, relaying(int(server.url.rpartition(":")[2])) as proxy:
        url = f"http://127.0.0.1:{proxy.port}/"
        sink = {"type": "http", "url": url, "read_timeout": "2s", "total_timeout": "4s", "write_deadline": "20s"}
        pipeline = make_defined(
            topics.name,
            sources={"shop": topics.as_source()},
            channels={"lake": {"type": "direct"}},
            sinks={"lake": {**sink, "channel": "lake"}},
            delivery={"max_events_per_batch": 500},
        )
        topics.produce(1000)
        run = pipeline.start()
        run.wait_delivered(1000, 180)
        proxy.network = trouble
        topics.produce(1000)
        wait_for(lambda: run.of_kind(SinkFailed), "the write to be given up", 180)
        proxy.network = Network.PASSES
        wait_for_batch(run, record_property)
        finish(pipeline, run, topics.ends(topics.source))
        found = Counter(int(item["body"][:10]) for asked in server.seen for item in data_plane.events(asked))
    possible_duplicates = pipeline.possible_duplicates
    missing, duplicates = report_arrival(record_property, found, range(2000), possible_duplicates)
    assert missing == 0
    assert 0 < duplicates <= possible_duplicates


class Mortal:
    """A broker on one port, killed and started again on its data."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.servers = bootstrap_servers(self.port)
        self._directory = directory
        self._life = ExitStack()
        self.start()

    def start(self) -> None:
        """A new life; returns when it answers."""
        service = kafka_service(data_dir=self._directory, port=self.port)
        self._child: Child = self._life.enter_context(running(service, self._directory / "kafka.log"))

    @property
    def pid(self) -> int:
        """Of the life that goes on."""
        return self._child.process.pid

    def kill(self) -> None:
        """SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self._child.process.wait(10)
        self.close()

    def close(self) -> None:
        """Stop it in order, if it lives."""
        self._life.close()


@contextmanager
def mortal_broker(directory: Path) -> Iterator[Mortal]:
    made = Mortal(directory)
    try:
        yield made
    finally:
        made.close()


def append(producer: Producer, topic: str, numbers: range) -> None:
    """Numbered records, each once however often the broker dies."""
    for number in numbers:
        producer.produce(topic, b"%010d " % number, partition=number % 4)
    producer.poll(0)


@whole_only
def test_a_broker_that_is_killed_again_and_again_costs_no_record(
    make_defined: MakeDefined, tmp_path: Path, record_property: RecordProperty
) -> None:
    share, lives = 3000, KILLS + 1
    count = share * lives
    with mortal_broker(tmp_path / "own") as broker:
        topics = Topics(broker.servers)
        producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True, "linger.ms": 20})
        pipeline = to_kafka(topics, make_defined, batch=500)
        run = pipeline.start()
        for life in range(lives):
            append(producer, topics.source, range(life * share, (life + 1) * share))
            before = batches(run)
            wait_for(lambda before=before: batches(run) > before, "records to flow", 240)  # type: ignore[misc]
            if life < KILLS:
                broker.kill()
                broker.start()
        assert producer.flush(120) == 0
        wait_for(lambda: sum(topics.ends(topics.source).values()) == count, "all records in the source", 60)
        finish(pipeline, run, topics.ends(topics.source))
        found = topics.read().numbers
    possible_duplicates = pipeline.possible_duplicates
    missing, duplicates = report_arrival(record_property, found, range(count), possible_duplicates)
    record_property("tries", KILLS)
    assert missing == 0
    assert duplicates <= possible_duplicates
    assert balanced_reads(pipeline.ledger["shop", "lake"]) == count
