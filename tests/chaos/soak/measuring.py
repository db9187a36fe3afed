"""What the observer measures itself: processes, files and logs of brokers. Nothing of the product is asked."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from controlplane.devstack.records import is_noise, number_of
from tests.chaos.soak.truth import Agent

_MODULES = {"workers.keeper": "keeper", "workers.agent": "driver"}
_ASK_WITHIN = 2.0
_READ_WITHIN = 8.0
_AT_A_TIME, _CONSUME_WITHIN = 5000, 0.1
_SILENT = {"log_level": 0, "socket.timeout.ms": 3000}


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it."""

    pid: int
    state: str
    parent: int
    session: int
    arguments: tuple[str, ...]

    @property
    def halted(self) -> bool:
        """Whether a signal or a debugger has stopped it."""
        return self.state in {"T", "t"}


def processes() -> dict[int, Process]:
    """Everything that lives, by pid."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := _process(int(entry.name))) is not None:
            found[process.pid] = process
    return found


def _process(pid: int) -> Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    words = tuple(each.decode(errors="replace") for each in arguments if each)
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), words)


@dataclass
class Group:
    """The processes of one run, by their part; all of them in `members`."""

    run: Path
    keeper: list[Process] = field(default_factory=list)
    driver: list[Process] = field(default_factory=list)
    jvm: list[Process] = field(default_factory=list)
    members: list[Process] = field(default_factory=list)

    def agent(self) -> Agent:
        """What is judged of them."""
        complete = bool(self.keeper and self.driver and self.jvm)
        name = f"{self.run.parent.name}/{self.run.name}"
        return Agent(name, bool(self.driver), complete, any(each.halted for each in self.members))


def groups(runs: Path, found: dict[int, Process]) -> list[Group]:
    """The runs below a directory that have a living keeper or driver, which name it among their arguments. A JVM is a
    child of a driver."""
    made: dict[Path, Group] = {}
    for process in found.values():
        part, run = _part(process.arguments, runs)
        if part:
            group = made.setdefault(run, Group(run))
            getattr(group, part).append(process)
            group.members.append(process)
    for group in made.values():
        ours = {each.pid for each in group.members}
        for process in _children(found, ours):
            group.members.append(process)
            if process.arguments and Path(process.arguments[0]).name == "java":
                group.jvm.append(process)
    return list(made.values())


def _part(arguments: tuple[str, ...], runs: Path) -> tuple[str, Path]:
    part = next((_MODULES[each] for each in arguments if each in _MODULES), "")
    run = next((Path(each) for each in arguments if each.startswith(f"{runs}/")), None)
    return (part, run) if part and run else ("", runs)


def _children(found: dict[int, Process], parents: set[int]) -> Iterator[Process]:
    known = set(parents)
    while more := [each for each in found.values() if each.parent in known and each.pid not in known]:
        known |= {each.pid for each in more}
        yield from more


@dataclass
class Files:
    """Whether the files of living runs are whole."""

    sizes: dict[Path, int] = field(default_factory=dict)

    def whole(self, run: Path) -> bool:
        """A journal only grows, and its directory stays. A run that has written none yet is whole."""
        journal = run / "journal.jsonl"
        try:
            size = journal.stat().st_size
        except OSError:
            return run.is_dir() and journal not in self.sizes
        known = self.sizes.get(journal, 0)
        self.sizes[journal] = max(known, size)
        return size >= known


def service_lives(state: Path, name: str, found: dict[int, Process]) -> bool:
    """Whether the process that the stack has recorded lives and is not halted."""
    try:
        pid = int(json.loads((state / "up" / f"{name}.json").read_bytes())["pid"])
    except (OSError, ValueError, KeyError):
        return False
    process = found.get(pid)
    return process is not None and not process.halted


def can_be_written(database: Path) -> bool:
    """Whether a transaction can be begun now."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=0.2)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return True
    return False


def answers(servers: str) -> bool:
    """Whether a broker can be reached at an address."""
    try:
        return bool(AdminClient({"bootstrap.servers": servers, **_SILENT}).list_topics(timeout=_ASK_WITHIN).brokers)
    except KafkaException:
        return False


class Unreadable(Exception):
    """The broker does not answer, so that nothing can be said of its topics."""


