"""The demo: a pipeline on real Kafka and Spark, fed by a paced producer."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from controlplane.devstack import topics
from controlplane.devstack.client import Api, Json
from controlplane.devstack.records import KEPT
from controlplane.install.services.child import Service

PRODUCER = "producer"
PARTITIONS = 4
TOPIC_CONFIG = {"retention.bytes": str(1024**3), "retention.ms": str(24 * 3600 * 1000)}
ACTION_TIMEOUT = 90.0  # seconds


@dataclass(frozen=True)
class Demo:
    """A pipeline from `<name>.orders` to `<name>.clean`. `batch` bounds the events of one batch."""

    name: str
    servers: str
    batch: int = 500_000

    @property
    def source(self) -> str:
        return f"{self.name}.orders"

    @property
    def group(self) -> str:
        return f"headgate.{self.name}"

    @property
    def sink(self) -> str:
        return f"{self.name}.clean"

    def definition(self) -> Json:
        return {
            "api_version": "headgate/v1",
            "name": self.name,
            "description": "Numbered orders: stamped with a time, keep-alive lines filtered out",
            "labels": {"team": "demo"},
            "sources": {
                "orders": {
                    "type": "kafka",
                    "bootstrap_servers": self.servers,
                    "topics": [self.source],
                    "group_id": self.group,
                    "start_from": "earliest",
                    "interceptors": [{"type": "timestamp"}, {"type": "regex_filter", "regex": KEPT}],
                }
            },
            "channels": {"clean": {"type": "direct"}},
            "sinks": {
                "clean": {
                    "type": "kafka",
                    "channel": "clean",
                    "bootstrap_servers": self.servers,
                    "topic": self.sink,
                    "compression": "lz4",
                }
            },
            "lifecycle": {"guard_interval": "5s"},
            "delivery": {"trigger_interval_ms": 200, "max_events_per_batch": self.batch},
        }

    def create_topics(self) -> None:
        topics.create(self.servers, [self.source, self.sink], partitions=PARTITIONS, config=TOPIC_CONFIG)

    def producer(self, *, rate: float, numbers: range | None = None, first: int = 0) -> Service:
        """A producer of these numbers; without them it goes on after the topic's last record until it is stopped, with
        numbers from `first` on."""
        argv = [sys.executable, "-m", "controlplane.devstack.producer", "--servers", self.servers]
        argv += ["--topic", self.source, "--rate", str(rate)]
        if numbers is not None:
            argv += ["--first", str(numbers.start), "--count", str(len(numbers))]
        elif first:
            argv += ["--first", str(first)]
        return Service(PRODUCER, argv, is_ready=lambda: True)


def start(api: Api, demo: Demo) -> Json:
    """Create the demo's topics and pipeline where they are missing and start it. Returns the pipeline."""
    demo.create_topics()
    found = api.find(demo.name)
    if found is None:
        found = api.post("/pipelines", {"definition": demo.definition()})
    elif found["phase"] == "STOPPED":
        api.post(f"/pipelines/{demo.name}/revisions", {"definition": demo.definition(), "note": "Demo started again"})
    if found["desired_state"] == "STOPPED":
        api.act(demo.name, "start", timeout=ACTION_TIMEOUT)
    return api.get(f"/pipelines/{demo.name}")


def remove(api: Api, demo: Demo) -> None:
    """Stop and archive the pipeline of that name, if there is one, and delete its topics."""
    if api.find(demo.name) is not None:
        api.act(demo.name, "stop", timeout=ACTION_TIMEOUT, drain=False)
        api.delete(f"/pipelines/{demo.name}")
    topics.delete(demo.servers, [demo.source, demo.sink])
