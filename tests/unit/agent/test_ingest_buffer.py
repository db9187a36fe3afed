"""The ingest buffer keeps what Flume's channels keep, and every event that it took in through a crash at any byte."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.base.positions import TopicPartition
from tests.vectors import Vector, drives
from workers.agent.push import frames
from workers.agent.push import log as logs
from workers.agent.push.event import Event, record_batch
from workers.agent.push.frames import LogDamaged
from workers.agent.push.log import (
    BytesFull,
    IngestBuffer,
    LogBusy,
    LogFull,
    LogUnwritable,
    Pin,
    PutQueueFull,
    SpaceNotFree,
)
from workers.agent.push.reader import IngestBufferReader, events
from workers.agent.push.taking import IngestThread
from workers.agent.ranges.ranges import RangeLost, Slice


@dataclass(frozen=True)
class Limits:
    """Limits of a log under test; nothing is waited for."""

    capacity: int = 1000
    transaction_capacity: int = 1000
    byte_capacity: int = 1 << 20
    byte_capacity_buffer_percentage: int = 20
    keep_alive: float = 0.0

    @classmethod
    def of(cls, config: dict[str, Any]) -> Limits:
        """Out of Flume's keys."""
        names = {
            "capacity": "capacity",
            "transactionCapacity": "transaction_capacity",
            "byteCapacity": "byte_capacity",
            "byteCapacityBufferPercentage": "byte_capacity_buffer_percentage",
        }
        return cls(**{names[key]: value for key, value in config.items()})


class Bench:
    """A log in a directory, and one reader that acknowledges what it has read."""

    def __init__(self, directory: Path, limits: Limits | None = None) -> None:
        self.directory = directory
        self.limits = limits or Limits()
        self.log = IngestBuffer(directory, self.limits, durable=False)
        self.position = self.log.acknowledged

    def append(self, *appended: Event) -> None:
        self.log.append(record_batch(appended))

    def put(self, *bodies: str | None) -> None:
        self.append(*[Event(None if body is None else body.encode()) for body in bodies])

    def take(self, most: int = 1000) -> list[Event]:
        end = min(self.log.end, self.position + most)
        found = list(events(self.directory, self.position, end))
        self.position = end
        logs.acknowledge(self.directory, end)
        return found

    def bodies(self, most: int = 1000) -> list[str | None]:
        return [None if event.body is None else event.body.decode() for event in self.take(most)]

    def reopened(self, limits: Limits | None = None) -> Bench:
        self.log.close()
        return Bench(self.directory, limits or self.limits)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "log")


def numbered(count: int, first: int = 0) -> list[str]:
    return [str(number) for number in range(first, first + count)]


def full(bench: Bench, *bodies: str | None) -> str:
    """The kind of the error with which the log refuses, or nothing."""
    try:
        bench.put(*bodies)
    except LogFull:
        return "channel"
    return ""


@drives("MC-001", "MC-002")
def test_what_is_appended_is_read_as_it_was(vector: Vector, bench: Bench) -> None:
    put, *after = vector.input_events
    assert [step["op"] for step in (put, *after)] == ["put", "commit", "take"]
    event = Event(put["body"].encode(), put.get("headers", {}))
    bench.append(event)
    taken = bench.take()
    if "taken" in vector.expected:
        assert [(found.body or b"").decode() for found in taken] == vector.expected["taken"]
    else:
        assert (taken == [event]) is vector.expected["taken_equal"]


@drives("MC-003", "MC-010")
def test_a_full_log_refuses_what_is_too_much_and_keeps_the_rest(vector: Vector, tmp_path: Path) -> None:
    bench = Bench(tmp_path, Limits.of(vector.config))
    answers = [full(bench, *["x" * step.get("body_bytes", 1)] * step["n"]) for step in vector.input_events]
    assert answers == ["", vector.error]
    assert len(bench.take()) == vector.input_events[0]["n"]


@drives("MC-005")
def test_a_log_that_shrinks_below_what_it_holds_loses_nothing(vector: Vector, bench: Bench) -> None:
    held = int(vector.config["capacity"].split()[-3])
    bench.put(*numbered(held))
    reconfigured, taking = vector.input_events
    limits = {key: value for key, value in reconfigured.items() if key != "op"}
    shrunk = bench.reopened(Limits.of(limits))
    assert full(shrunk, "one more") == "channel"
    assert sum(len(shrunk.take(1)) for _ in range(taking["times"])) == vector.expected["taken"]


@drives("MC-008", "MC-009", "MC-014")
def test_room_comes_back_with_what_was_read_and_what_was_not_written(
    vector: Vector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, Limits.of(vector.config))
    for step in vector.input_events:
        given = [step["body"]] if "body" in step else numbered(step["n"])
        match step["op"]:
            case "put_commit":
                assert (full(bench, *given) == "") is vector.expected["ok"]
            case "take_commit":
                assert len(bench.take(step["n"])) == step["n"]
            case "put_rollback":
                with monkeypatch.context() as patch:
                    patch.setattr(os, "write", lambda *_: 0)
                    with pytest.raises(LogUnwritable):
                        bench.put(*given)


@drives("TX-020")
def test_an_empty_log_answers_at_once(vector: Vector, bench: Bench) -> None:
    assert vector.steps == ["begin", "take on empty"]
    assert next(iter(bench.take()), None) is vector.expected["taken"]


