"""A canary secret: the agent works with it, and it stands nowhere but in the memory of the run's processes."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from controlplane.devstack.child import running
from controlplane.devstack.kafka import bootstrap_servers, kafka_service
from controlplane.devstack.ports import free_port
from pipelines.domain.journal import Exited, SinkFailed
from pipelines.domain.protocol import Exit, Handover
from pipelines.domain.secrets import forms
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Run, holders
from tests.agent.topics import Topics
from tests.fakes.http_servers import Asked, BulkIndex, Reply, serving
from tests.postgres import running_postgres

CANARY = 'canary-"9b1\\d'
REFERENCE = "${secret:shop}"
HANDOVER = Handover(values={REFERENCE: CANARY}, masked=sorted(forms(CANARY)))
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "shop"}
_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Broker:
    """Addresses of its listeners: one open to all, one that wants the canary as the password."""

    open: str
    sasl: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with a second listener."""
    directory = tmp_path_factory.mktemp("sasl")
    found = Broker(*(bootstrap_servers(free_port()) for _ in range(2)))
    service = kafka_service(data_dir=directory, port=int(found.open.rpartition(":")[2]))
    _add_listener(directory / "server.properties", found)
    with running(service, directory / "kafka.log"):
        yield found


def _add_listener(config: Path, broker: Broker) -> None:
    plain = f"listeners=PLAINTEXT://{broker.open}"
    text = config.read_text().replace(plain, f"{plain},SASL://{broker.sasl}")
    text = text.replace("PLAINTEXT:PLAINTEXT,", "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,")
    users = f"{_JAAS} user_shop={json.dumps(CANARY)};".replace("\\", "\\\\")  # a backslash escapes in properties too
    prefix = "listener.name.sasl"
    config.write_text(f"{text}{prefix}.sasl.enabled.mechanisms=PLAIN\n{prefix}.plain.sasl.jaas.config={users}\n")


@pytest.fixture(scope="module")
def broker(guarded: Broker) -> str:
    """The tests of this file share the one broker."""
    return guarded.open


def places_of(run: Run) -> dict[str, bytes]:
    """Everything that others may look at: argv and environ of every process of the run, every file of its directory;
    but for what is gone by the time of the look."""
    paths = [Path(f"/proc/{pid}/{name}") for pid in holders(run.token) for name in ("cmdline", "environ")]
    paths += [Path(top, name) for top, _, names in os.walk(run.dir) for name in names]
    seen = {}
    for path in paths:
        with suppress(FileNotFoundError, ProcessLookupError):
            if path.is_file():
                seen[str(path)] = path.read_bytes()
    return seen


def assert_hidden(run: Run) -> None:
    for place, content in places_of(run).items():
        for form in (CANARY, "canary-", json.dumps(CANARY)[1:-1]):
            assert form.encode() not in content, place
    assert REFERENCE in (run.dir / "launch.json").read_text()


def test_an_agent_works_with_a_secret_that_is_nowhere_to_be_read(
    guarded: Broker, topics: Topics, make_pipeline: MakePipeline
) -> None:
    options = {**SASL, "sasl.password": REFERENCE}
    pipeline = make_pipeline(
        source={**topics.as_source(), "bootstrap_servers": guarded.sasl, "options": options},
        sink={**topics.as_sink(), "bootstrap_servers": guarded.sasl, "options": options},
    )
    topics.produce(500)
    run = pipeline.prepare(HANDOVER).start()
    run.wait_delivered(500)
    assert len(holders(run.token)) >= 3
    assert_hidden(run)
    assert run.stop().exit_code == 0
    assert_hidden(run)
    out = topics.read()
    assert (out.missing(500), out.duplicates) == (set(), 0)


def test_what_refuses_a_secret_and_prints_it_is_read_without_it(topics: Topics, make_pipeline: MakePipeline) -> None:
    """The canary is no private key, so the client refuses it; librdkafka and the JVM say why, each in its own words."""
    options = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": REFERENCE}
    options |= {"client.id": "x", "ssl.keystore.certificate.chain": "no certificate"}
    pipeline = make_pipeline(source={"options": options})
    run = pipeline.prepare(HANDOVER).start()
    record = run.wait_exit()
    assert record.exit_code == Exit.INIT_FAILED
    assert_hidden(run)
    assert run.status is not None
    assert run.status.findings


def test_a_cause_that_quotes_the_secret_is_masked_in_status_and_journal(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """A value that is no number where one is needed: Python's exception quotes it whole."""
    pipeline = make_pipeline(source={"options": {"request.timeout.ms": REFERENCE}})
    topics.produce(10)
    run = pipeline.prepare(HANDOVER).start()
    assert run.wait_exit().exit_code == Exit.INIT_FAILED
    assert_hidden(run)
    assert run.status is not None
    texts = [finding.message for finding in run.status.findings]
    assert any("[redacted]" in text for text in texts), texts
    (ended,) = run.of_kind(Exited)
    assert "[redacted]" in ended.reason
    assert "[redacted]" in run.log


def test_writers_on_executors_have_the_secret_and_their_errors_do_not_tell_it(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """PostgreSQL, HTTP and OpenSearch; the server answers at first with the very token that it was sent."""
    quoted, index = iter([401] * 3), BulkIndex()

    def quoting(asked: Asked) -> Reply:
        return Reply(next(quoted, 200), {"refused": asked.headers["authorization"]})

    with running_postgres() as address, serving(quoting) as web, serving(index.reply) as search:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE events (body text)")
        sinks: dict[str, dict[str, Any]] = {
            "rows": {"type": "postgres", "dsn": "${secret:dsn}", "table": "events"},
            "web": {"type": "http", "url": web.url, "token": REFERENCE, "total_timeout": 5},
            "docs": {
                "type": "opensearch", "hosts": [search.url], "index": "orders", "document": "event",
                "username": "shop", "password": REFERENCE,
            },
        }  # fmt: skip
        pipeline = make_pipeline()
        pipeline.definition["channels"] = {name: {"type": "direct"} for name in sinks}
        pipeline.definition["sinks"] = {name: {"channel": name, **sink} for name, sink in sinks.items()}
        dsn = address.replace("headgate@", "headgate:canary-dsn@")
        topics.produce(90)
        masked = sorted(forms(CANARY) | forms(dsn))
        run = pipeline.prepare(Handover(values={REFERENCE: CANARY, "${secret:dsn}": dsn}, masked=masked)).start()
        run.wait_delivered(270, 240)
        assert_hidden(run)
        assert run.stop().exit_code == 0
        assert_hidden(run)
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT count(*) FROM events").fetchone() == (90,)
    assert {asked.headers["authorization"] for asked in web.seen} == {f"Bearer {CANARY}"}
    login = base64.b64encode(f"shop:{CANARY}".encode()).decode()
    assert {asked.headers["authorization"] for asked in search.seen} == {f"Basic {login}"}
    assert len(index.documents) == 90
    causes = [failed.cause for failed in run.of_kind(SinkFailed) if failed.sink == "web"]
    assert causes
    assert all("401" in cause and "[redacted]" in cause for cause in causes)


def test_a_value_that_was_not_handed_over_starts_nothing(topics: Topics, make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(source={"options": {**SASL, "sasl.password": REFERENCE}})
    run = pipeline.start()
    assert run.wait_exit().exit_code == Exit.INIT_FAILED
    assert run.status is not None
    (finding,) = run.status.findings
    assert (finding.code, finding.path) == ("UNRESOLVED_REFERENCE", 'sources.shop.options["sasl.password"]')
