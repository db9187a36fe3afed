"""The postgres sink against a real server: types, refusals, upsert, probes, limits, and every record exactly once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession

from tests.agent.sinks import Given, frame, numbered, planned, sink
from tests.counts import is_balanced
from tests.postgres import running_postgres
from workers.agent.base.findings import Blocked, Refused
from workers.agent.delivery.delivery import Listener, SinkGroup
from workers.agent.delivery.gate import Gate
from workers.agent.graph.batch import Batch, Classifier
from workers.agent.graph.kept import Events
from workers.agent.postgres.connection import Database
from workers.agent.sink_processors.default import Default


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_postgres() as address:
        yield address


@pytest.fixture
def database(server: str) -> Iterator[psycopg.Connection[Any]]:
    """A schema of the test's own comes first on the path of its connection, and goes with it."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS shop CASCADE")
        connection.execute("CREATE SCHEMA shop")
        connection.execute("SET search_path = shop")
        yield connection


def rows(database: psycopg.Connection[Any], query: str) -> list[Any]:
    return database.execute(query).fetchall()


TABLE = """
CREATE TABLE shop.events (
    n bigint PRIMARY KEY, name text, price numeric(12, 2), at timestamptz, even boolean, doc jsonb,
    country varchar(2), raw bytea, small smallint CHECK (small <> 13), part int, tags text[]
)
"""
COLUMNS = {
    "n": "body.n",
    "name": "body.name",
    "price": "body.price",
    "at": "body.at",
    "even": "body.even",
    "doc": "body.doc",
    "country": "header.country",
    "raw": "body",
    "small": "header.small",
    "part": "origin.partition",
    "tags": "header.tags",
}