class Topic:
    """Every number of a topic, read as it grows. Raises Unreadable."""

    def __init__(self, servers: str, name: str) -> None:
        self.name = name
        self._servers = servers
        self._consumer = self._client()
        self.positions: dict[int, int] = {}
        self._assigned: set[int] = set()
        self.numbers: dict[int, array[int]] = defaultdict(lambda: array("q"))
        """By partition; -1 where a record is none that must arrive. Index 0 is offset 0."""
        self.counts: dict[int, int] = defaultdict(int)
        """How often each number was read."""
        self.foreign = 0
        self.records = 0

    def _client(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "headgate.soak",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": 20_000_000,
                **_SILENT,
            }
        )

    def _begin_anew(self) -> None:
        """After a broker was away too long, a client goes on asking with the leader epoch from before, for ever."""
        self._consumer.close()
        self._consumer, self._assigned = self._client(), set()

    @property
    def doubled(self) -> int:
        """Records that are there too often."""
        return self.records - self.foreign - len(self.counts)

    def read_on(self) -> int:
        """Read to the present end; returns the number of records that are in the topic."""
        ends = self.ends()
        if set(ends) != self._assigned:
            self._assign(set(ends))
        deadline = time.monotonic() + _READ_WITHIN
        while any(self.positions[partition] < end for partition, end in ends.items()):
            if time.monotonic() > deadline:
                self._begin_anew()
                raise Unreadable(f"{self.name} was not read to its end")
            for message in self._consumer.consume(_AT_A_TIME, timeout=_CONSUME_WITHIN):
                self._take(message)
            self._go_on()
        return self.records

    def _assign(self, partitions: set[int]) -> None:
        """Read on from where each was left."""
        self.positions = {partition: self.positions.get(partition, 0) for partition in partitions}
        self._consumer.assign([TopicPartition(self.name, *place) for place in self.positions.items()])
        self._assigned = partitions

    def _go_on(self) -> None:
        """Beyond offsets that hold no record, too."""
        for place in self._consumer.position([TopicPartition(self.name, number) for number in self.positions]):
            self.positions[place.partition] = max(self.positions[place.partition], place.offset)

    def ends(self) -> dict[int, int]:
        try:
            known = self._consumer.list_topics(self.name, timeout=_ASK_WITHIN).topics[self.name].partitions
            places = [TopicPartition(self.name, number) for number in known]
            return {
                place.partition: self._consumer.get_watermark_offsets(place, timeout=_ASK_WITHIN)[1] for place in places
            }
        except KafkaException as error:
            self._begin_anew()
            raise Unreadable(str(error)) from error

    def _take(self, message: Any) -> None:
        if message.error() is not None:
            return  # the broker went away; the deadline ends the reading
        partition, offset = message.partition(), message.offset()
        number = number_in(message.value() or b"")
        numbers = self.numbers[partition]
        numbers.extend([-1] * (offset - len(numbers)))  # offsets without a record
        numbers.append(number)
        self.positions[partition] = offset + 1
        self.records += 1
        if number < 0:
            self.foreign += 1
        else:
            self.counts[number] += 1

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()


def number_in(body: bytes) -> int:
    """The number of a record that must arrive in the sink; -1 for any other."""
    try:
        number = number_of(body)
    except ValueError:
        return -1
    return -1 if is_noise(number) else number


@dataclass
class Arrival:
    """Which records below a position the sink does not have: each is looked up once, and again while it is missing."""

    upto: dict[int, int] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)

    def lost(self, source: Topic, sink: Topic, positions: dict[int, int]) -> int:
        """How many are missing now. A position that goes back changes nothing."""
        for partition, position in positions.items():
            numbers = source.numbers[partition]
            first, last = self.upto.get(partition, 0), min(position, len(numbers))
            self.missing |= {number for number in numbers[first:last] if number >= 0 and number not in sink.counts}
            self.upto[partition] = max(first, last)
        self.missing -= sink.counts.keys()
        return len(self.missing)


def committed(servers: str, group: str, topic: str) -> int | None:
    """The sum of a group's committed offsets; None where nothing is known."""
    client = AdminClient({"bootstrap.servers": servers, **_SILENT})
    try:
        asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=_ASK_WITHIN)
        found = asked[group].result(_ASK_WITHIN + 1)
    except (KafkaException, TimeoutError):
        return None
    offsets = [each.offset for each in found.topic_partitions if each.topic == topic and each.offset >= 0]
    return sum(offsets) if offsets else None


def free_bytes(path: Path) -> int:
    """Room that is left on the disk of a path."""
    try:
        found = os.statvfs(path)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
