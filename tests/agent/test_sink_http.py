"""The http sink against a small server, and the opensearch sink against one that answers bulk requests like it."""

from __future__ import annotations

import json
import ssl
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.agent.sinks import Given, Sink, numbered, sink, sink_of
from tests.certificates import Issued, issue
from tests.counts import is_balanced
from tests.fakes.http_servers import Asked, BulkIndex, Reply, Server, serving
from tests.unit.flume.agents import http_sink
from tests.vectors import Vector, drives
from workers.agent.base.findings import Refused


def numbers_in(asked: Asked) -> list[int]:
    """The events of a request whose content is bodies in an array."""
    return [item["n"] for item in json.loads(asked.body)]


def delivered(server: Server) -> Counter[int]:
    return Counter(number for asked in server.seen for number in numbers_in(asked))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda _: Reply()) as running:
        yield running


def test_forms_headers_and_keys_of_a_request(session: SparkSession, server: Server) -> None:
    made = sink(
        session, "http", url=f"{server.url}/in", token="t0", gzip=True, batch_size=4, headers={"X-Tenant": "shop"}
    )
    events = [*numbered(9), Given(b"\xff", {"h": "v"})]
    assert made.write(events).delivered == 10
    first = list(server.seen)
    assert all(len(json.loads(asked.body)) <= 4 for asked in first)
    items = [item for asked in first for item in json.loads(asked.body)]
    assert Counter(json.loads(item["body"])["n"] for item in items if "body" in item) == Counter(range(9))
    assert [item for item in items if "body" not in item] == [{"headers": {"h": "v"}, "body_base64": "/w=="}]
    headers = first[0].headers
    assert (headers["authorization"], headers["x-tenant"], headers["content-type"], headers["content-encoding"]) == (
        "Bearer t0",
        "shop",
        "application/json",
        "gzip",
    )

    server.seen.clear()
    made.write(events)
    keys = [asked.headers["idempotency-key"] for asked in server.seen]
    assert sorted(keys) == sorted(asked.headers["idempotency-key"] for asked in first)
    assert len(set(keys)) == len(keys)

    server.seen.clear()
    lines = sink(session, "http", url=server.url, format="ndjson", content="body", username="u", password="p")
    counts = lines.write([*numbered(5), Given(b"no JSON")])
    assert (counts.delivered, counts.dead_lettered) == (5, 1)
    assert lines.refused() == {5: "The body is not JSON."}
    found = [json.loads(line)["n"] for asked in server.seen for line in asked.body.splitlines()]
    assert sorted(found) == list(range(5))
    assert server.seen[0].headers["authorization"] == "Basic dTpw"


def test_refused_events_become_dead_letters_named_or_found_by_halving(session: SparkSession, server: Server) -> None:
    made = sink(session, "http", url=server.url, content="body")

    def name_them(asked: Asked) -> Reply:
        bad = [at for at, number in enumerate(numbers_in(asked)) if number in (3, 8)]
        return Reply(422, {"refused": [{"index": at, "reason": "odd"} for at in bad]}) if bad else Reply(201)

    server.reply = name_them
    counts = made.write(numbered(20))
    assert (counts.delivered, counts.dead_lettered, is_balanced(counts)) == (18, 2, True)
    assert made.refused() == dict.fromkeys((3, 8), "The server rejected the event with 422 Unprocessable Entity.")

    server.reply = lambda asked: Reply(413 if 5 in numbers_in(asked) else 200)
    accepted: Counter[int] = Counter()
    server.seen.clear()
    counts = made.write(numbered(20))
    assert (counts.delivered, list(made.refused())) == (19, [5])
    accepted.update(n for asked in server.seen if 5 not in numbers_in(asked) for n in numbers_in(asked))
    assert accepted == Counter(set(range(20)) - {5})

    server.reply = lambda asked: Reply(200, {"refused": [0]})
    assert made.write(numbered(2)).dead_lettered == 2


