"""The coordinator of a group is away for longer than anybody waits for it, and comes back."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from controlplane.install.services.kafka import running_kafka
from pipelines.domain.access.reach import AllowedNetwork, ReachPolicy
from pipelines.domain.base.positions import PartitionPosition
from tests.agent.topics import Topics
from tests.waiting import wait_for
from workers.adapters.brokers import KafkaBrokers
from workers.agent.kafka import admin
from workers.supervisor.background.brokers import ClusterAddress

SHORT = 1.0
"""Seconds that a question may take."""
ANSWERED_WITHIN = 60.0
REACH = ReachPolicy(networks=(AllowedNetwork(target="127.0.0.1"),))


BROKERS = KafkaBrokers()


def committing(servers: str, topic: str) -> None:
    at = PartitionPosition(topic=topic, partition=0, offset=1)
    admin.KafkaCluster.of(servers, {}, None).commit(topic, [at])


def looking_for_it(servers: str, topic: str) -> None:
    admin.KafkaCluster.of(servers, {}, None).find_coordinator(topic)


def describing(servers: str, topic: str) -> None:
    BROKERS.describe(ClusterAddress(servers, {}, REACH), topic)


WAYS = [committing, looking_for_it, describing]


def ask(way: Callable[[str, str], None], servers: str, topic: str, orders: Connection) -> None:
    """Ask once for each order, and say what went wrong."""
    admin.TIMEOUT = SHORT
    while orders.recv():
        try:
            way(servers, topic)
        except Exception as error:
            orders.send(repr(error))
        else:
            orders.send("")


class Asker:
    """A process that asks as an agent or a worker does: what ends it does not end the tests."""

    def __init__(self, way: Callable[[str, str], None], servers: str, topic: str) -> None:
        self._orders, its = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=ask, args=(way, servers, topic, its))
        self.process.start()
        its.close()

    def answer(self) -> str:
        """Empty where all was well. Raises EOFError where the process has ended."""
        self._orders.send(True)
        assert self._orders.poll(ANSWERED_WITHIN)
        return str(self._orders.recv())

    def is_answered(self) -> None:
        """Wait until all is well."""
        wait_for(lambda: self.answer() == "", "an answer", ANSWERED_WITHIN)

    def close(self) -> None:
        self.process.kill()
        self.process.join(10)
        self._orders.close()


@contextmanager
def asking(servers: str, topic: str) -> Iterator[list[Asker]]:
    with ExitStack() as stack:
        askers = [Asker(way, servers, topic) for way in WAYS]
        for asker in askers:
            stack.callback(asker.close)
        yield askers


def test_a_coordinator_that_comes_back_after_a_timeout_ends_no_process(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with running_kafka(tmp_path) as servers:
            topic = Topics(servers).source
            askers = stack.enter_context(asking(servers, topic))
            for asker in askers:
                asker.is_answered()
        for asker in askers:
            assert re.search("timed.out", asker.answer(), re.IGNORECASE)
        with running_kafka(tmp_path, port=int(servers.rpartition(":")[2])):
            for asker in askers:
                asker.is_answered()
