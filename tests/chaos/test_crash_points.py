"""One pipeline, whose agents kill themselves one after the other, each at another point of `workers.crash_points`.

Nothing is missing, every batch balances and begins where the last one ended; no sink holds anything twice. Every batch
has bad records, and each of them is a dead letter. The order of the points, and how often each is passed before it
kills, follow from the seed. By default a short selection of points runs;
`make chaos` runs all of them, with two seeds.
"""

from __future__ import annotations

import base64
import json
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer

from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import DeadLetters
from pipelines.domain.reprocessing.dead_letters import flume_event
from tests.agent.harness import Pipeline, Run
from tests.agent.test_channels import numbers_in
from tests.agent.topics import Topics
from tests.chaos.data_plane import MakeDefined
from tests.chaos.extent import SEEDS, WHOLE, some
from tests.chaos.pairs import balanced_reads
from tests.counts import not_once
from tests.figures import RecordProperty, report_arrival
from tests.postgres import running_postgres
from workers.crash_points import AGENT_POINTS

PER_LIFE = 1500
PARTS = 2 if WHOLE else 1
BATCH = 500
ONE_BAD_IN = 100
OWN_COMMIT = {"agent.staged", "agent.committed"}
SHORT = {
    "kafka": ["agent.planned", "agent.delivered", "agent.resolved", "agent.done"],
    "file": ["agent.staged", "agent.committed"],
    "postgres": ["agent.staged", "agent.committed"],
}

Numbers = Callable[[], Counter[int]]


@contextmanager
def kafka(topics: Topics, _: Path) -> Iterator[tuple[dict[str, Any], Numbers]]:
    yield topics.as_sink(), lambda: topics.read().numbers


@contextmanager
def file(_: Topics, directory: Path) -> Iterator[tuple[dict[str, Any], Numbers]]:
    yield {"type": "file", "path": str(directory), "roll": {"interval": 0}}, lambda: numbers_in(directory)


@contextmanager
def postgres(_: Topics, __: Path) -> Iterator[tuple[dict[str, Any], Numbers]]:
    with running_postgres() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE events (body text, topic text)")

        def numbers() -> Counter[int]:
            return Counter(int(body[:10]) for (body,) in connection.execute("SELECT body FROM events"))

        yield {"type": "postgres", "dsn": address, "table": "events"}, numbers


STORES = {"kafka": kafka, "file": file, "postgres": postgres}


def chain(sink: str, part: int, chance: random.Random) -> list[str]:
    """The lives of a pipeline, by what ends them. What follows an open batch can kill in its recovery, too."""
    if not WHOLE:
        return SHORT[sink]
    points = [point for point in AGENT_POINTS if sink != "kafka" or point not in OWN_COMMIT]
    points.remove("agent.resolved")
    chance.shuffle(points)
    points = points[part::PARTS]
    if "agent.delivered" in points:
        points.insert(points.index("agent.delivered") + 1, "agent.resolved")
    return points


def fault_at(point: str, chance: random.Random) -> str:
    """Some time at this point; a write that goes on is broken off somewhere in it."""
    time = 1 if point in {"agent.compared", "agent.resolved", "agent.ready", "agent.leaving"} else chance.randint(1, 3)
    delay = f"+{chance.uniform(0.005, 0.1):.3f}" if point == "agent.writing" else ""
    return f"{point}:{time}{delay}"


def is_bad(number: int) -> bool:
    """Whether the record of this number is none that the source can read."""
    return number % ONE_BAD_IN == 7


def produce(topics: Topics) -> None:
    """More records, of which each batch has a few that are no Flume events."""
    producer = Producer({"bootstrap.servers": topics.servers, "linger.ms": 20})
    for number in range(topics.produced, topics.produced + PER_LIFE):
        body = b"%010d " % number
        record = body + b"is no Flume event" if is_bad(number) else flume_event([], body)
        producer.produce(topics.source, record, partition=number % 4)
    topics.produced += PER_LIFE
    assert producer.flush(60) == 0


def kept(runs: list[Run]) -> dict[str, int]:
    """The numbers of all dead letters in the journals, by their ids; each letter is on disk where its entry says."""
    dead_letters = [
        dead_letter for run in runs for each in run.of_kind(DeadLetters) for dead_letter in each.dead_letters
    ]
    for dead_letter in dead_letters:
        path, _, start = dead_letter.location.rpartition(":")
        line = json.loads(Path(path).read_bytes()[int(start) :].splitlines()[0])
        assert line["body"] == dead_letter.body
    return {dead_letter.id: int(base64.b64decode(dead_letter.body)[:10]) for dead_letter in dead_letters}


def die(pipeline: Pipeline, topics: Topics, fault: str) -> Run:
    """One life: more records come, and it ends by the fault."""
    produce(topics)
    run = pipeline.start(crash_at=fault)
    if fault.startswith("agent.leaving"):
        run.wait_read(topics.ends(topics.source), 240)
        run.order(Command.STOP)
    assert run.wait_exit(240).signal == signal.SIGKILL, fault
    return run


def seconds_between(killed: Run, following: Run) -> float:
    """From an agent's death to the next finished batch."""
    record = killed.exit
    assert record is not None
    return min((entry.at - record.at for entry in following.entries() if entry.kind == "done"), default=0.0)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sink", some(list(STORES), 3))
def test_an_agent_that_dies_anywhere_loses_nothing_and_doubles_what_was_counted(
    sink: str,
    seed: int,
    part: int,
    topics: Topics,
    make_defined: MakeDefined,
    tmp_path: Path,
    record_property: RecordProperty,
) -> None:
    chance = random.Random(f"{sink} {seed}")
    with STORES[sink](topics, tmp_path / "out") as (spec, numbers):
        pipeline = make_defined(
            topics.name,
            sources={"shop": {**topics.as_source(), "parse_as_flume_event": True}},
            channels={"lake": {"type": "direct"}},
            sinks={"lake": {**spec, "channel": "lake"}},
            delivery={"max_events_per_batch": BATCH},
        )
        lives = [die(pipeline, topics, fault_at(point, chance)) for point in chain(sink, part, chance)]
        produce(topics)
        last = pipeline.start()
        last.wait_read(topics.ends(topics.source), 240)
        assert last.stop().exit_code == 0
        pipeline.ingest()
        found = numbers()

    ledger = pipeline.ledger["shop", "lake"]
    bad = [number for number in range(topics.produced) if is_bad(number)]
    good = [number for number in range(topics.produced) if not is_bad(number)]
    _, duplicates = report_arrival(record_property, found, good, pipeline.possible_duplicates)
    record_property("tries", len(lives))
    waits = [seconds_between(*pair) for pair in zip(lives, [*lives[1:], last], strict=True)]
    record_property("recovery_seconds", max(waits))
    assert not not_once(dict.fromkeys(found, 1), good)
    assert sorted(kept([*lives, last]).values()) == bad
    assert balanced_reads(ledger) == topics.produced
    assert duplicates == pipeline.possible_duplicates
    assert duplicates == 0
    assert not list((tmp_path / "out").rglob("*.staging"))
