"""Both ends of a pipeline with numbered records: sources that are fed, sinks that are read back."""

from __future__ import annotations

import json
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psycopg
import pyarrow.parquet as parquet
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from controlplane.install.services.ports import free_port
from pipelines.domain.base.positions import TopicPartition, discontinuities
from tests.agent.harness import Ledger
from tests.agent.topics import Topics
from tests.counts import is_balanced
from tests.fakes.http_servers import BulkIndex, Reply, serving
from tests.postgres import running_postgres

_CHUNK = 500
_PARTITIONS = 4
_SCRIPT = """
import pathlib, sys
lives = pathlib.Path({lives!r})
life = len(list(lives.iterdir()))
(lives / str(life)).touch()
for number in range({count}):
    print('{{"n": %d}}' % (life * 1_000_000 + number), flush=number % 500 == 0)
"""


def body(number: int) -> str:
    """What a record holds."""
    return f'{{"n": {number}}}'


def number_in(text: str | bytes) -> int:
    """The number of a record."""
    return int(json.loads(text)["n"])


def balanced_reads(ledger: Ledger) -> int:
    """What was read in all, where every batch balances and begins where the one before it ended."""
    ends: dict[TopicPartition, int] = {}
    for done in ledger.done:
        assert is_balanced(done.counts)
        known = {item.key: ends.get(item.key, item.start) for item in done.ranges}
        assert discontinuities(known, done.ranges) == []
        ends.update({item.key: item.end for item in done.ranges})
    return sum(done.counts.read for done in ledger.done)