def test_values_arrive_in_the_types_of_the_table_and_bad_events_are_refused(
    session: SparkSession, server: str, database: psycopg.Connection[Any]
) -> None:
    database.execute(TABLE)
    more = {"name": 'Zoë "\\', "price": 1.5, "at": "2026-01-31T12:00:00Z", "even": True, "doc": {"a": [1, "x"]}}
    events = [
        *numbered(20, **more),
        Given(b'{"n": 20}', {"country": "CZ", "small": "-7", "tags": "{a,b}"}),
        Given(b"no JSON"),
        Given(b'{"n": "many"}'),
        Given(b'{"n": 23, "at": "gestern"}'),
        Given(b'{"n": 4}'),
        Given(b'{"n": 25}', {"small": "13"}),
        Given(b'{"n": 26}', {"country": "CZE"}),
        Given(None),
        Given(b'{"n": 28, "name": "a\\u0000b"}'),
        Given(b'{"name": "no n"}'),
    ]
    made = sink(session, "postgres", dsn=server, table="shop.events", columns=COLUMNS)
    counts = made.write(events)
    assert (counts.read, counts.delivered, counts.dead_lettered, is_balanced(counts)) == (30, 21, 9, True)
    assert counts.bytes_out == sum(len(event.body or b"") for event in events[:21])
    causes = made.refused()
    assert sorted(causes) == list(range(21, 30))
    assert "JSON" in causes[21]
    assert "many" in causes[22]
    assert "gestern" in causes[23]
    assert "unique" in causes[24]
    found = rows(database, "SELECT n, name, price, at, even, doc, part FROM events WHERE n < 20 ORDER BY n")
    assert [row[0] for row in found] == list(range(20))
    assert found[3][1:6] == ('Zoë "\\', 1.5, found[3][3], True, {"a": [1, "x"]})
    assert found[3][3].isoformat().startswith("2026-01-31T12:00")
    (row,) = rows(database, "SELECT name, country, small, tags, raw FROM events WHERE n = 20")
    assert row == (None, "CZ", -7, ["a", "b"], b'{"n": 20}')

    assert made.write(events) == counts, "a batch whose key is there is not written again"
    assert sorted(made.refused()) == list(range(21, 30))
    assert made.builder.resolve(planned(0, 30)).committed
    assert not made.builder.resolve(planned(1, 30)).committed
    tables = {name for (name,) in rows(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'shop'")}
    assert tables == {"events", "headgate_batches"}


def test_what_copy_reads_otherwise_arrives_as_it_was(
    session: SparkSession, server: str, database: psycopg.Connection[Any]
) -> None:
    database.execute("CREATE TABLE shop.texts (n bigint, field text, header text, raw bytea, body text, doc jsonb)")
    texts = ["\\N", "\\.", "a\tb", "a\nb", "a\r\nb", "\\", "\\\\t", "", "\\x41", "\t\n\\\r", '"', "Zoë 🚀"]
    events = [
        Given(json.dumps({"n": n, "field": text, "doc": [text]}, indent=1).encode(), {"h": text})
        for n, text in enumerate(texts)
    ]
    columns = {
        "n": "body.n",
        "field": "body.field",
        "header": "header.h",
        "raw": "body",
        "body": "body",
        "doc": "body.doc",
    }
    made = sink(session, "postgres", dsn=server, table="shop.texts", columns=columns)
    assert made.write(events).delivered == len(texts)
    assert rows(database, "SELECT field, header, raw, body, doc FROM texts ORDER BY n") == [
        (text, text, event.body, (event.body or b"").decode(), [text])
        for text, event in zip(texts, events, strict=True)
    ]


def test_upsert_keeps_the_last_event_of_each_key_and_default_columns_follow_the_table(
    session: SparkSession, server: str, database: psycopg.Connection[Any]
) -> None:
    database.execute("CREATE TABLE shop.latest (body text, headers json, key text PRIMARY KEY)")
    made = sink(session, "postgres", dsn=server, table="shop.latest", mode="upsert")
    made.write([Given(b"%d" % n, {"h": "v"}, key=b"ab"[n % 2 : n % 2 + 1]) for n in range(10)])
    assert rows(database, "SELECT key, body, headers FROM latest ORDER BY key") == [
        ("a", "8", {"h": "v"}),
        ("b", "9", {"h": "v"}),
    ]
    made.write([Given(b"new", key=b"b")], batch=1)
    assert rows(database, "SELECT body FROM latest ORDER BY key") == [("8",), ("new",)]


def test_what_a_crash_left_staged_is_dropped_and_never_counted(
    session: SparkSession, server: str, database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("CREATE TABLE shop.events (n bigint)")
    keys: dict[str, Any] = {"dsn": server, "table": "shop.events", "columns": {"n": "body.n"}}
    first = sink(session, "postgres", **keys)

    def crash(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("workers.agent.postgres.batches.Batches.commit", crash)
    with pytest.raises(KeyboardInterrupt):
        first.write(numbered(10))
    monkeypatch.undo()
    (stage,) = rows(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'headgate_stage%'")
    database.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("shop", *stage)))

    second = sink(session, "postgres", **keys)
    assert not second.builder.resolve(planned(0, 10)).committed
    assert second.write(numbered(10)).delivered == 10
    assert rows(database, "SELECT n FROM events ORDER BY n") == [(n,) for n in range(10)]
    assert rows(database, "SELECT 1 FROM pg_tables WHERE tablename LIKE 'headgate_stage%'") == []


def test_a_batch_whose_key_stands_for_other_ranges_blocks_and_leaves_the_table_alone(
    session: SparkSession, server: str, database: psycopg.Connection[Any]
) -> None:
    database.execute("CREATE TABLE shop.events (n bigint)")
    made = sink(session, "postgres", dsn=server, table="shop.events", columns={"n": "body.n"})
    assert made.write(numbered(5)).delivered == 5
    assert made.write(numbered(5)).delivered == 5
    processor = Default(["lake"], clock=time.monotonic, wall=time.time)
    group = SinkGroup("", "default", {"lake": made.builder}, processor, Gate(1))
    batch = Batch(
        Events(frame(session, numbered(6))), planned(0, 6), Classifier("lake", "sources.shop.selector", keeps_bad=True)
    )
    with pytest.raises(Blocked) as blocked:
        group.deliver(batch, Listener(lambda _: None, lambda _: None))
    assert (blocked.value.finding.code, blocked.value.finding.path) == ("BATCH_KEY_REUSED", "sinks.lake")
    assert rows(database, "SELECT n FROM events ORDER BY n") == [(n,) for n in range(5)]


def test_probes_find_everything_at_once(server: str, session: SparkSession, database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE TABLE shop.events (n bigint NOT NULL, name text)")
    database.execute("DROP ROLE IF EXISTS reader")
    database.execute("CREATE ROLE reader LOGIN")
    database.execute("GRANT USAGE ON SCHEMA shop TO reader")

    def codes(**keys: Any) -> set[str]:
        defaults: dict[str, Any] = {"dsn": server, "table": "shop.events"}
        with pytest.raises(Refused) as refused:
            sink(session, "postgres", **(defaults | keys))
        return {finding.code for finding in refused.value.findings}

    def lasts(**keys: Any) -> bool:
        with pytest.raises(Refused) as refused:
            sink(session, "postgres", **({"dsn": server, "table": "shop.events"} | keys))
        return not any(finding.retryable for finding in refused.value.findings)

    assert codes(columns={"nome": "body"}, mode="upsert") == {"COLUMN_MISSING", "COLUMN_NOT_FILLED", "NO_UNIQUE_INDEX"}
    assert codes(table="shop.nothing") == {"TABLE_MISSING"}
    assert codes(dsn="postgresql://headgate@127.0.0.1:1/postgres") == {"DATABASE_UNREACHABLE"}
    assert not lasts(dsn="postgresql://headgate@127.0.0.1:1/postgres")
    assert lasts(dsn=server.replace("headgate@", "nobody@"))
    assert codes(dsn=f"{server}?passfile=/etc/shadow") == {"BAD_ADDRESS"}
    assert codes(dsn=server.replace("headgate@", "reader@"), columns={"n": "body.n"}) == {"NOT_PERMITTED"}


def test_a_frozen_server_is_left_when_the_time_is_over(server: str) -> None:
    database = Database(server, connect_timeout=5, statement_timeout=60)
    with database.connected() as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        started = time.monotonic()
        try:
            with pytest.raises(psycopg.OperationalError), database.bounded(connection, 0.5):
                connection.execute("SELECT 1")
        finally:
            os.kill(backend, signal.SIGCONT)
        assert time.monotonic() - started < 55
