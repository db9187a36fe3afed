"""A record of 20 MB among small ones: a dead letter with its size and its beginning, and the others arrive.

Such a record is in the JVM several times while it is looked at; the default heap of 512 MB is too small for it.
"""

from __future__ import annotations

import os

from confluent_kafka import Producer

from pipelines.domain.ledger.journal import DeadLetters
from tests.agent.topics import Topics
from tests.chaos.data_plane import MakeDefined
from tests.counts import is_balanced
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for

HUGE = 20 * 1000 * 1000
SMALL = 1000


def test_a_record_of_20_mb_is_a_dead_letter_and_holds_nobody_up(
    topics: Topics, make_defined: MakeDefined, record_property: RecordProperty
) -> None:
    topics.configure(topics.source, {"max.message.bytes": str(2 * HUGE)})
    producer = Producer({"bootstrap.servers": topics.servers, "message.max.bytes": 2 * HUGE})
    topics.produce(SMALL // 2)
    producer.produce(topics.source, b"huge" + os.urandom(HUGE), partition=0)
    assert producer.flush(60) == 0
    topics.produce(SMALL // 2)
    pipeline = make_defined(
        topics.name,
        sources={"shop": topics.as_source()},
        channels={"lake": {"type": "direct"}},
        sinks={"lake": topics.as_sink()},
        placement={"launcher": {"type": "local", "driver_memory": "1g"}},
    )
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 180)
    dead_letters = wait_for(
        lambda: [one for each in run.of_kind(DeadLetters) for one in each.dead_letters], "the letter", 60
    )
    assert run.stop().exit_code == 0
    pipeline.ingest()
    (dead_letter,) = dead_letters
    assert (dead_letter.component, dead_letter.size, dead_letter.truncated) == ("sinks.lake", HUGE + 4, True)
    assert "more than" in dead_letter.cause
    found = topics.read().numbers
    assert report_arrival(record_property, found, range(SMALL), pipeline.possible_duplicates) == (0, 0)
    counts = [done.counts for done in pipeline.ledger["shop", "lake"].done]
    assert sum(each.dead_lettered for each in counts) == 1
    assert all(is_balanced(each) for each in counts)
