"""Records of a topic as they are: which topic a component reads or writes, and what of its records may be shown."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.peek.protocol import PeekedPartition, PeekedRecord, PeekRequest, PeekResult, RecordOrigin
from pipelines.domain.peek.question import PeekQuestion
from pipelines.domain.peek.subjects import NoSubject, Subject, subject
from pipelines.domain.preview.masking import Rules
from pipelines.domain.preview.outcomes import Content
from pipelines.domain.trace.question import Place
from workers.agent.base.event import COPY_MARK, ORIGIN_HEADER
from workers.agent.base.findings import refuse
from workers.agent.evaluation.outcomes import definition_of
from workers.agent.kafka import peeking
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.peeking import Found, NoPartition, Part

MOST_SHOWN_BYTES = 8 * 1024 * 1024
"""Characters of all records that are shown."""
_DEAD = "headgate.dead."


def peek(request: PeekRequest, _tmp: Path) -> PeekResult:
    """Read them. Raises Refused."""
    began = time.monotonic()
    question, found = request.question, _subject(request)
    cluster = KafkaCluster.of(found.servers, found.options, ReachPolicy.model_validate(request.reach))
    topic = _topic(cluster, found, question)
    shown = _Shown(question, Rules.of_all(request.masking, request.masked))
    try:
        read = peeking.peek(cluster, topic, question, found.path, committed=found.committed, shows=shown.shows)
    except NoPartition as error:
        raise refuse(f"{found.path}", "UNKNOWN_PARTITION", str(error), "Name one of them, or none.") from error
    except KafkaException as error:
        raise cluster.refusal(found.path, topic, error) from error
    records = [shown.row(key, each) for key, each in peeking.in_order(read.parts, newest=question.newest)]
    return PeekResult(
        topic=topic,
        records=records,
        partitions=[_partition(part) for part in read.parts],
        searched=read.searched,
        more=read.more,
        compacted=read.compacted,
        notes=[*read.notes, *shown.notes],
        seconds=round(time.monotonic() - began, 3),
    )


def _subject(request: PeekRequest) -> Subject:
    """Raises Refused."""
    try:
        return subject(definition_of(request.side), request.question.of)
    except NoSubject as error:
        raise refuse(request.question.of, "NOT_A_TOPIC", str(error), "Name another component.") from error


def _topic(cluster: KafkaCluster, found: Subject, question: PeekQuestion) -> str:
    """Raises Refused."""
    try:
        known = cluster.topics() if found.is_open and not question.topic else []
        return found.topic(question.topic, known)
    except NoSubject as error:
        raise refuse(found.path, "TOPIC_UNKNOWN", str(error), "Name the topic.") from error
    except KafkaException as error:
        raise cluster.refusal(found.path, found.pattern or found.prefix, error) from error


def _partition(part: Part) -> PeekedPartition:
    return PeekedPartition(
        topic=part.key.topic,
        partition=part.key.partition,
        start=part.start,
        end=part.end,
        open=part.open,
        since=part.since,
        until=part.until,
        shown=len(part.found),
        holes=part.holes,
        missing=part.missing,
    )


class _Shown:
    """Records as they may be shown, within a bound."""

    def __init__(self, question: PeekQuestion, rules: Rules) -> None:
        self._question, self._rules = question, rules
        self._left = MOST_SHOWN_BYTES
        self._without_event = 0

    def row(self, key: TopicPartition, found: Found) -> PeekedRecord:
        """It counts against the bound."""
        event = self._event(found.content)
        if found.tombstone:
            event |= {"body": None, "note": ""}
        self._left -= len(str(event))
        if self._left < 0:
            self._without_event += 1
            event = {"key": None, "headers": [], "bytes": found.content.size, "body": None, "note": "withheld"}
        letter = _letter(found.content) if self._left >= 0 else {}
        return PeekedRecord(
            topic=key.topic,
            partition=key.partition,
            offset=found.offset,
            timestamp=found.timestamp,
            by_broker=found.by_broker,
            tombstone=found.tombstone,
            event=event,
            origin=origin_of(found.content),
            component=letter.get("component", ""),
            cause=self._rules.for_record([found.content]).mask.text(letter.get("cause", "")),
        )

    def _event(self, content: Content) -> dict[str, Any]:
        return self._rules.for_record([content]).event(content)

    def shows(self, content: Content) -> bool:
        """Whether what is searched for can be seen in it. One that only matches by what is masked is passed over as if
        it did not match: no count, no bound and no note may tell that it does."""
        if not self._question.searches or self._rules == Rules():
            return True
        key, wanted, event = self._question.key, self._question.contains, self._event(content)
        seen = [event.get("body") or "", event["key"] or "", *(value for _, value in event["headers"])]
        return (key is None or event["key"] == key) and (wanted is None or any(wanted in each for each in seen))

    @property
    def notes(self) -> list[str]:
        """What of the records is not shown."""
        if not self._without_event:
            return []
        size = MOST_SHOWN_BYTES // (1 << 20)
        return [f"The last {self._without_event} records are without content: more than {size} MiB in all."]


def _headers(content: Content) -> dict[str, str]:
    return {name: value.decode(errors="replace") for name, value in content.headers}


def _letter(content: Content) -> dict[str, str]:
    """What the headers of a dead letter say of it."""
    found = _headers(content)
    return {name: found[_DEAD + name] for name in ("component", "cause") if _DEAD + name in found}


def origin_of(content: Content) -> RecordOrigin | None:
    """What a record says that it was made of; None where it says nothing, or nothing that could be true."""
    found = _headers(content)
    said = found.get(ORIGIN_HEADER, "").split("/")
    if f"{_DEAD}origin" in found:
        said = [found.get(_DEAD + name, "") for name in ("pipeline", "source", "channel")]
        said += found[f"{_DEAD}origin"].split("/")
    if len(said) != _ORIGIN_PARTS:
        return None
    pipeline, source, channel, topic, partition, last = said
    offset, _, copy = last.partition(COPY_MARK)
    try:
        place = Place(topic=topic, partition=int(partition), offset=int(offset))
        return RecordOrigin(pipeline=pipeline, source=source, channel=channel, place=place, copy_number=int(copy or 0))
    except ValueError:
        return None


_ORIGIN_PARTS = 6