def test_statuses_that_pass_are_waited_for_and_others_fail_the_batch(session: SparkSession, server: Server) -> None:
    made = sink(session, "http", url=server.url, content="body", total_timeout=60)
    answers = {0: [Reply(503, headers={"Retry-After": "0"}), Reply(429)], 1: [Reply(500)]}

    def busy(asked: Asked) -> Reply:
        waiting = answers.get(numbers_in(asked)[0] % 2, [])
        return waiting.pop(0) if waiting else Reply()

    server.reply = busy
    assert made.write(numbered(10)).delivered == 10
    assert len(server.seen) == 5

    hasty = sink(session, "http", url=server.url, content="body", total_timeout=1)
    for reply in (Reply(401), Reply(503, headers={"Retry-After": "3600"}), Reply(garbage=b"garbage\r\n\r\n")):
        server.reply = lambda _, reply=reply: reply  # type: ignore[misc]
        with pytest.raises(Exception, match=r"401|503|is not HTTP"):
            hasty.write(numbered(2))
    server.reply = lambda _: Reply(401)
    forgiving = sink(session, "http", url=server.url, content="body", refuse_statuses=[401])
    assert forgiving.write(numbered(2)).dead_lettered == 2


def outcome(made: Sink) -> dict[str, Any]:
    """What became of one event, in Flume's words."""
    try:
        counts = made.write([Given(b"something")])
    except Exception:
        return {"tx": "rollback", "status": "BACKOFF", "success+1": False}
    assert is_balanced(counts)
    return {"tx": "commit", "status": "READY", "success+1": counts.delivered == 1}


def imported(session: SparkSession, vector: Vector, server: Server) -> Sink:
    """The sink that the importer makes of Flume's."""
    config = {name: value for name, value in vector.config.items() if name != "response"}
    return sink_of(session, http_sink({"endpoint": server.url, **config}).definition["sinks"]["k"])


@drives("HK-012")
def test_a_status_that_flume_gives_up_on_makes_a_dead_letter(
    vector: Vector, session: SparkSession, server: Server
) -> None:
    server.reply = lambda _: Reply(vector.config["response"])
    assert vector.input_events == [{"headers": {}, "body": "something"}]
    made = imported(session, vector, server)
    assert outcome(made) == vector.expected
    assert list(made.refused()) == [0]


@drives("HK-016")
def test_an_event_is_sent_once(vector: Vector, session: SparkSession, server: Server) -> None:
    assert vector.steps == ["server 200"]
    assert outcome(imported(session, vector, server))["status"] == vector.expected["status"]
    assert len(server.seen) == vector.expected["requests"]


@drives("HK-019")
def test_an_answer_that_is_garbage_is_no_delivery(vector: Vector, session: SparkSession, server: Server) -> None:
    assert vector.steps == ["server sends garbage and closes, then 200"]
    made = imported(session, vector, server)
    statuses = []
    for reply in (Reply(garbage=b"garbage\r\n\r\n"), Reply(200)):
        server.reply = lambda _, reply=reply: reply  # type: ignore[misc]
        statuses.append(outcome(made)["status"])
    assert statuses == vector.expected["statuses"]
    assert len(server.seen) == vector.expected["requests"]


def test_probes_name_what_is_wrong(session: SparkSession, server: Server) -> None:
    def codes(type_name: str, **keys: Any) -> set[str]:
        with pytest.raises(Refused) as refused:
            sink(session, type_name, **keys)
        return {finding.code for finding in refused.value.findings}

    assert codes("http", url="http://127.0.0.1:1/") == {"SERVER_UNREACHABLE"}
    tls = {"ca": "no PEM", "certificate": "x"}
    assert codes("http", url=server.url, username="u", token="t", tls=tls) == {"TWO_LOGINS", "BAD_CERTIFICATE"}
    assert codes("opensearch", hosts=[server.url], index="missing") == {"INDEX_MISSING"}


