"""A range is read once more into a channel beside the queries: to the record, over a kill, and without a position."""

from __future__ import annotations

import uuid
from pathlib import Path

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done, Exited, read_entries
from pipelines.domain.ledger.ledger import total
from pipelines.domain.reprocessing.range_replay import ORDER, Order, place
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics
from tests.counts import is_balanced, not_once
from tests.waiting import wait_for
from workers.agent.delivery.range_replay import progress

FILTERED = 100
FILTER = {"type": "regex_filter", "regex": f"{FILTERED:010} ", "exclude_events": True}


def order(state: Path, topics: Topics, start: int, end: int) -> Path:
    """Hand an order out, as a worker does; returns its directory."""
    operation = uuid.uuid4()
    directory = place(state / "data" / topics.name / "1", operation)
    directory.mkdir(parents=True)
    Order(
        operation=operation,
        source="shop",
        channel="lake",
        topic=topics.source,
        partition=0,
        start=start,
        end=end,
        size=10,
    ).store(directory / ORDER)
    return directory


def entries(directory: Path) -> list[Frozen]:
    """What all runs have written of an order."""
    paths = sorted(directory.glob("journal-*.jsonl"))
    return [entry.payload() for path in paths for entry in read_entries(path.read_bytes(), 0)[0]]


def test_a_range_comes_once_more_and_only_it_although_the_agent_is_killed(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    topics.produce(400)
    pipeline = make_pipeline(source={"interceptors": [FILTER]})
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), timeout=240)
    directory = order(tmp_path / "state", topics, 10, 60)
    wait_for(lambda: progress(directory).done >= 1, "two batches of the replay", timeout=240)
    run.kill("driver")
    run.wait_exit(timeout=240)
    again = pipeline.start()
    wait_for(lambda: progress(directory).over, "the end of the replay", timeout=240)
    status = again.wait_read(topics.ends(topics.source), timeout=240)
    written = entries(directory)
    done = [each for each in written if isinstance(each, Done)]
    assert [each.batch for each in done] == list(range(5))
    assert [each.code for each in written if isinstance(each, Exited)] == [0]
    counts = total(each.counts for each in done)
    assert (counts.read, counts.delivered, is_balanced(counts)) == (50, 49, True)
    assert counts.parts == {"sources.shop.interceptors[0]": {"filtered": 1}}
    out, replayed = topics.read(), {4 * offset for offset in range(10, 60)} - {FILTERED}
    possible_duplicates = sum(each.duplicates_max for each in done)
    assert out.missing(400) == {FILTERED}
    others = set(range(400)) - replayed - {FILTERED}
    assert not_once({n: c for n, c in out.numbers.items() if n not in replayed}, others) == {}
    assert min(out.numbers[number] for number in replayed) >= 2
    assert out.duplicates == 49 + possible_duplicates
    assert b".replay-" in out.headers[40]["headgate.origin"]
    (query,) = status.queries
    assert {positions.partition: positions.next_offset for positions in query.positions} == dict.fromkeys(range(4), 100)

    again.obey(Command.PAUSE, timeout=240)
    topics.trim(0, 25)
    gone = order(tmp_path / "state", topics, 20, 30)
    again.obey(Command.RUN, timeout=240)
    wait_for(lambda: progress(gone).over, "the refusal", timeout=240)
    (refused,) = (each for each in entries(gone) if isinstance(each, Exited))
    assert (refused.code, "5 offsets have expired" in refused.reason) == (1, True)
    assert topics.read().duplicates == out.duplicates
    again.stop()
