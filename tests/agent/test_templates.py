"""Each template of the gallery runs, filled in as its first lines say: a real agent delivers what it promises."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psycopg
import pyarrow.parquet as pq
import pytest
import yaml
from confluent_kafka import Producer

from controlplane.install.services.ports import free_port
from pipelines.domain.runs.protocol import Handover, SparkSettings
from pipelines.selectors.lifecycle.gallery import get_template, templates
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.chaos.extent import some
from tests.fakes.http_servers import Asked, Reply, Server, serving
from tests.postgres import running_postgres
from tests.waiting import wait_for

COUNT = 40
EVEN = range(0, COUNT, 2)


@dataclass
class Desk:
    """What a user has at hand who fills in a template."""

    name: str
    topics: Topics
    tmp: Path
    spark: SparkSettings
    cleanup: ExitStack
    handover: Handover | None = None
    filled: dict[str, str] = field(default_factory=dict)

    def topic(self, written: str, behind: str = "\n") -> str:
        """A new topic in place of one that the template names; `behind`: what follows its name there."""
        topic = f"{self.topics.name}-{written}"
        self.topics.create(topic)
        self.filled[f"topic: {written}{behind}"] = f"topic: {topic}{behind}"
        return topic

    def start(self, **filled: str) -> Run:
        """Fill in, and start an agent. Each text that is replaced has to be there."""
        text = get_template(self.name).definition_yaml + "\n"
        for written, wanted in {**self._usual(text), **self.filled, **filled}.items():
            assert written in text, written
            text = text.replace(written, wanted)
        pipeline = Pipeline(self.tmp / "state", yaml.safe_load(text), self.spark)
        self.cleanup.callback(pipeline.kill_all)
        return pipeline.prepare(self.handover).start()

    def _usual(self, text: str) -> dict[str, str]:
        usual = {"broker:9092": self.topics.servers, "topics: [orders]": f"topics: [{self.topics.source}]"}
        return {written: wanted for written, wanted in usual.items() if written in text}

    def send(self, bodies: Sequence[Any], headers: Callable[[int], dict[str, str]] = lambda _: {}) -> None:
        """Records of the source's topic, numbered by the test."""
        producer = Producer({"bootstrap.servers": self.topics.servers})
        for number, body in enumerate(bodies):
            pairs: Any = list(headers(number).items())
            producer.produce(self.topics.source, json.dumps(body).encode(), partition=number % 4, headers=pairs)
        assert producer.flush(20) == 0

    def bodies(self, topic: str) -> list[Any]:
        """What a topic holds."""
        return [json.loads(message.value() or b"") for message in self.topics.messages(topic)]

    def numbers(self, topic: str) -> Counter[int]:
        """How often each number is in a topic."""
        return Counter(body["id"] for body in self.bodies(topic))


ORDERS = [{"id": number, "status": "open" if number % 2 else "paid"} for number in range(COUNT)]


def filtered(desk: Desk) -> None:
    """Those that matter, once each; the others are counted."""
    out = desk.topic("orders.paid")
    desk.send(ORDERS)
    status = desk.start().wait_delivered(len(EVEN))
    assert desk.numbers(out) == Counter(EVEN)
    assert sum(query.filtered for query in status.queries) == COUNT - len(EVEN)


def masked(desk: Desk) -> None:
    """No card number and no internal field is left."""
    out = desk.topic("orders.masked")
    desk.send([order | {"card": f"411111111111{order['id']:04}", "internal": 1} for order in ORDERS])
    desk.start().wait_delivered(COUNT)
    assert desk.numbers(out) == Counter(range(COUNT))
    for body in desk.bodies(out):
        assert body.keys() == {"id", "status", "card"}
        assert body["card"] == f"****-{body['id']:04}"
    headers = [dict(message.headers() or []) for message in desk.topics.messages(out)]
    assert {each["status"] for each in headers} == {b"open", b"paid"}


def by_country(desk: Desk) -> None:
    """Two countries at home, the others abroad."""
    country = {0: "CZ", 1: "SK", 2: "DE", 3: "FR"}
    home, abroad, dead = (desk.topic(f"orders.{each}", "}") for each in ("home", "abroad", "dead"))
    desk.send(ORDERS, lambda number: {"country": country[number % 4]})
    desk.start().wait_delivered(COUNT)
    assert desk.numbers(home) == Counter(number for number in range(COUNT) if number % 4 < 2)
    assert desk.numbers(abroad) == Counter(number for number in range(COUNT) if number % 4 >= 2)
    assert desk.bodies(dead) == []