def test_a_server_that_answers_bulk_like_opensearch_holds_every_document_once(session: SparkSession) -> None:
    index = BulkIndex()
    with serving(index.reply) as server:
        hosts = ["http://127.0.0.1:1", server.url]
        made = sink(session, "opensearch", hosts=hosts, index="orders", batch_size=7)
        index.faults = {3: [429, 503], 4: [400], 5: [500]}
        counts = made.write([*numbered(20), Given(b"[1]"), Given(b"no JSON")])
        assert (counts.delivered, counts.dead_lettered, is_balanced(counts)) == (19, 3, True)
        causes = made.refused()
        assert sorted(causes) == [4, 20, 21]
        assert causes[4] == "OpenSearch rejected the event with 400 mapper_parsing_exception"
        made.write(numbered(20))
        assert Counter(document["n"] for document in index.documents.values()) == Counter(range(20))
        assert {place for place, _ in index.documents} == {"orders"}

        index.documents.clear()
        assert made.write([Given(b'{"n": 0}'), Given(b'{"n": 0}', copy=1), Given(b'{"n": 0}', copy=2)]).added == 2
        assert len(index.documents) == 3, "events made of one record do not replace each other"

        index.documents.clear()
        chosen = sink(
            session,
            "opensearch",
            hosts=hosts,
            index="orders",
            index_header="to",
            allowed_indices=["audit"],
            id_header="id",
            action="create",
            document="event",
        )
        events = [
            Given(b"a", {"id": "7"}),
            Given(b"b", {"id": "7"}),
            Given(b"c", {"to": "audit"}),
            Given(b"d", {"to": "x"}),
        ]
        counts = chosen.write(events)
        assert (counts.delivered, chosen.refused()) == (3, {3: "The index x is not allowed."})
        assert sorted(place for place, _ in index.documents) == ["audit", "orders"]
        assert ("orders", "7") in index.documents


def test_an_event_without_a_body_is_counted_and_never_dropped_in_silence(session: SparkSession, server: Server) -> None:
    whole = sink(session, "http", url=server.url)
    assert whole.write([Given(None, {"h": "v"})]).delivered == 1
    assert [json.loads(asked.body) for asked in server.seen] == [[{"headers": {"h": "v"}}]]
    server.seen.clear()
    bodies = sink(session, "http", url=server.url, content="body")
    counts = bodies.write([Given(None), *numbered(2)])
    assert (counts.delivered, counts.dead_lettered, is_balanced(counts)) == (2, 1, True)
    assert bodies.refused() == {0: "The body is not JSON."}
    assert delivered(server) == Counter([0, 1])


def closed(issued: Issued, tmp_path: Path) -> ssl.SSLContext:
    """A server that shows what the authority signed, and wants to see the same of its clients."""
    (tmp_path / "server.pem").write_text(issued.certificate + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.load_verify_locations(cadata=issued.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_requests_pass_over_tls_with_a_private_authority_and_a_certificate_of_ours(
    session: SparkSession, tmp_path: Path
) -> None:
    issued = issue()
    tls = {"ca": issued.ca, "certificate": issued.certificate, "private_key": issued.key}
    index = BulkIndex()

    def reply(asked: Asked) -> Reply:
        return index.reply(asked) if asked.path.startswith("/_bulk") else Reply()

    with serving(reply, closed(issued, tmp_path)) as server:
        made = sink(session, "http", url=server.url, content="body", tls=tls)
        assert made.write(numbered(10)).delivered == 10
        assert delivered(server) == Counter(range(10))
        documents = sink(session, "opensearch", hosts=[server.url], index="orders", tls=tls)
        assert documents.write(numbered(10)).delivered == 10
        assert Counter(document["n"] for document in index.documents.values()) == Counter(range(10))
        for wrong in ({}, {"ca": issue().ca}, {"ca": issued.ca}):
            with pytest.raises(Refused) as refused:
                sink(session, "http", url=server.url, tls=wrong)
            assert [finding.code for finding in refused.value.findings] == ["SERVER_UNREACHABLE"], wrong
