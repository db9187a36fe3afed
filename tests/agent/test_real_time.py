"""Real-time mode: exact at boundaries, and every record that comes twice is counted."""

from __future__ import annotations

from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger.journal import Done, Planned
from pipelines.domain.ledger.ledger import total
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Pacer, Topics
from tests.chaos.extent import WHOLE
from tests.counts import is_balanced
from tests.waiting import wait_for

INTERCEPTORS = [
    {"type": "timestamp"},
    {"type": "regex_filter", "regex": "7 ", "exclude_events": True},
    {"type": "regex_filter", "regex": "[37] ", "exclude_events": True},
]


def real_time(make_pipeline: MakePipeline) -> Pipeline:
    return make_pipeline(source={"interceptors": INTERCEPTORS}, mode="real_time", batch_duration=5)


def wanted(count: int) -> set[int]:
    return {number for number in range(count) if number % 10 not in (3, 7)}


def test_a_pause_waits_for_the_boundary_and_a_killed_driver_sends_no_record_twice(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """What the sink has behind the last boundary is found there, and left out of the next batch."""
    pacer = Pacer(topics, 500)
    pacer.start()
    pipeline = real_time(make_pipeline)
    run = pipeline.start()
    wait_for(lambda: topics.delivered() > 500, "records before the first boundary")
    _pause_and_go_on(run, topics)
    _kill_behind_a_boundary(run, topics)
    if WHOLE:
        _kill_behind_a_boundary(pipeline.start(), topics)

    run = pipeline.start()
    count = pacer.end()
    wait_for(lambda: set(topics.read().numbers) == wanted(count), "all records")
    run.order(Command.DRAIN_AND_STOP, kill_in=60)
    assert run.wait_exit().exit_code == 0
    assert all(planned.open_ended for planned in run.of_kind(Planned))
    pipeline.ingest()
    out = topics.read()
    assert set(out.numbers) == wanted(count)
    assert (out.duplicates, pipeline.possible_duplicates) == (0, 0)
    done = [batch.counts for ledger in pipeline.ledger.values() for batch in ledger.done]
    assert all(is_balanced(counts) for counts in done)
    assert total(done).bytes_out == sum(len(message.value() or b"") for message in topics.messages(topics.sink))
    assert total(done).parts == {
        f"sources.shop.interceptors[{number}]": {"filtered": len(range(digit, count, 10))}
        for number, digit in ((1, 7), (2, 3))
    }


def _pause_and_go_on(run: Run, topics: Topics) -> None:
    """While it is paused, what is delivered is in the topic, once, and nothing more comes."""
    paused = run.obey(Command.PAUSE)
    assert paused.phase is AgentPhase.PAUSED
    (proven,) = paused.queries
    out = topics.read()
    assert (out.numbers.total(), out.duplicates) == (proven.delivered, 0)
    produced = topics.produced
    wait_for(lambda: topics.produced > produced + 1000, "records piling up")
    assert topics.delivered() == proven.delivered
    run.obey(Command.RUN)


def _kill_behind_a_boundary(run: Run, topics: Topics) -> None:
    """With records behind it that were sent and of which no boundary tells."""
    before = len(run.of_kind(Done))
    wait_for(lambda: len(run.of_kind(Done)) > before, "a boundary")
    finished = topics.delivered()
    wait_for(lambda: topics.delivered() > finished + 1000, "records after it")
    run.kill("driver")
    run.wait_exit()


def test_too_few_slots_are_found_before_anything_is_read(topics: Topics, make_pipeline: MakePipeline) -> None:
    topics.produce(10)
    pipeline = real_time(make_pipeline)
    pipeline.definition["placement"] = {"launcher": {"cores": 2}}
    run = pipeline.start_refused()
    record = run.wait_exit()
    assert record.exit_code == 11
    status = run.status
    assert status is not None
    assert [(finding.path, finding.code) for finding in status.findings] == [
        ("placement.launcher.cores", "INSUFFICIENT_SLOTS")
    ]
    assert topics.read().numbers == {}
