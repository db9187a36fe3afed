"""Every source with every sink: numbered records, and an agent that dies in the middle of them.

Five pairs cover each source and each sink; HEADGATE_ALL_PAIRS=1 runs all. In the short selection it is one of the three
that cover the sinks which no other test with a kill has: taildir, sequence, json and postgres are in `tests/agent` and
test_crash_points, and so is Kafka with Kafka, which dies at more points there.
"""

from __future__ import annotations

import os
import signal
from itertools import product
from pathlib import Path

import pytest

from tests.agent.topics import Topics
from tests.chaos.data_plane import MakeDefined
from tests.chaos.extent import WHOLE, some
from tests.chaos.pairs import FEEDS, STORES, Feed, Store, balanced_reads
from tests.waiting import wait_for

COUNT = 50_000 if WHOLE else 20_000
BATCH = 4000
DEATHS = ["agent.delivered:2", *(["agent.writing:2+0.05"] if WHOLE else [])]
"""The sink has the second batch of a life, or some of it, and the books do not."""
COVERING = [
    ("spooldir", "parquet"),
    ("http", "http"),
    ("exec", "opensearch"),
    *([("taildir", "postgres"), ("sequence", "json")] if WHOLE else []),
]
PAIRS = list(product(FEEDS, STORES)) if os.environ.get("HEADGATE_ALL_PAIRS") == "1" else some(COVERING, 3)


def arrived(feed: Feed, store: Store) -> bool:
    """Whether all that is expected is there."""
    found = set(store.numbers())
    return found >= feed.expected(found)


@pytest.mark.parametrize(("source", "sink"), PAIRS)
def test_nothing_is_missing_and_doubles_were_announced_although_the_agent_dies_with_a_batch_in_hand(
    source: str, sink: str, topics: Topics, make_defined: MakeDefined, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    feed = FEEDS[source](topics, tmp_path / "in", COUNT)
    store = STORES[sink](topics, tmp_path / "out")
    with store.running() as spec:
        pipeline = make_defined(
            topics.name,
            sources={"shop": feed.spec()},
            channels={"lake": {"type": "direct"}},
            sinks={"lake": {**spec, "channel": "lake"}},
            delivery={"max_events_per_batch": BATCH},
        )
        feed.start()
        for death in DEATHS:
            assert pipeline.start(crash_at=death).wait_exit(240).signal == signal.SIGKILL, death
            pipeline.ingest()

        run = pipeline.start()
        feed.end()
        wait_for(lambda: run.status and run.status.queries, "the last run to begin", 240)
        run.wait_status(lambda s: s.queries[0].lag == 0 and s.queries[0].read > 0, "all records", 300)
        wait_for(lambda: arrived(feed, store), "the last record", 300)
        assert run.stop().exit_code == 0
        pipeline.ingest()
        found = store.numbers()
    read = balanced_reads(pipeline.ledger["shop", "lake"])
    assert set(found) == feed.expected(set(found))
    assert read == len(found) or feed.doubled
    doubled = sum(times - 1 for number, times in found.items() if number not in feed.doubled)
    assert doubled <= pipeline.possible_duplicates
    assert not (store.exactly_once and pipeline.possible_duplicates)