def failover(desk: Desk) -> None:
    """The second server takes what the first refuses, and the first what comes when it works again."""
    first, second = (desk.cleanup.enter_context(serving(lambda _: Reply())) for _ in range(2))
    first.reply = lambda _: Reply(503)
    desk.filled = {"https://first.example/events": first.url, "https://second.example/events": second.url}
    desk.send(ORDERS)
    run = desk.start()
    run.wait_delivered(COUNT)
    assert taken(second) == Counter(range(COUNT))

    first.seen.clear()
    first.reply = lambda _: Reply()

    def back() -> bool:
        desk.send([{"id": COUNT}])
        return bool(taken(first))

    wait_for(back, "the first server to be used again")


def taken(server: Server) -> Counter[int]:
    """How often each order is in the requests that a server has seen."""
    return Counter(json.loads(item["body"])["id"] for asked in server.seen for item in items(asked))


def items(asked: Asked) -> list[dict[str, Any]]:
    """The events of a request."""
    found: list[dict[str, Any]] = json.loads(asked.body)
    return found


def files(desk: Desk) -> None:
    """Each line once, through a rotation."""
    directory = desk.tmp / "logs"
    directory.mkdir()
    log = directory / "shop.log"
    log.write_text("".join(f"line {number}\n" for number in range(COUNT)))
    out = desk.topic("shop.logs")
    desk.filled["/var/log/shop"] = str(directory)
    run = desk.start()
    run.wait_delivered(COUNT)
    log.rename(directory / "shop.log.1")
    log.write_text("".join(f"line {number}\n" for number in range(COUNT, 2 * COUNT)))
    run.wait_delivered(2 * COUNT)
    lines = Counter((message.value() or b"").decode() for message in desk.topics.messages(out))
    assert lines == Counter(f"line {number}" for number in range(2 * COUNT))


def posted(desk: Desk) -> None:
    """What was answered with 200 arrives."""
    port, out = free_port(), desk.topic("collected")
    desk.filled["port: 8081"] = f"port: {port}"
    run = desk.start()

    def accepted() -> bool:
        events = [{"body": json.dumps(order)} for order in ORDERS]
        try:
            return httpx.post(f"http://127.0.0.1:{port}/", json=events, timeout=20).status_code == 200
        except httpx.ConnectError:
            return False

    wait_for(accepted, "events to be accepted", 180)
    run.wait_delivered(COUNT)
    assert desk.numbers(out) == Counter(range(COUNT))


def parquet(desk: Desk) -> None:
    """Rows in files of a day."""
    lake = desk.tmp / "lake"
    desk.filled = {"/data/orders": str(lake), "interval: 5m": "interval: 2s"}
    desk.send(ORDERS)
    desk.start().wait_delivered(COUNT)

    def rows() -> Counter[tuple[Any, Any]]:
        found = [path for path in lake.rglob("*.parquet") if not _hidden(path.relative_to(lake))]
        read = [pq.read_table(path, partitioning=None) for path in found]
        return Counter((row["id"], row["status"]) for each in read for row in each.to_pylist())

    wait_for(lambda: sum(rows().values()) >= COUNT, "the files", 60)
    assert rows() == Counter((str(order["id"]), order["status"]) for order in ORDERS)


def _hidden(path: Path) -> bool:
    """Whether it is one that the sink still works on."""
    return any(part.startswith((".", "_")) for part in path.parts)


def table(desk: Desk) -> None:
    """A row for each id."""
    server = desk.cleanup.enter_context(running_postgres())
    with psycopg.connect(server, autocommit=True) as database:
        database.execute("DROP TABLE IF EXISTS public.orders")
        database.execute("CREATE TABLE public.orders (id bigint PRIMARY KEY, status text)")
        desk.handover = Handover(values={"${secret:orders-dsn}": server}, masked=[])
        desk.send([order | {"status": "new"} for order in ORDERS])
        run = desk.start()
        run.wait_delivered(COUNT)
        desk.send(ORDERS)
        run.wait_delivered(2 * COUNT)
        found = database.execute("SELECT id, status FROM public.orders ORDER BY id").fetchall()
        database.execute("DROP TABLE public.orders")
    assert found == [(order["id"], order["status"]) for order in ORDERS]


JOBS: dict[str, Callable[[Desk], None]] = {
    "enrich-with-sql": masked,
    "failover": failover,
    "fan-out-by-header": by_country,
    "files-to-kafka": files,
    "http-to-kafka": posted,
    "kafka-to-kafka": filtered,
    "kafka-to-parquet": parquet,
    "kafka-to-postgres": table,
}


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("name", some([each.name for each in templates()], 3))
def test_a_template_does_its_job(
    name: str, topics: Topics, tmp_path: Path, spark_settings: SparkSettings, cleanup: ExitStack
) -> None:
    JOBS[name](Desk(name, topics, tmp_path, spark_settings, cleanup))
