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

from controlplane.install.services.kafka import bootstrap_servers, running_kafka
from controlplane.install.services.ports import free_port
from pipelines.domain.access.secrets import forms
from pipelines.domain.definitions.parts import registry
from pipelines.domain.ledger.journal import Exited, SinkFailed
from pipelines.domain.runs.protocol import Exit, Handover
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Run, holders
from tests.agent.topics import Topics
from tests.certificates import issue
from tests.counts import not_once
from tests.fakes.http_servers import Asked, BulkIndex, Reply, serving
from tests.postgres import running_postgres
from workers.agent.base.findings import Refused
from workers.agent.graph.component import Place, builder

CANARY = 'canary-"9b1\\d'
REFERENCE = "${secret:shop}"
HANDOVER = Handover(values={REFERENCE: CANARY}, masked=sorted(forms(CANARY)))
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "shop"}
_LISTENERS = """\
listeners=PLAINTEXT://{{host}}:{{port}},SASL://{{host}}:{sasl},SASL_SSL://{{host}}:{closed},\
CONTROLLER://{{host}}:{{controller_port}}
advertised.listeners=PLAINTEXT://{{host}}:{{port}},SASL://{{host}}:{sasl},SASL_SSL://{{host}}:{closed}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_shop={password};
listener.name.sasl_ssl.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.ssl.keystore.type=PEM
listener.name.sasl_ssl.ssl.keystore.location={keystore}
"""


@dataclass(frozen=True)
class Broker:
    """Addresses of its listeners: one open to all, one that wants the canary as the password, and one that is encrypted
    as well and known to the private authority `ca` alone."""

    open: str
    sasl: str
    closed: str
    ca: str

    @property
    def encrypted(self) -> dict[str, str]:
        """Client options of the closed one."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "headgate",
            "ssl.truststore.certificates": self.ca,
        }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with three listeners."""
    directory, issued, (sasl, closed) = tmp_path_factory.mktemp("sasl"), issue(), (free_port(), free_port())
    keystore = directory / "server.pem"
    keystore.write_text(issued.key + issued.certificate)
    password = json.dumps(CANARY).replace("\\", "\\\\")  # a backslash escapes in properties too
    extra = _LISTENERS.format(sasl=sasl, closed=closed, password=password, keystore=keystore)
    user = f"SCRAM-SHA-512=[name=headgate,password={CANARY}]"
    with running_kafka(directory / "data", extra=extra, users=[user]) as servers:
        yield Broker(servers, bootstrap_servers(sasl), bootstrap_servers(closed), issued.ca)


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


def test_what_refuses_a_secret_and_prints_it_is_read_without_it(topics: Topics, make_pipeline: MakePipeline) -> None:
    """The canary is no private key, so the client refuses it; librdkafka and the JVM say why, each in its own words."""
    options = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": REFERENCE}
    options |= {"client.id": "x", "ssl.keystore.certificate.chain": "no certificate"}
    pipeline = make_pipeline(source={"options": options})
    run = pipeline.prepare(HANDOVER, spark=pipeline.no_jvm).start()
    record = run.wait_exit()
    assert record.exit_code == Exit.INIT_FAILED
    assert_hidden(run)
    assert run.status is not None
    assert {finding.path for finding in run.status.findings} == {"sources.shop"}


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


def test_an_agent_works_with_secrets_that_are_nowhere_to_be_read(
    guarded: Broker, topics: Topics, make_pipeline: MakePipeline
) -> None:
    """Both Kafka clients, with and without encryption, and writers on executors: PostgreSQL, HTTP and OpenSearch; the
    server answers at first with the very token that it was sent, and no cause has its words."""
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
                "type": "opensearch",
                "hosts": [search.url],
                "index": "orders",
                "document": "event",
                "username": "shop",
                "password": REFERENCE,
            },
        }
        encrypted = {"bootstrap_servers": guarded.closed, "options": guarded.encrypted | {"sasl.password": REFERENCE}}
        pipeline = make_pipeline(source=encrypted)
        plain = {"bootstrap_servers": guarded.sasl, "options": SASL | {"sasl.password": REFERENCE}}
        sinks["lake"] = topics.as_sink() | plain
        pipeline.definition["channels"] = {name: {"type": "direct"} for name in sinks}
        pipeline.definition["sinks"] = {name: {**sink, "channel": name} for name, sink in sinks.items()}
        dsn = address.replace("headgate@", "headgate:canary-dsn@")
        topics.produce(90)
        masked = sorted(forms(CANARY) | forms(dsn))
        run = pipeline.prepare(Handover(values={REFERENCE: CANARY, "${secret:dsn}": dsn}, masked=masked)).start()
        run.wait_delivered(4 * 90, 240)
        assert len(holders(run.token)) >= 3
        assert_hidden(run)
        assert run.stop().exit_code == 0
        assert_hidden(run)
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT count(*) FROM events").fetchone() == (90,)
    assert not_once(topics.read().numbers, range(90)) == {}
    assert {asked.headers["authorization"] for asked in web.seen} == {f"Bearer {CANARY}"}
    login = base64.b64encode(f"shop:{CANARY}".encode()).decode()
    assert {asked.headers["authorization"] for asked in search.seen} == {f"Basic {login}"}
    assert len(index.documents) == 90
    quoting_causes = [failed.cause for failed in run.of_kind(SinkFailed) if "401" in failed.cause]
    assert quoting_causes
    assert not any("refused" in cause for cause in quoting_causes), quoting_causes
    assert '{"refused": "Bearer [redacted]"}' in run.log, "the server's words are in the log alone, without the token"


def test_a_value_that_was_not_handed_over_starts_nothing(topics: Topics, make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(source={"options": {**SASL, "sasl.password": REFERENCE}})
    run = pipeline.start_refused()
    assert run.wait_exit().exit_code == Exit.INIT_FAILED
    assert run.status is not None
    (finding,) = run.status.findings
    assert (finding.code, finding.path) == ("UNRESOLVED_REFERENCE", 'sources.shop.options["sasl.password"]')


@pytest.mark.parametrize(
    "wrong", [{"sasl.password": "guessed"}, {"ssl.truststore.certificates": issue().ca}], ids=["password", "authority"]
)
def test_a_wrong_password_or_authority_is_a_finding(guarded: Broker, topics: Topics, wrong: dict[str, str]) -> None:
    options = guarded.encrypted | {"sasl.password": CANARY} | wrong
    keys = topics.as_source() | {"bootstrap_servers": guarded.closed, "options": options}
    spec = registry.get("source", "kafka").model_validate(keys)
    with pytest.raises(Refused):
        builder(spec, Place("orders", 1, "sources.shop", Path())).probe()
