"""What a finding says of brokers that do not answer, and whether another start may help."""

from __future__ import annotations

import socket

import pytest
from confluent_kafka import KafkaError, KafkaException

from workers.agent.base.findings import Refused
from workers.agent.kafka import unreachable
from workers.agent.kafka.admin import KafkaCluster

pytestmark = pytest.mark.usefixtures("briefly")


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.kafka.admin.TIMEOUT", 1.0)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def refused(servers: str) -> Refused:
    with pytest.raises(Refused) as caught:
        KafkaCluster.of(servers, {}, None).partitions(["orders"], "sources.shop", "READ")
    return caught.value


def test_a_port_that_nothing_listens_on_is_named_with_the_cause_and_may_open() -> None:
    servers = f"127.0.0.1:{closed_port()}"
    (finding,) = refused(servers).findings
    assert (finding.code, finding.retryable) == ("BROKER_UNREACHABLE", True)
    assert finding.message.startswith(f"The brokers {servers} cannot be reached: Connect to ")
    assert finding.message.endswith("Connection refused.")


def test_a_host_name_that_does_not_resolve_says_so_and_may_resolve_later() -> None:
    (finding,) = refused("kafka.headgate.invalid:9092").findings
    assert (finding.code, finding.retryable) == ("BROKER_UNREACHABLE", True)
    assert "Failed to resolve 'kafka.headgate.invalid:9092'" in finding.message


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (KafkaError.LEADER_NOT_AVAILABLE, True),
        (KafkaError.BROKER_NOT_AVAILABLE, True),
        (KafkaError.SASL_AUTHENTICATION_FAILED, False),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
        (KafkaError.UNSUPPORTED_VERSION, False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, False),
    ],
)
def test_only_a_cause_that_may_go_away_is_retryable(code: int, retryable: bool) -> None:
    cluster = KafkaCluster({"bootstrap.servers": f"127.0.0.1:{closed_port()}"}, None)
    (finding,) = cluster.refusal("sources.shop", "orders", KafkaException(KafkaError(code))).findings
    assert finding.retryable is retryable


def test_a_missing_leader_is_not_taken_for_brokers_that_are_away() -> None:
    cluster = KafkaCluster({"bootstrap.servers": "kafka:9092"}, None)
    error = KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    (finding,) = cluster.refusal("sources.shop", "orders", error).findings
    assert (finding.code, finding.retryable) == ("LEADER_MISSING", True)
    assert finding.message.startswith("A partition of orders has no leader on kafka:9092: ")


def test_the_cause_is_the_same_text_at_each_try() -> None:
    text = "127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed: Connection refused (after 3ms in state CONNECT)"
    error = KafkaError(KafkaError._TRANSPORT, text)
    assert unreachable.words(error) == "Connect to ipv4#127.0.0.1:9 failed: Connection refused"


def test_a_login_that_is_refused_is_told_from_a_broker_that_is_away() -> None:
    assert unreachable.is_login(KafkaError(KafkaError._AUTHENTICATION))
    assert not unreachable.is_login(KafkaError(KafkaError._TRANSPORT))
