"""Ten thousand records of which four are bad, each in its own way: 9,996 arrive, four are letters, a mended one comes
back. And what a topic for dead letters cannot take."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from pipelines.domain.base.states import OperationState
from pipelines.domain.ledger.journal import DeadLetters
from pipelines.domain.reprocessing.dead_letters import TopicLocation, flume_event
from pipelines.models import DeadLetter, Operation
from pipelines.models import Run as RunRow
from pipelines.selectors.ledger.ledger import ledger_totals
from pipelines.selectors.reprocessing.dead_letters import DeadLetterFilter
from pipelines.services.base.audit import Actor
from pipelines.services.ledger.journals import ingest
from pipelines.services.reprocessing import retries
from pipelines.services.reprocessing.retries import Repair, RetryRequest
from tests.agent.conftest import MakePipeline
from tests.agent.harness import REACH, Run
from tests.agent.topics import Topics
from tests.factories import PipelineFactory, RevisionFactory, RunFactory
from tests.waiting import wait_for
from workers.adapters.clusters import KafkaClusters
from workers.adapters.push_sources import HttpPushSources
from workers.adapters.secrets import backends
from workers.ports import Secrets, SecretValue, Unreadable
from workers.supervisor.background.retry import Replayer, Way
from workers.supervisor.launch.references import References

RECORDS = 10_000
UNDECODABLE, TOO_LARGE, UNROUTED, REFUSED = 11, 2_222, 5_003, 9_994
LARGE = 300_000


class NoSecrets:
    """A store without any."""

    def read(self, names: Any) -> dict[str, SecretValue | Unreadable]:
        return {}


def record(number: int) -> bytes:
    """The record of this number as the topic has it."""
    body, headers = b"%010d " % number, {"way": b"lake"}
    if number == UNDECODABLE:
        return body + b"is no Flume event"
    if number == TOO_LARGE:
        body += b"x" * LARGE
    if number == UNROUTED:
        headers["way"] = b"nowhere"
    if number == REFUSED:
        headers["to"] = b"forbidden-topic"
    return flume_event(headers.items(), body)


def produce(topics: Topics) -> None:
    producer = Producer({"bootstrap.servers": topics.servers, "linger.ms": 20})
    for number in range(RECORDS):
        producer.produce(topics.source, record(number), partition=number % 4)
    assert producer.flush(60) == 0


def definition(topics: Topics, make_pipeline: MakePipeline, **errors: Any) -> Any:
    pipeline = make_pipeline(
        source={
            "parse_as_flume_event": True,
            "selector": {"type": "multiplexing", "header": "way", "mapping": {"lake": ["lake"]}},
        },
        sink=topics.as_sink()
        | {
            "topic_header": "to",
            "allowed_topics": [f"{topics.name}-other"],
            "options": {"max.request.size": "100000"},
        },
    )
    if errors:
        pipeline.definition["errors"] = errors
    return pipeline


def stored(topics: Topics, plain: dict[str, Any]) -> RunRow:
    """The rows that a control plane would have of the run."""
    row = PipelineFactory.create(name=topics.name)
    row.current_revision = RevisionFactory.create(pipeline=row, number=2, definition=plain)
    row.save()
    return RunFactory.create(pipeline=row, number=1)


def take_in(run: Run, row: RunRow) -> None:
    row.refresh_from_db()
    entries = [entry for entry in run.entries() if entry.n > row.journal_seq]
    if entries:
        ingest(run=row, entries=entries, offset=row.journal_offset + 1)


def replayer() -> Replayer:
    secrets: Secrets = NoSecrets()
    known = References(backends({}, None, secrets))
    return Replayer(Way("alpha", KafkaClusters(), HttpPushSources(), known, reach=lambda _teams: REACH))


def carried_out(operation: Operation, by: Replayer) -> Operation:
    def over() -> bool:
        by.turn()
        operation.refresh_from_db()
        return operation.state not in {OperationState.PENDING, OperationState.RUNNING}

    wait_for(over, "the end of the replay", 120)
    return operation


@pytest.mark.django_db
def test_four_bad_records_of_ten_thousand_are_letters_and_a_mended_one_comes_back(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    produce(topics)
    topics.create(f"{topics.name}-other")
    pipeline = definition(topics, make_pipeline)
    run = pipeline.start()
    run.wait_delivered(RECORDS - 4, 180)
    wait_for(lambda: sum(len(each.dead_letters) for each in run.of_kind(DeadLetters)) >= 4, "four letters", 60)
    row = stored(topics, pipeline.definition)
    take_in(run, row)

    out = topics.read()
    assert out.missing(RECORDS) == {UNDECODABLE, TOO_LARGE, UNROUTED, REFUSED}
    assert out.duplicates == 0
    dead_letters = {each.component: each for each in DeadLetter.objects.all() if each.size < LARGE}
    assert DeadLetter.objects.count() == 4
    (large,) = DeadLetter.objects.filter(size__gte=LARGE)
    assert "not a Flume event" in dead_letters["sources.shop"].cause
    assert "No channel" in dead_letters["sources.shop.selector"].cause
    assert "forbidden-topic" in dead_letters["sinks.lake"].cause
    assert (large.component, large.truncated, len(large.body)) == ("sinks.lake", True, 16 * 1024)
    ledger = ledger_totals(row.pipeline).channels[0]
    assert (ledger.read, ledger.delivered, ledger.unrouted, ledger.dead_lettered) == (RECORDS, RECORDS - 4, 1, 3)
    assert ledger.balanced

    def replay(dead_letter: DeadLetter, **repair: Any) -> Operation:
        wanted = RetryRequest(
            ids=[dead_letter.dead_letter_id],
            matching=DeadLetterFilter(),
            rate=100,
            repair=Repair(**repair) if repair else None,
        )
        return retries.request(pipeline=row.pipeline, wanted=wanted, actor=Actor("ana"))

    by = replayer()
    body = base64.b64encode(b"%010d mended" % UNDECODABLE).decode()
    headers = [("way", base64.b64encode(b"lake").decode())]
    assert carried_out(replay(dead_letters["sources.shop"], body=body, headers=headers), by).state == "SUCCEEDED"
    assert carried_out(replay(dead_letters["sources.shop.selector"], headers=headers), by).state == "SUCCEEDED"
    assert carried_out(replay(large), by).state == "SUCCEEDED"
    run.wait_delivered(RECORDS - 2, 120)
    wait_for(lambda: sum(len(each.dead_letters) for each in run.of_kind(DeadLetters)) >= 5, "the large one again", 60)
    assert run.stop().exit_code == 0
    take_in(run, row)

    out = topics.read()
    assert out.missing(RECORDS) == {TOO_LARGE, REFUSED}
    assert out.duplicates == 0
    assert out.headers[UNDECODABLE]["headgate.replay"] == dead_letters["sources.shop"].dead_letter_id.encode()
    again = DeadLetter.objects.filter(size__gte=LARGE).latest("id")
    assert (again.size, again.dead_letter_id != large.dead_letter_id) == (large.size, True)
    ledger = ledger_totals(row.pipeline).channels[0]
    assert (ledger.read, ledger.delivered, ledger.dead_lettered, ledger.balanced) == (RECORDS + 3, RECORDS - 2, 4, True)


@pytest.mark.django_db
def test_letters_in_a_topic_are_read_back_whole_and_what_is_too_large_for_it_lies_in_a_file(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    dead = f"{topics.name}-dead"
    topics.create(dead)
    topics.configure(dead, {"max.message.bytes": "200000"})
    producer = Producer({"bootstrap.servers": topics.servers})
    fits, large_body = os.urandom(150_000), os.urandom(LARGE)
    for body in (fits, large_body):
        producer.produce(topics.source, flume_event({"way": b"lake"}.items(), body), partition=0)
    assert producer.flush(60) == 0
    topics.create(f"{topics.name}-other")
    pipeline = definition(topics, make_pipeline, dead_letter={"type": "kafka", "topic": dead})
    run = pipeline.start()
    wait_for(lambda: sum(len(each.dead_letters) for each in run.of_kind(DeadLetters)) >= 2, "two letters", 180)
    small, large = sorted(
        (one for each in run.of_kind(DeadLetters) for one in each.dead_letters), key=lambda one: one.size
    )
    assert run.stop().exit_code == 0
    topic, _, place = small.location.rpartition("/")
    partition, _, offset = place.partition("@")
    whole = KafkaClusters().record(topics.servers, {}, TopicLocation(topic, int(partition), int(offset)), REACH)
    assert whole == fits
    path, _, start = large.location.rpartition(":")
    with Path(path).open("rb") as file:
        file.seek(int(start))
        assert base64.b64encode(large_body) in file.readline()
