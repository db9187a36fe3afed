"""What a definition may not lay open, and what an answer may not show."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.definitions.checks.exposure_checks import local_database, looks_like_a_credential
from pipelines.domain.definitions.checks.validate import validate_data
from tests.fakes.http_servers import Asked, Reply, serving
from workers.agent.components.sink.http import HttpWriter, refused_by
from workers.agent.http.chunked_writer import Item
from workers.agent.http.requests import Connection, HttpResponse, RequestFailed
from workers.agent.kafka.admin import jvm_options
from workers.agent.postgres.connection import AddressRefused, Database
from workers.agent.spark.executor_writer import Deadline

SECRET_BODY = b'{"internal": "root:x:0:0", "refused": [{"index": 0, "reason": "root:x:0:0"}]}'


def definition(**parts: Any) -> dict[str, Any]:
    source = {"type": "sequence", "selector": {"type": "replicating"}}
    return {
        "api_version": "headgate/v1",
        "name": "attack",
        "sources": {"in": parts.get("source", source)},
        "channels": {"c": parts.get("channel", {"type": "direct"})},
        "sinks": {"out": {"channel": "c", **parts.get("sink", {"type": "null"})}},
        **({"errors": {"dead_letter": parts["letters"]}} if "letters" in parts else {}),
        **({"placement": parts["placement"]} if "placement" in parts else {}),
    }


def codes(**parts: Any) -> set[tuple[str, str]]:
    return {(finding.path, finding.code) for finding in validate_data(definition(**parts)).findings}


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "10.0.0.5", "collector"])  # noqa: S104 - what is refused
def test_a_port_that_others_reach_has_a_token_and_tls(bind: str) -> None:
    source = {"type": "http", "port": 5140, "bind": bind}
    path = "sources.in.bind"
    assert codes(source=source) >= {(path, "ingest_without_token"), (path, "ingest_without_tls")}
    guarded = {"token": "${secret:t}", "tls_certificate": "/etc/headgate/c.pem", "tls_key": "/etc/headgate/k.pem"}
    assert not {code for _, code in codes(source=source | guarded)} & {"ingest_without_token", "ingest_without_tls"}
    assert not any(code.startswith("ingest") for _, code in codes(source=source | {"bind": "127.0.0.1"}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Api-Key", "short"),
        ("apikey", "short"),
        ("X-Auth-Token", "abc"),
        ("Cookie", "session=1"),
        ("X-Custom", "Bearer abcdef"),
        ("X-Custom", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"),
        ("X-Custom", "AKIAIOSFODNN7EXAMPLE"),
        ("X-Custom", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ("X-Custom", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("X-Api-Key", "${secret:a}-tail"),
    ],
)
def test_a_credential_in_a_header_is_a_reference(name: str, value: str) -> None:
    sink = {"type": "http", "url": "https://collector.example/", "headers": {name: value}}
    assert "literal_secret" in {code for _, code in codes(sink=sink)}
    sink["headers"] = {name: "${secret:key}"}
    assert not {code for _, code in codes(sink=sink)} & {"literal_secret", "secret_not_allowed"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Tenant", "shop"),
        ("X-Keyboard", "cz"),
        ("Accept", "application/vnd.company.events.v2+json"),
        ("X-Route", "central-europe-warehouse-orders-by-country"),
        ("X-Author", "jane"),
    ],
)
def test_other_headers_are_left_alone(name: str, value: str) -> None:
    assert not looks_like_a_credential(name, value)


@pytest.mark.parametrize("key", ["sasl.username", "client.id"])
@pytest.mark.parametrize("part", ["source", "channel", "sink", "letters"])
def test_line_feeds_in_client_options_are_refused(part: str, key: str) -> None:
    options = {key: "user\npassword=x"}
    kafka = {"type": "kafka", "bootstrap_servers": "broker:9092", "topic": "t", "options": options}
    source = {**kafka, "topics": ["t"], "group_id": "g", "start_from": "latest"}
    del source["topic"]
    found = codes(**{part: source if part == "source" else kafka})
    assert {code for path, code in found if key in path} == {"bad_option_value"}


def test_line_feeds_that_come_with_a_reference_are_refused_at_the_client() -> None:
    with pytest.raises(ValueError, match=r"sasl\.username has a line feed"):
        jvm_options("broker:9092", {"sasl.username": "user\nx", "sasl.password": "p"})
    assert jvm_options("broker:9092", {"ssl.truststore.certificates": "-----BEGIN\n-----END"})


@pytest.mark.parametrize("part", ["channel", "letters"])
def test_passwords_of_channels_and_dead_letters_are_references_too(part: str) -> None:
    kafka = {"type": "kafka", "bootstrap_servers": "broker:9092", "topic": "t", "options": {"sasl.password": "plain"}}
    assert "literal_secret" in {code for _, code in codes(**{part: kafka})}


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql:///shop",
        "postgresql://user@/shop",
        "postgresql://%2Fvar%2Frun%2Fpostgresql/shop",
        "postgresql://user@%2Ftmp/shop",
        "postgresql:///shop?host=/var/run/postgresql",
        "postgresql://db.example/shop?host=/tmp",
        "postgresql://db.example,/shop",
        "postgresql://db.example,%2Ftmp/shop",
        "postgresql://:5432/shop",
    ],
)
def test_a_database_behind_a_unix_socket_is_refused(dsn: str) -> None:
    assert local_database(dsn)
    assert ("sinks.out.dsn", "unix_socket") in codes(sink={"type": "postgres", "dsn": dsn, "table": "t"})
    with pytest.raises(AddressRefused, match="socket of this machine"):
        Database(dsn).settings()


@pytest.mark.parametrize("dsn", ["postgresql://u@db:5432/shop", "postgresql://a,b:1/x", "postgresql:///x?host=db"])
def test_a_database_on_the_network_is_not(dsn: str) -> None:
    assert not local_database(dsn)
    assert Database(dsn).settings()


@pytest.mark.parametrize("status", [200, 422, 404])
def test_the_body_of_an_answer_is_in_the_log_and_in_no_cause(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(status, {"internal": "root:x:0:0", "refused": [{"index": 0, "reason": "root:x:0:0"}]})

    with serving(reply) as server:
        connection = Connection((server.url,))
        writer = HttpWriter(connection, "POST", "ndjson", 10, 1000, frozenset({422}), "scope")
        writer.open(Deadline.after(10))
        try:
            shown = str(writer._send([Item(0, "t/0/0", b"{}")]))
        except RequestFailed as error:
            shown = str(error)
        finally:
            writer.close()
    assert "root" not in shown
    assert str(status) in shown
    assert ("root" in capsys.readouterr().out) == (status != 200)


def test_reasons_of_a_server_are_in_no_cause() -> None:
    assert refused_by(HttpResponse(422, SECRET_BODY), 1) == {
        0: "The server rejected the event with 422 Unprocessable Entity."
    }