class Feed(ABC):
    """A source. `count` numbers from 0 are fed; `doubled`: those that were sent twice, since no answer came."""

    def __init__(self, topics: Topics, directory: Path, count: int) -> None:
        self.topics, self.directory, self.count = topics, directory, count
        self.doubled: set[int] = set()

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The source of a definition."""

    def start(self) -> None:  # noqa: B027 - some feed themselves
        """Feed, or begin to."""

    def end(self) -> None:  # noqa: B027
        """All is fed."""

    def expected(self, _: set[int]) -> set[int]:
        """The numbers that must be there, and no other, where these are."""
        return set(range(self.count))


class FromKafka(Feed):
    def spec(self) -> dict[str, Any]:
        return self.topics.as_source()

    def start(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self.topics.servers, "queue.buffering.max.messages": 1_000_000, "linger.ms": 20}
        )
        for number in range(self.count):
            producer.produce(self.topics.source, body(number), partition=number % _PARTITIONS)
        assert producer.flush(60) == 0


class FromTaildir(Feed):
    def spec(self) -> dict[str, Any]:
        return {"type": "taildir", "file_groups": {"app": {"directory": str(self.directory), "pattern": r"app\.log"}}}

    def start(self) -> None:
        (self.directory / "app.log").write_text("".join(f"{body(n)}\n" for n in range(self.count)))


class FromSpooldir(Feed):
    def spec(self) -> dict[str, Any]:
        return {"type": "spooldir", "directory": str(self.directory), "scan_interval": "100ms"}

    def start(self) -> None:
        for start in range(0, self.count, 5000):
            part = self.directory / f".{start:06}"
            part.write_text("".join(f"{body(n)}\n" for n in range(start, min(start + 5000, self.count))))
            part.rename(self.directory / f"{start:06}.txt")


class FromSequence(Feed):
    def spec(self) -> dict[str, Any]:
        return {"type": "sequence", "rate": 10_000, "limit": self.count, "body": '{"n": {n}}', "partitions": 3}


class FromHttp(Feed):
    """Every chunk is sent until it is answered with 200."""

    def __init__(self, topics: Topics, directory: Path, count: int) -> None:
        super().__init__(topics, directory, count)
        self._port = free_port()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._over = threading.Event()

    def spec(self) -> dict[str, Any]:
        return {"type": "http", "port": self._port, "ingest_buffer": "file"}

    def start(self) -> None:
        self._sender.start()

    def end(self) -> None:
        self._sender.join(120)
        self._over.set()
        assert not self._sender.is_alive()

    def _send(self) -> None:
        with httpx.Client(timeout=20) as client:
            for start in range(0, self.count, _CHUNK):
                numbers = range(start, start + _CHUNK)
                while not self._over.is_set() and not self._accepted(client, numbers):
                    time.sleep(0.05)

    def _accepted(self, client: httpx.Client, numbers: range) -> bool:
        try:
            answer = client.post(f"http://127.0.0.1:{self._port}/", json=[{"body": body(n)} for n in numbers])
        except httpx.ConnectError:
            return False
        except httpx.HTTPError:
            self.doubled.update(numbers)
            return False
        return answer.status_code == 200


class FromExec(Feed):
    """Each life of the command prints its own numbers. What was printed before the log had it is not expected; of the
    last life, which nobody kills, everything is."""

    def spec(self) -> dict[str, Any]:
        (self.directory / "lives").mkdir(exist_ok=True)
        script = self.directory / "count.py"
        script.write_text(_SCRIPT.format(lives=str(self.directory / "lives"), count=self.count))
        return {"type": "exec", "command": [sys.executable, str(script)], "batch_size": 500, "batch_timeout_ms": 100}

    def expected(self, found: set[int]) -> set[int]:
        life = len(list((self.directory / "lives").iterdir())) - 1
        return found | {life * 1_000_000 + number for number in range(self.count)}


class Store(ABC):
    """A sink. `exactly_once`: nothing may be there twice."""

    exactly_once = False

    def __init__(self, topics: Topics, directory: Path) -> None:
        self.topics, self.directory = topics, directory

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """The sink of a definition, while what it needs is up."""
        yield self.spec()

    def spec(self) -> dict[str, Any]:
        """The sink of a definition."""
        raise NotImplementedError

    @abstractmethod
    def numbers(self) -> Counter[int]:
        """How often each number is there."""


class ToKafka(Store):
    exactly_once = True

    def spec(self) -> dict[str, Any]:
        return self.topics.as_sink()

    def numbers(self) -> Counter[int]:
        consumer = Consumer({"bootstrap.servers": self.topics.servers, "group.id": "read", "enable.auto.commit": False})
        partitions = [ClientPartition(self.topics.sink, number, 0) for number in range(_PARTITIONS)]
        left = sum(consumer.get_watermark_offsets(each, timeout=10)[1] for each in partitions)
        consumer.assign(partitions)
        found: Counter[int] = Counter()
        deadline = time.monotonic() + 60
        while found.total() < left and time.monotonic() < deadline:
            found.update(number_in(message.value() or b"") for message in consumer.consume(10_000, timeout=1))
        consumer.close()
        return found


class ToJson(Store):
    exactly_once = True

    def spec(self) -> dict[str, Any]:
        return {"type": "file", "path": str(self.directory), "format": "json", "roll": {"interval": 0}}

    def numbers(self) -> Counter[int]:
        files = self.directory.glob("*.json")
        return Counter(number_in(json.loads(line)["body"]) for path in files for line in path.read_text().splitlines())


class ToParquet(Store):
    exactly_once = True

    def spec(self) -> dict[str, Any]:
        return {"type": "file", "path": str(self.directory), "format": "parquet", "roll": {"interval": 0}}

    def numbers(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for path in self.directory.glob("*.parquet"):
            found.update(number_in(value) for value in parquet.read_table(path, columns=["body"])["body"].to_pylist())
        return found


class ToPostgres(Store):
    exactly_once = True

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        with running_postgres() as self._address:
            with psycopg.connect(self._address, autocommit=True) as connection:
                connection.execute("CREATE TABLE events (n bigint)")
            yield {"type": "postgres", "dsn": self._address, "table": "events", "columns": {"n": "body.n"}}

    def numbers(self) -> Counter[int]:
        with psycopg.connect(self._address) as connection:
            return Counter(row[0] for row in connection.execute("SELECT n FROM events"))


class ToHttp(Store):
    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        with serving(lambda _: Reply()) as self._server:
            yield {"type": "http", "url": self._server.url, "content": "body"}

    def numbers(self) -> Counter[int]:
        return Counter(item["n"] for asked in list(self._server.seen) for item in json.loads(asked.body))


class ToOpensearch(Store):
    """A server that answers bulk requests as OpenSearch does; what it takes twice is there once."""

    exactly_once = True

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        self._index = BulkIndex()
        with serving(self._index.reply) as server:
            yield {"type": "opensearch", "hosts": [server.url], "index": "events"}

    def numbers(self) -> Counter[int]:
        return Counter(document["n"] for document in list(self._index.documents.values()))


FEEDS: dict[str, type[Feed]] = {
    "kafka": FromKafka,
    "taildir": FromTaildir,
    "spooldir": FromSpooldir,
    "http": FromHttp,
    "exec": FromExec,
    "sequence": FromSequence,
}
STORES: dict[str, type[Store]] = {
    "kafka": ToKafka,
    "json": ToJson,
    "parquet": ToParquet,
    "postgres": ToPostgres,
    "http": ToHttp,
    "opensearch": ToOpensearch,
}
