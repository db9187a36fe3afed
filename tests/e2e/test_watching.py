"""A range that is read again, and a consumer group of somebody else, from the command line through web and worker."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from controlplane.devstack import topics
from controlplane.devstack.client import Api
from controlplane.install.services.interrupt import Interrupt
from pipelines.domain.base.positions import PartitionPosition
from tests import command_line
from tests.e2e.conftest import Stack
from tests.waiting import wait_for
from workers.agent.kafka.admin import KafkaCluster

SOURCE, SINK = "demo.orders", "demo.clean"
START, END = 10, 60
LONG = 180.0


@pytest.fixture
def api(stack: Stack) -> Api:
    return Api(stack.url, stack.token, Interrupt())


def headgate(stack: Stack, *arguments: str) -> Any:
    code, said = command_line.headgate(stack.url, stack.token, *arguments, "-o", "json")
    assert code == 0, said
    return json.loads(said)


def servers(api: Api) -> str:
    (revision,) = api.get("/pipelines/demo/revisions?limit=1")["results"]
    definition = api.get(f"/pipelines/demo/revisions/{revision['number']}")["definition"]
    return str(definition["sources"]["orders"]["bootstrap_servers"])


def bodies(broker: str, start: int, end: int) -> list[bytes]:
    """The records [start, end) of the source's first partition."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "look", "enable.auto.commit": False})
    consumer.assign([TopicPartition(SOURCE, 0, start)])
    found: list[bytes] = []
    while len(found) < end - start:
        found += [message.value() or b"" for message in consumer.consume(end - start - len(found), timeout=10)]
    consumer.close()
    return found


def test_a_range_comes_once_more_into_the_sink_and_moves_no_position(stack: Stack, api: Api) -> None:
    if api.get("/pipelines/demo")["phase"] == "STOPPED":
        api.act("demo", "start", timeout=LONG)
    wait_for(lambda: reached(api) >= END, "the range was read", LONG)
    asked = ("demo", "--partition", f"{SOURCE}/0", "--from", str(START), "--to", str(END))
    plan = headgate(stack, "replays", "plan", *asked)
    assert (plan["offsets"], plan["channel"]) == (END - START, "clean")
    before = reached(api)
    done = headgate(
        stack, "replays", "start", *asked, "--yes", "--wait", "--timeout", str(LONG), "--reason", "lost there"
    )
    assert (done["kind"], done["state"]) == ("replay_range", "SUCCEEDED")

    again = [batch for batch in headgate(stack, "ledger", "demo", "--limit", "500") if batch["state"] == "replayed"]
    assert sum(batch["read"] for batch in again) == END - START
    totals = api.get("/pipelines/demo/ledger/summary")
    assert (totals["balanced"], totals["gaps"], totals["overlaps"]) == (True, 0, 0)
    assert reached(api) >= before
    broker = servers(api)
    wanted = {body for body in bodies(broker, START, END) if body.startswith(b"{")}
    sink = Counter(topics.read_all(broker, SINK))
    assert {body for body, times in sink.items() if times > 1} == wanted
    assert {sink[body] for body in wanted} == {2}
    assert api.get("/audit")["results"][0]["action"] == "range.replay"


def reached(api: Api) -> int:
    """The next offset of the first partition."""
    rows = api.get("/pipelines/demo/positions")["partitions"]
    return next((row["ledger"] or 0 for row in rows if row["partition"] == 0), 0)


def test_a_group_of_somebody_that_jumps_back_is_told_and_the_way_to_before_is_planned(stack: Stack, api: Api) -> None:
    broker, group = servers(api), "billing"
    topics.create(broker, [group], partitions=1, config={})
    producer = Producer({"bootstrap.servers": broker})
    for number in range(100):
        producer.produce(group, b"%d" % number, partition=0)
    assert producer.flush(60) == 0
    commit(broker, group, 60)
    headgate(stack, "consumer-groups", "add", group, "--bootstrap-servers", broker, "--interval", "1")
    part = wait_for(lambda: seen(stack, group, 60), "the group was looked at", LONG)
    assert (part["end"], part["records"]) == (100, 40)

    commit(broker, group, 10)
    wait_for(lambda: seen(stack, group, 10), "the jump was seen", LONG)
    (alert,) = [
        each for each in headgate(stack, "alerts", "list", "--rule", "group_moved") if each["data"]["group"] == group
    ]
    jumped = next(each for each in headgate(stack, "events", "--limit", "500") if each["kind"] == "group.jumped_back")
    assert (jumped["data"]["before"], jumped["data"]["after"], alert["state"]) == (60, 10, "OPEN")
    plan = headgate(stack, "consumer-groups", "plan-reset", group, "--to", f"before={jumped['id']}")
    assert [(row["committed"], row["target"], row["skip"]) for row in plan["partitions"]] == [(10, 60, 50)]
    assert plan["reset_csv"] == f"{group},0,60\n"
    assert command_line.headgate(stack.url, stack.token, "consumer-groups", "remove", group)[0] == 0


def seen(stack: Stack, group: str, committed: int) -> Any:
    """The partition of the group, once it was seen at this commit."""
    parts = headgate(stack, "consumer-groups", "show", group)["partitions"]
    return next((part for part in parts if part["position"] == committed), None)


def commit(broker: str, group: str, offset: int) -> None:
    """What a consumer of the group does."""
    KafkaCluster.of(broker, {}, None).commit(group, [PartitionPosition(topic=group, partition=0, offset=offset)])
