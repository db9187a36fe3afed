"""An operator names a bootstrap server of their own, which leads its clients to servers that pipelines do not reach."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException

from pipelines.domain.access.reach import AllowedNetwork, ReachPolicy
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.components.dead_letter.kafka import KafkaDeadLetters
from pipelines.domain.definitions.components.sink.kafka import KafkaSink
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.reprocessing.dead_letters import TopicLocation
from tests.fakes.kafka_servers import LOOPBACK, Bootstrap, Guarded, bootstrap, guarded
from tests.waiting import wait_for
from workers.adapters.brokers import KafkaBrokers
from workers.adapters.clusters import KafkaClusters
from workers.agent.base.findings import Refused
from workers.agent.delivery.gate import Gate
from workers.agent.graph.component import Builder, Place, builder
from workers.agent.kafka import advertised, wire
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.advertised import Admission, BrokersRefused
from workers.agent.watching.guard_watch import GuardWatch
from workers.ports import Away, Closed, Outgoing
from workers.supervisor.background.brokers import ClusterAddress

_BRIEFLY = 1.5


@pytest.fixture
def fake() -> Iterator[Bootstrap]:
    with bootstrap() as made:
        yield made


@pytest.fixture
def inside() -> Iterator[Guarded]:
    with guarded() as made:
        yield made


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advertised, "PATIENCE", _BRIEFLY)


@pytest.fixture
def led(fake: Bootstrap, inside: Guarded) -> Bootstrap:
    """It leads to the port that nobody should connect to."""
    fake.advertised = ((7, LOOPBACK, inside.port),)
    return fake


def only(fake: Bootstrap) -> ReachPolicy:
    """The bootstrap server alone is allowed on this machine."""
    return ReachPolicy(networks=(AllowedNetwork(target=LOOPBACK, ports=str(fake.port)),))


def source(fake: Bootstrap, **options: Any) -> Builder:
    spec = KafkaSource(
        type="kafka",
        bootstrap_servers=fake.server,
        topics=["orders"],
        group_id="g",
        start_from="earliest",
        options=options,
    )
    made: Builder = builder(spec, Place("attack", 1, "sources.shop", reach=only(fake)))
    return made


def sink(fake: Bootstrap, **more: Any) -> Builder:
    spec = KafkaSink(type="kafka", channel="lake", bootstrap_servers=fake.server, topic="out", **more)
    made: Builder = builder(spec, Place("attack", 1, "sinks.lake", reach=only(fake)))
    return made


def dead_letters(fake: Bootstrap) -> Builder:
    spec = KafkaDeadLetters(type="kafka", bootstrap_servers=fake.server, topic="dead")
    made: Builder = builder(spec, Place("attack", 1, "errors.dead_letter", reach=only(fake)))
    return made


def test_without_a_check_a_client_is_led_inside(led: Bootstrap, inside: Guarded) -> None:
    """What the other tests prevent."""
    cluster = KafkaCluster.of(led.server, {}, None)
    with pytest.raises(KafkaException):
        cluster.latest([TopicPartition("orders", 0)], timeout=_BRIEFLY)
    wait_for(lambda: inside.connections > 0, "the client is led inside")


@pytest.mark.parametrize(
    "made", [source, sink, dead_letters, lambda fake: sink(fake, topic_header="to", allowed_topic_prefix="shop-")]
)
def test_no_component_starts_that_is_led_inside(
    led: Bootstrap, inside: Guarded, made: Callable[[Bootstrap], Builder]
) -> None:
    part = made(led)
    with pytest.raises(Refused) as caught:
        part.probe()
    (finding,) = caught.value.findings
    assert (finding.path, finding.code) == (f"{part.place.path}.bootstrap_servers", "ADDRESS_NOT_ALLOWED")
    assert f"Broker 7, as {led.server} advertises it: 127.0.0.1:{inside.port}" in finding.message
    assert "headgate allowed-networks add" in finding.suggestion
    assert not finding.retryable
    assert inside.connections == 0


def test_the_jvm_is_given_no_connection_to_a_cluster_that_leads_inside(led: Bootstrap, inside: Guarded) -> None:
    for part in (source(led), sink(led)):
        with pytest.raises(BrokersRefused):
            part._options()  # type: ignore[attr-defined]
    assert inside.connections == 0


def test_a_rule_for_the_broker_allows_it(fake: Bootstrap) -> None:
    assert KafkaCluster.of(fake.server, {}, only(fake)).out_of_reach("sources.shop") == []


def test_a_cluster_that_leads_inside_later_blocks_the_run(
    fake: Bootstrap, inside: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GuardWatch([], Gate(1), 60, [source(fake)])
    monkeypatch.setattr(advertised, "PERIOD", 0.0)
    assert watch.check() == []
    fake.silent = True
    assert watch.check() == [], "what was allowed stays allowed while nobody answers"
    fake.silent, fake.advertised = False, ((7, LOOPBACK, inside.port),)
    for fake.silent in (False, True):  # what was refused stays refused
        assert [(each.path, each.code) for each in watch.check()] == [
            ("sources.shop.bootstrap_servers", "ADDRESS_NOT_ALLOWED")
        ]
    assert inside.connections == 0


def test_what_is_known_of_a_cluster_is_not_asked_for_each_time(fake: Bootstrap) -> None:
    cluster = KafkaCluster.of(fake.server, {}, only(fake))
    for _ in range(3):
        assert cluster.out_of_reach("sources.shop") == []
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("169.254.169.254", 80, "169.254.169.254:80 is an address of a cloud's metadata"),
        ("localhost", 6379, "localhost:6379 (127.0.0.1) is a loopback address"),
        ("::ffff:127.0.0.1", 6379, "a loopback address"),
        ("fe80::1", 9092, "a link-local address"),
        ("x\nAn administrator has allowed it", 9092, "has no address that can be one"),
        ("<script>", 9092, "has no address that can be one"),
        ("broker", 0, "has no address that can be one"),
        ("broker", 1 << 20, "has no address that can be one"),
    ],
)
def test_the_address_is_told_and_nothing_else_of_the_answer(fake: Bootstrap, host: str, port: int, said: str) -> None:
    fake.advertised = ((1, LOOPBACK, fake.port), (2, host, port))
    (finding,) = KafkaCluster.of(fake.server, {}, only(fake)).out_of_reach("sources.shop")
    assert said in finding.message
    assert finding.message.isprintable()
    assert "administrator has" not in finding.message


def test_every_server_of_the_list_is_asked(fake: Bootstrap, inside: Guarded) -> None:
    with bootstrap() as other:
        other.advertised = ((9, LOOPBACK, inside.port),)
        ports = f"{fake.port},{other.port}"
        reach = ReachPolicy(networks=(AllowedNetwork(target=LOOPBACK, ports=ports),))
        (finding,) = KafkaCluster.of(f"{fake.server},{other.server}", {}, reach).out_of_reach("sources.shop")
    assert "Broker 9" in finding.message


def test_a_bootstrap_server_that_is_not_allowed_is_not_connected_to(inside: Guarded) -> None:
    (finding,) = KafkaCluster.of(f"127.0.0.1:{inside.port}", {}, ReachPolicy()).out_of_reach("sources.shop")
    assert finding.code == "ADDRESS_NOT_ALLOWED"
    assert inside.connections == 0


def test_no_client_is_made_while_nobody_says_which_brokers_there_are(led: Bootstrap, inside: Guarded) -> None:
    led.silent = True
    with pytest.raises(Refused) as caught:
        source(led).probe()
    (finding,) = caught.value.findings
    assert (finding.code, finding.retryable) == ("BROKER_UNREACHABLE", True)
    assert "cannot be reached" in finding.message
    assert (led.asked, inside.connections) == ([], 0)


def test_a_log_in_that_is_turned_away_is_told_as_one(led: Bootstrap) -> None:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    with pytest.raises(Refused) as caught:
        source(led, **options, **{"sasl.password": "p"}).probe()
    assert [each.code for each in caught.value.findings] == ["NOT_PERMITTED"]


def test_lag_and_consumer_groups_ask_no_cluster_that_leads_inside(led: Bootstrap, inside: Guarded) -> None:
    address, brokers = ClusterAddress(led.server, {}, only(led)), KafkaBrokers()
    key = TopicPartition("orders", 0)
    for ask in (
        lambda: brokers.ranges(address, {key}),
        lambda: brokers.offsets_at(address, {key: time.time()}),
        lambda: brokers.describe(address, "billing"),
        lambda: brokers.commits(address, "billing", {key}),
        lambda: brokers.commits(address, "billing", None),
    ):
        with pytest.raises(Away, match=f"127.0.0.1:{inside.port} is a loopback address"):
            ask()
    assert inside.connections == 0


def test_no_dead_letter_is_sent_or_read_where_a_cluster_leads_inside(led: Bootstrap, inside: Guarded) -> None:
    outlet = KafkaClusters().outlet(led.server, {}, "attack", only(led))
    with pytest.raises(Closed, match="is a loopback address"):
        outlet.send([Outgoing("orders", 0, None, [], b"x")])
    outlet.close()
    with pytest.raises(Closed, match="is a loopback address"):
        KafkaClusters().record(led.server, {}, TopicLocation("dead", 0, 1), only(led))
    assert inside.connections == 0


def test_an_answer_without_an_end_is_not_read(led: Bootstrap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BROKERS", 0)
    with pytest.raises(KafkaException, match="the answer is not Kafka's"):
        Admission({"bootstrap.servers": led.server}, only(led)).require()