@drives("FC-002")
def test_two_senders_at_once_are_both_there_after_a_restart(vector: Vector, bench: Bench) -> None:
    count = int(vector.steps[0].split(" of ")[1].split(",")[0])
    ingest_buffer = IngestThread(bench.log, bench.limits.transaction_capacity)
    accepted = [ingest_buffer.submit([Event(b"x")] * count) for _ in ("one", "two")]
    ingest_buffer.start()
    assert [each.result(20) for each in accepted] == [count, count]
    assert len(bench.reopened().take()) == vector.expected["events"]


@drives("FC-003")
def test_a_log_that_is_full_gives_out_all_that_it_took_in(vector: Vector, tmp_path: Path) -> None:
    assert vector.steps == ["fill until full, reconfigure, take all"]
    bench = Bench(tmp_path, Limits(capacity=10))
    accepted: list[str] = []
    while not (error := full(bench, f"{len(accepted)}")):
        accepted.append(f"{len(accepted)}")
    assert error == vector.expected["error_when_full"]["kind"]
    assert {True: "= in"}[bench.reopened(Limits(capacity=20)).bodies() == accepted] == vector.expected["out"]


@drives("FC-007")
def test_many_senders_and_readers_get_every_event_once(vector: Vector, bench: Bench) -> None:
    producers, consumers = (int(word) for word in vector.steps[0].split() if word.isdigit())
    ingest_buffer = IngestThread(bench.log, bench.limits.transaction_capacity)
    ingest_buffer.start()
    given = [f"{n}-{m}" for n in range(producers) for m in range(20)]
    accepted = [ingest_buffer.submit([Event(body.encode()) for body in given[n::producers]]) for n in range(producers)]
    assert sum(each.result(20) for each in accepted) == len(given)
    taken: list[str] = []

    def consume(number: int) -> None:
        part = range(len(given) * number // consumers, len(given) * (number + 1) // consumers)
        taken.extend((event.body or b"").decode() for event in events(bench.directory, part.start, part.stop))

    threads = [threading.Thread(target=consume, args=(number,)) for number in range(consumers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {True: "= in"}[sorted(taken) == sorted(given)] == vector.expected["out"]


@drives("FC-009")
def test_what_was_acknowledged_is_not_read_again_after_a_restart(vector: Vector, bench: Bench) -> None:
    assert vector.steps == ["take 1, checkpoint, commit, stop, reopen"]
    bench.put(*"123")
    taken = bench.bodies(1)
    assert (taken[0] in bench.reopened().bodies()) is vector.expected["taken_event_seen_again"]


@drives("FC-010")
def test_a_flipped_byte_stops_the_log(vector: Vector, tmp_path: Path) -> None:
    events_, taking = vector.steps
    bench = Bench(tmp_path / "log")
    bench.put(*numbered(int(events_.split()[0])))
    ((_, segment),) = frames.segments(bench.directory)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    errors = {LogDamaged: "illegal_state"}
    assert (vector.config["fsyncPerTransaction"], taking) == (True, "take")
    acts: tuple[Callable[[], object], ...] = (bench.take, bench.reopened)
    for act in acts:
        with pytest.raises(LogDamaged) as raised:
            act()
        assert errors[raised.type] == vector.error


def test_a_stop_loses_nothing(bench: Bench) -> None:
    bench.put(*"12345")
    assert bench.reopened().bodies() == list("12345")


def test_three_different_errors_each_say_what_to_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Limits(capacity=3, transaction_capacity=2, byte_capacity=100))
    with pytest.raises(PutQueueFull, match="raise it"):
        bench.log.append(record_batch([Event(b"")] * 3))
    with pytest.raises(BytesFull, match="raise byte_capacity"):
        bench.put("x" * 81)
    bench.put("1", "2")
    bench.put("3")
    logs.write_pin(tmp_path, Pin("audit", "sinks.audit", "no route to host"))
    with pytest.raises(SpaceNotFree, match=r"pinned by channel audit, held by sinks.audit \(no route to host\)"):
        bench.put("4")
    assert bench.log.refused == 3


def test_space_comes_back_when_it_is_acknowledged_and_whole_segments_go(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Limits(byte_capacity=64 << 20, capacity=100, transaction_capacity=10))
    for _ in range(5):
        bench.log.append(record_batch([Event(b"x" * 2_000_000)] * 2))
    assert bench.log.fill() == (10, 20_000_000)
    logs.acknowledge(tmp_path, 7)
    assert bench.log.fill() == (3, 8_000_000)  # a transaction's bytes come back with its last event
    assert logs.first(tmp_path) == 4
    assert len(list(events(tmp_path, 7, 10))) == 3
    with pytest.raises(RangeLost):
        list(events(tmp_path, 3, 10))
    skipping = IngestBufferReader(f'{{"directory": "{tmp_path}", "topic": "t", "may_skip": true}}')
    assert sum(batch.num_rows for batch in skipping.batches(Slice(TopicPartition("t", 0), 0, 10))) == 6


def test_a_second_writer_is_kept_away(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(LogBusy):
        Bench(tmp_path)
    bench.log.close()
    assert Bench(tmp_path).log.end == 0


def test_a_log_that_was_lost_goes_on_behind_where_it_ended(tmp_path: Path) -> None:
    first = IngestBuffer(tmp_path / "one", Limits(), durable=False, extent=tmp_path / "extent")
    first.append(record_batch([Event(b"x")] * 5), key="batch 1")
    first.close()
    assert IngestBuffer(tmp_path / "one", Limits(), durable=False, extent=tmp_path / "extent").last_key == "batch 1"
    again = IngestBuffer(tmp_path / "two", Limits(), durable=True, extent=tmp_path / "extent")
    assert (again.end, logs.first(tmp_path / "two")) == (5, 5)
