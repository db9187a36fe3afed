"""Topics that others change under a running agent: a sink's topic that is deleted and created again, and a transaction
that its producer leaves open."""

from __future__ import annotations

from confluent_kafka import Producer

from pipelines.domain.ledger.journal import Done
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Run
from tests.agent.topics import Topics
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for

SOME = 500


def announced(run: Run) -> int:
    return sum(done.duplicates_max for done in run.of_kind(Done))


def test_a_sink_topic_that_is_created_again_gets_every_later_record(
    topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    topics.produce(SOME)
    run = make_pipeline(sink=topics.as_sink() | {"write_timeout": "5s"}).start()
    run.wait_delivered(SOME)
    topics.make_again(topics.sink)
    topics.produce(SOME)
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    missing, duplicates = report_arrival(record_property, topics.read().numbers, range(SOME, 2 * SOME), announced(run))
    assert missing == 0
    assert duplicates <= announced(run)


def test_a_transaction_that_is_left_open_holds_records_back_and_loses_none(
    topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    topics.produce(SOME)
    run = make_pipeline().start()
    run.wait_delivered(SOME)
    open_one = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    open_one.init_transactions(30)
    open_one.begin_transaction()
    for partition in range(4):
        open_one.produce(topics.source, b"%010d " % (10**9), partition=partition)
    open_one.flush(30)
    topics.produce(SOME)
    polled = run.wait_status(lambda s: True, "a status").progress
    run.wait_status(lambda s: s.progress > polled + 5, "the source to be asked while the transaction is open")
    assert topics.delivered() == SOME
    open_one.abort_transaction(30)
    run.wait_delivered(2 * SOME)
    wait_for(lambda: topics.delivered() >= 2 * SOME, "what waited to arrive")
    assert run.stop().exit_code == 0
    found = topics.read().numbers
    assert report_arrival(record_property, found, range(2 * SOME), announced(run)) == (0, 0)
    assert set(found) == set(range(2 * SOME))
