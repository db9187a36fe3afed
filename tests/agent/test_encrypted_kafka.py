"""SASL_SSL with SCRAM and a private authority: both Kafka clients, from a user name, a password and PEM text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.devstack.kafka import running_kafka
from controlplane.devstack.ports import free_port
from pipelines.domain import registry
from pipelines.domain.protocol import SparkSettings
from tests.agent.conftest import define
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics
from tests.certificates import issue
from workers.agent.component import Place, builder
from workers.agent.findings import Refused

PASSWORD = 'p4ss"wo\\rd'
_LISTENERS = """\
listeners=PLAINTEXT://{{host}}:{{port}},SASL_SSL://{{host}}:{sasl_port},CONTROLLER://{{host}}:{{controller_port}}
advertised.listeners=PLAINTEXT://{{host}}:{{port}},SASL_SSL://{{host}}:{sasl_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.ssl.keystore.type=PEM
listener.name.sasl_ssl.ssl.keystore.location={keystore}
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A broker with both listeners: open address, closed address, client options for the latter."""
    home = tmp_path_factory.mktemp("secured")
    issued, port = issue(), free_port()
    keystore = home / "server.pem"
    keystore.write_text(issued.key + issued.certificate)
    extra = _LISTENERS.format(sasl_port=port, keystore=keystore)
    user = f"SCRAM-SHA-512=[name=headgate,password={PASSWORD}]"
    options = {
        "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "headgate",
        "sasl.password": PASSWORD, "ssl.truststore.certificates": issued.ca,
    }  # fmt: skip
    with running_kafka(home / "data", extra=extra, users=[user]) as servers:
        yield servers, f"127.0.0.1:{port}", options


def test_records_pass_over_an_encrypted_connection(
    secured: tuple[str, str, dict[str, Any]], tmp_path: Path, spark_settings: SparkSettings
) -> None:
    servers, closed, options = secured
    topics = Topics(servers)
    topics.produce(2000)
    encrypted = {"bootstrap_servers": closed, "options": options}
    definition = define(topics, source=encrypted, sink=topics.as_sink() | encrypted, delivery={})
    pipeline = Pipeline(tmp_path / "state", definition, spark_settings)
    try:
        run = pipeline.start()
        run.wait_delivered(2000, 120)
        assert run.stop().exit_code == 0
    finally:
        pipeline.kill_all()
    out = topics.read()
    assert (out.missing(2000), out.duplicates) == (set(), 0)
    assert PASSWORD not in run.log


@pytest.mark.parametrize(
    "wrong", [{"sasl.password": "guessed"}, {"ssl.truststore.certificates": issue().ca}], ids=["password", "authority"]
)
def test_a_wrong_password_or_authority_is_a_finding(
    secured: tuple[str, str, dict[str, Any]], wrong: dict[str, Any]
) -> None:
    servers, closed, options = secured
    topics = Topics(servers)
    keys = topics.as_source() | {"bootstrap_servers": closed, "options": options | wrong}
    spec = registry.get("source", "kafka").model_validate(keys)
    with pytest.raises(Refused):
        builder(spec, Place("orders", 1, "sources.shop", Path())).probe()
