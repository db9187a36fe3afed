"""The intake log keeps Flume's channel contract, and every committed event through a crash at any byte."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.intake import Limits as LimitsSpec
from tests.vectors import Vector, applicable
from workers.agent.intake import frames
from workers.agent.intake import log as logs
from workers.agent.intake.event import Event, record_batch
from workers.agent.intake.frames import LogDamaged
from workers.agent.intake.log import BytesFull, IntakeLog, LogBusy, LogFull, Pin, PutQueueFull, SpaceNotFree
from workers.agent.intake.reader import IntakeReader, events
from workers.agent.intake.transaction import Channel, State, TransactionMisused
from workers.agent.ranges import RangeLost, Slice

FAMILIES = ("channel.memory", "channel.transaction_semantics", "channel.utils", "channel.file")
VECTORS = {vector.id: vector for family in FAMILIES for vector in applicable(family)}


@dataclass(frozen=True)
class Limits:
    """Limits of a log under test; nothing is waited for."""

    capacity: int = 1000
    transaction_capacity: int = 1000
    byte_capacity: int = 1 << 20
    byte_capacity_buffer_percentage: int = 20
    keep_alive: float = 0.0


@dataclass
class Bench:
    """A channel over a log in a directory of its own."""

    directory: Path
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        self.log = IntakeLog(self.directory, self.limits, durable=False)
        self.channel = Channel(self.log, self.limits.transaction_capacity)

    def put(self, *bodies: str | None, **headers: str | None) -> None:
        with self.channel.transaction() as transaction:
            for body in bodies:
                transaction.put(Event(None if body is None else body.encode(), headers))

    def take(self, most: int = 1000) -> list[Event]:
        found: list[Event] = []
        with self.channel.transaction() as transaction:
            while (
                len(found) < min(most, self.limits.transaction_capacity) and (event := transaction.take()) is not None
            ):
                found.append(event)
        return found

    def reopened(self, **limits: Any) -> Bench:
        self.log.close()
        return Bench(self.directory, Limits(**{**self.limits.__dict__, **limits}))


def bodies(found: list[Event]) -> list[str | None]:
    return [None if event.body is None else event.body.decode() for event in found]


def put_and_take(bench: Bench) -> None:
    bench.put("test event")
    assert bodies(bench.take()) == ["test event"]


def null_headers_stay(bench: Bench) -> None:
    bench.put("test body", test_key=None)
    assert dict(bench.take()[0].headers) == {"test_key": None}


def too_many_are_refused_at_commit(bench: Bench) -> None:
    bench = bench.reopened(capacity=5, transaction_capacity=5)
    bench.put(*"12345")
    transaction = bench.channel.transaction()
    transaction.begin()
    transaction.put(Event(b"6"))
    with pytest.raises(SpaceNotFree):
        transaction.commit()
    transaction.rollback()
    transaction.close()
    assert bodies(bench.take()) == list("12345")


def shrinking_loses_nothing(bench: Bench) -> None:
    bench.put(*"123456")
    shrunk = bench.reopened(capacity=2, transaction_capacity=2)
    assert [body for _ in range(6) for body in bodies(shrunk.take(1))] == list("123456")


def taking_makes_room(bench: Bench) -> None:
    bench = bench.reopened(capacity=3, transaction_capacity=3)
    bench.put(*"123")
    assert len(bench.take(2)) == 2
    bench.put(*"45")
    assert bodies(bench.take()) == list("345")


def rollback_makes_room(bench: Bench) -> None:
    bench = bench.reopened(capacity=3, transaction_capacity=3)
    transaction = bench.channel.transaction()
    transaction.begin()
    for body in (b"1", b"2", b"3"):
        transaction.put(Event(body))
    transaction.rollback()
    transaction.close()
    bench.put(*"123")
    assert bodies(bench.take()) == list("123")


def bytes_are_limited(bench: Bench) -> None:
    config, (first, second) = VECTORS["MC-010"].config, VECTORS["MC-010"].input_events
    bench = bench.reopened(
        byte_capacity=config["byteCapacity"], byte_capacity_buffer_percentage=config["byteCapacityBufferPercentage"]
    )
    bench.put(*["x" * first["body_bytes"]] * first["n"])
    with pytest.raises(BytesFull):
        bench.put(*["x" * second["body_bytes"]] * second["n"])


def empty_bodies_are_events(bench: Bench) -> None:
    bench.put(None)
    bench.put("")
    assert bodies(bench.take()) == [None, ""]


def wrong_numbers_are_refused(_: Bench) -> None:
    with pytest.raises(ValueError, match="capacity"):
        LimitsSpec(capacity=-3, transaction_capacity=-1)


def transactions_fit_the_capacity(_: Bench) -> None:
    with pytest.raises(ValueError, match=r"transaction_capacity \(11\) is higher than capacity \(10\)"):
        LimitsSpec(capacity=10, transaction_capacity=11)


def takes_are_limited(bench: Bench) -> None:
    bench.put(*"12345")
    bench = bench.reopened(transaction_capacity=2)
    transaction = bench.channel.transaction()
    transaction.begin()
    assert bodies([e for e in (transaction.take(), transaction.take()) if e]) == ["1", "2"]
    with pytest.raises(PutQueueFull):
        transaction.take()


def a_stop_loses_nothing(bench: Bench) -> None:
    bench.put(*"12345")
    assert bodies(bench.reopened().take()) == list("12345")


def misuse(*calls: str, others: bool = False) -> Callable[[Bench], None]:
    """The last call is refused; `others`: it is made by another thread."""

    def check(bench: Bench) -> None:
        transaction = bench.channel.transaction()
        actions: dict[str, Callable[[], Any]] = {
            "begin": transaction.begin, "put": lambda: transaction.put(Event(b"x")), "take": transaction.take,
            "commit": transaction.commit, "rollback": transaction.rollback, "close": transaction.close,
        }  # fmt: skip
        for call in calls[:-1]:
            actions[call]()
        if others:
            errors: list[BaseException] = []
            thread = threading.Thread(target=_collect, args=(actions[calls[-1]], errors))
            thread.start()
            thread.join()
            assert isinstance(errors[0], TransactionMisused)
        else:
            with pytest.raises(TransactionMisused):
                actions[calls[-1]]()

    return check


def _collect(action: Callable[[], Any], errors: list[BaseException]) -> None:
    try:
        action()
    except BaseException as error:
        errors.append(error)


def nothing_is_no_event(bench: Bench) -> None:
    transaction = bench.channel.transaction()
    transaction.begin()
    with pytest.raises(TypeError):
        transaction.put(None)  # type: ignore[arg-type]
    transaction.put(Event(b"x"))
    transaction.commit()
    assert len(events_of(bench)) == 1


def empty_channels_answer_at_once(bench: Bench) -> None:
    assert bench.take() == []


def closed_even_when_close_raised(bench: Bench) -> None:
    transaction = bench.channel.transaction()
    transaction.begin()
    for _ in range(2):
        with pytest.raises(TransactionMisused):
            transaction.close()
    assert transaction.state is State.CLOSED


def close_after_a_failed_commit(bench: Bench) -> None:
    bench = bench.reopened(capacity=1, transaction_capacity=2)
    transaction = bench.channel.transaction()
    transaction.begin()
    transaction.put(Event(b"1"))
    transaction.put(Event(b"2"))
    with pytest.raises(LogFull):
        transaction.commit()
    with pytest.raises(TransactionMisused):
        transaction.close()


def helper_commits_and_closes(bench: Bench) -> None:
    with bench.channel.transaction() as transaction:
        transaction.put(Event(b"1"))
    assert transaction.state is State.CLOSED
    assert bodies(events_of(bench)) == ["1"]


def helper_commits_an_empty_take(bench: Bench) -> None:
    with bench.channel.transaction() as transaction:
        assert transaction.take() is None
    assert transaction.state is State.CLOSED


def two_open_transactions_survive(bench: Bench) -> None:
    def put_three() -> None:
        bench.put("1", "2", "3")

    threads = [threading.Thread(target=put_three) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bench.reopened().take()) == 6


def full_is_an_error_and_out_is_in(bench: Bench) -> None:
    bench = bench.reopened(capacity=10)
    for number in range(10):
        bench.put(str(number))
    with pytest.raises(SpaceNotFree, match="holds 10 of 10 events"):
        bench.put("10")
    assert bodies(bench.reopened().take()) == [str(number) for number in range(10)]


def ten_threads_each(bench: Bench) -> None:
    taken: list[str | None] = []
    done = threading.Event()

    def consume() -> None:
        while not done.is_set() or bench.log.fill()[0]:
            taken.extend(bodies(bench.take(7)))

    producers = [threading.Thread(target=lambda n=n: bench.put(*[f"{n}-{m}" for m in range(20)])) for n in range(10)]
    consumers = [threading.Thread(target=consume) for _ in range(10)]
    for thread in (*producers, *consumers):
        thread.start()
    for thread in producers:
        thread.join()
    done.set()
    for thread in consumers:
        thread.join()
    assert sorted(map(str, taken)) == sorted(f"{n}-{m}" for n in range(10) for m in range(20))


def taken_is_not_seen_again(bench: Bench) -> None:
    bench.put(*"123")
    assert bodies(bench.take(1)) == ["1"]
    assert bodies(bench.reopened().take()) == ["2", "3"]


def a_flipped_byte_stops_the_channel(bench: Bench) -> None:
    bench.put(*[str(number) for number in range(100)])
    ((_, segment),) = frames.segments(bench.directory)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    with pytest.raises(LogDamaged):
        bench.take()
    bench.log.close()
    with pytest.raises(LogDamaged):
        Bench(bench.directory)


CHECKS: dict[str, Callable[[Bench], None]] = {
    "MC-001": put_and_take, "MC-002": null_headers_stay, "MC-003": too_many_are_refused_at_commit,
    "MC-005": shrinking_loses_nothing, "MC-008": taking_makes_room, "MC-009": rollback_makes_room,
    "MC-010": bytes_are_limited, "MC-014": empty_bodies_are_events, "MC-015": wrong_numbers_are_refused,
    "MC-016": transactions_fit_the_capacity, "MC-017": takes_are_limited, "MC-018": a_stop_loses_nothing,
    "MT-004": misuse("begin", "begin"), "TX-006": misuse("begin", "begin"), "TX-009": misuse("begin", others=True),
    "TX-012": misuse("put"), "TX-013": nothing_is_no_event, "TX-014": misuse("begin", "commit", "put"),
    "TX-019": misuse("take"), "TX-020": empty_channels_answer_at_once, "TX-023": misuse("begin", "rollback", "take"),
    "TX-025": misuse("begin", "commit", "commit"), "TX-026": misuse("begin", "rollback", "commit"),
    "TX-028": misuse("begin", "rollback", "rollback"), "TX-032": closed_even_when_close_raised,
    "TX-034": close_after_a_failed_commit, "CU-001": helper_commits_and_closes,
    "CU-002": helper_commits_an_empty_take, "FC-002": two_open_transactions_survive,
    "FC-003": full_is_an_error_and_out_is_in, "FC-007": ten_threads_each, "FC-009": taken_is_not_seen_again,
    "FC-010": a_flipped_byte_stops_the_channel,
}  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS.values(), ids=str)
def test_the_log_does_what_the_channel_of_flume_does(vector: Vector, tmp_path: Path) -> None:
    CHECKS[vector.id](Bench(tmp_path / "log"))


def events_of(bench: Bench) -> list[Event]:
    return list(events(bench.directory, logs.first(bench.directory), bench.log.end))


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
    skipping = IntakeReader(f'{{"directory": "{tmp_path}", "topic": "t", "may_skip": true}}')
    assert sum(batch.num_rows for batch in skipping.batches(Slice(("t", 0), 0, 10))) == 6


def test_a_second_writer_is_kept_away(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(LogBusy):
        Bench(tmp_path)
    bench.log.close()
    assert Bench(tmp_path).log.end == 0


def test_a_log_that_was_lost_goes_on_behind_where_it_ended(tmp_path: Path) -> None:
    first = IntakeLog(tmp_path / "one", Limits(), durable=False, extent=tmp_path / "extent")
    first.append(record_batch([Event(b"x")] * 5), key="batch 1")
    first.close()
    assert IntakeLog(tmp_path / "one", Limits(), durable=False, extent=tmp_path / "extent").last_key == "batch 1"
    again = IntakeLog(tmp_path / "two", Limits(), durable=True, extent=tmp_path / "extent")
    assert (again.end, logs.first(tmp_path / "two")) == (5, 5)
