"""A channel whose sinks tell what they have: agents die, attempts fail, records come late, sinks keep quiet.

Nothing is missing. Where every sink can be asked, the sinks hold as many copies as were announced, and only records
that came later than the look are among them. Where one cannot, no more copies than were announced.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from pipelines.domain.ledger.journal import Done, Planned, SinkFailed, SourceFailed
from pipelines.domain.ledger.ledger import Counts
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, InTurn, Store, offsets_of
from workers import crash_points
from workers.agent.delivery.deduplication import Policy
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Look, Resolution, Unverifiable
from workers.agent.positions.checkpoint import Checkpoint, Offsets
from workers.agent.positions.guard import Head
from workers.agent.positions.held import BITS, Copies, Held, joined
from workers.agent.run_dir.journal_writer import Journal

SIZE, BATCHES = 6, 3
POINTS = [f"agent.{name}" for name in ("planned", "looking", "resolved", "writing", "written", "delivered", "done")]


class Died(BaseException):
    """The process is gone; nothing of it handles this."""


@dataclass(frozen=True)
class Writing:
    """What becomes of one attempt. `sent`: records that it has given to the producer, or None where it succeeds;
    `early` and `late`: of the last of them, so many arrive when the attempt is over, and after that; `dies`: so ends
    the whole agent."""

    sent: int | None = None
    early: int = 0
    late: int = 0
    dies: bool = False


FAILED = st.builds(
    Writing, sent=st.integers(0, SIZE), early=st.integers(0, 2), late=st.integers(0, 2), dies=st.booleans()
)
LOOKS = st.sampled_from(["answers", "answers", "is away", "is away for long", "cannot know", "dies"])


@dataclass
class World:
    """What is going to happen, and what has come of it."""

    writes: list[Writing] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    due: tuple[str, int] = ("", 0)
    early: list[tuple[Topic, int]] = field(default_factory=list)
    late: list[tuple[Topic, int]] = field(default_factory=list)
    came_late: int = 0
    unknown: bool = False
    now: float = 1000.0

    def reach(self, point: str) -> None:
        name, left = self.due
        if point == name:
            self.due = name, left - 1
            if left == 1:
                raise Died

    def wait(self, seconds: float) -> None:
        """What is on the wire arrives while somebody waits."""
        self.now += seconds
        self._arrive(self.early)

    def a_write_begins(self) -> None:
        self._arrive(self.early)
        self.came_late += self._arrive(self.late)

    def _arrive(self, records: list[tuple[Topic, int]]) -> int:
        count = len(records)
        while records:
            sink, offset = records.pop(0)
            sink.records.append(offset)
        return count


class Topic(Store):
    """A sink that can be read."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world

    def write(self, attempt: Attempt) -> Counts:
        self.world.a_write_begins()
        passed: Any = attempt.in_columns(())
        offsets = offsets_of(attempt.planned)
        wanted = [offset for offset in offsets if offset not in passed.held]
        happens = self.world.writes.pop(0) if self.world.writes else Writing()
        if happens.sent is not None:
            self._fail(wanted[: happens.sent], happens)
        self.records += wanted
        passed.counted.seen = {"read": len(offsets), "delivered": len(wanted), "held": len(offsets) - len(wanted)}
        counts = attempt.counts
        self.world.reach("agent.written")
        return counts

    def _fail(self, sent: list[int], happens: Writing) -> None:
        """An idempotent producer leaves a prefix of what it was given; the rest of it may still come, in order."""
        arrived = max(0, len(sent) - happens.early - happens.late)
        self.records += sent[:arrived]
        early = sent[arrived : len(sent) - happens.late] if happens.late else sent[arrived:]
        self.world.early += [(self, offset) for offset in early]
        self.world.late += [(self, offset) for offset in sent[arrived + len(early) :]]
        raise Died if happens.dies else ConnectionError("away")

    def look(self, planned: Planned, spark: Any, since: Offsets | None, told: Any) -> Look:
        self.world.reach("agent.looking")
        answer = self.world.looks.pop(0) if self.world.looks else "answers"
        if answer == "dies":
            raise Died
        if answer == "cannot know":
            self.world.unknown = True
            raise Unverifiable("records were deleted")
        if answer != "answers":
            self.world.now += 100 if answer == "is away for long" else 0
            self.world.unknown |= answer == "is away for long"
            raise ConnectionError("away")
        (noted,) = planned.ends_of(self.place.name)
        start = since[KEY] if since else noted.offset
        told(0, len(self.records) - start)
        of_batch = set(offsets_of(planned))
        return Look(holding([n for n in self.records[start:] if n in of_batch]), {KEY: len(self.records)})

    def resolve(self, planned: Planned) -> Resolution:
        raise AssertionError("a sink that deduplicates is read, not asked")


def holding(offsets: list[int]) -> Held:
    bitmap = bytearray(BITS // 8)
    for offset in offsets:
        bitmap[offset // 8] |= 1 << offset % 8
    return joined([(Copies(KEY, 0), 0, bytes(bitmap))], len(offsets))


class Classified:
    """As much of a classification as a write asks for."""

    own: tuple[str, ...] = ()

    def __init__(self, held: Held | None) -> None:
        bits = held.offsets.get(Copies(KEY, 0)) if held else None
        self.held = {n for n in range(8 * len(bits.data)) if bits.data[n // 8] >> n % 8 & 1} if bits else set()

    def all_in(self, frame: Any, counted: Any, columns: Any) -> Any:
        return SimpleNamespace(held=self.held, counted=counted)

    def dead(self, frame: Any) -> None:
        """None are."""


CLASSIFIER: Any = SimpleNamespace(classification=lambda _frame, _sink, _refused, held=None: Classified(held))


class Deliveries(RuleBasedStateMachine):
    """One channel with `members` sinks. Each rule is the life of one agent; the last one has nothing to fear."""

    members = 1

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.directory = tempfile.TemporaryDirectory()
        self.world = World()
        path = Path(self.directory.name)
        self.disk, self.checkpoint = Disk(path, self.patch), Checkpoint(path / "checkpoint")
        self.sinks = [Topic(self.world, f"s{number}") for number in range(self.members)]
        self.patch.setattr("workers.agent.graph.batch.Observation", SimpleNamespace)
        self.patch.setattr("workers.agent.graph.batch._values", lambda counted: counted.seen)
        clock = SimpleNamespace(monotonic=lambda: self.world.now, time=lambda: self.world.now)
        self.patch.setattr("workers.agent.delivery.deduplication.time", clock)
        self.patch.setattr("workers.agent.delivery.ledger.time", clock)
        self.patch.setattr(crash_points, "reach", self.world.reach)

    @rule(
        writes=st.lists(FAILED, max_size=4),
        looks=st.lists(LOOKS, max_size=5),
        due=st.tuples(st.sampled_from(["", *POINTS]), st.integers(1, 4)),
    )
    def an_agent_lives(self, writes: list[Writing], looks: list[str], due: tuple[str, int]) -> None:
        self.world.writes, self.world.looks, self.world.due = list(writes), list(looks), due
        with suppress(Died):
            self.run()

    def run(self) -> None:
        """One agent, until everything is delivered."""
        head = self.head()
        with closing(self.disk.journal()) as journal:
            self.live(head, journal)

    def live(self, head: Head, journal: Journal) -> None:
        names = [sink.place.name for sink in self.sinks]
        processor = InTurn(*names) if self.members > 1 else None
        bench = Bench(
            journal,
            self.checkpoint.path,
            self.sinks,
            DeadLetterStore(),
            processor,
            CLASSIFIER,
            deduplicates=Policy(30.0),
        )
        bench.gate.hold = self.world.wait  # type: ignore[method-assign]
        bench.ledger.continue_from(head.positions, head.done_batch)
        if head.planned is not None:
            bench.ledger.resolve(head.planned)
        for number in range(0 if head.done_batch is None else head.done_batch + 1, BATCHES):
            bench.run(number, (number + 1) * SIZE)

    def head(self) -> Head:
        """Where the ledger stands."""
        positions, done = {KEY: 0}, None
        planned: Planned | None = None
        for entry in self.disk.entries():
            if isinstance(entry, Planned):
                planned = entry.attempted()
            elif isinstance(entry, SinkFailed | SourceFailed) and planned:
                planned = planned.attempted()
            elif isinstance(entry, Done):
                positions.update({item.key: item.end for item in entry.ranges})
                done, planned = entry.batch, None
        return Head("sources.shop", positions, done, planned)

    def teardown(self) -> None:
        self.world.writes, self.world.looks, self.world.due = [], [], ("", 0)
        try:
            self.run()
            self.check()
        finally:
            self.patch.undo()
            self.directory.cleanup()

    def check(self) -> None:
        records = Counter(offset for sink in self.sinks for offset in sink.records)
        doubled = records.total() - len(records)
        announced = sum(done.duplicates_max for done in self.disk.of_kind(Done))
        assert set(records) == set(range(SIZE * BATCHES))
        assert not self.world.early
        if self.world.unknown:
            assert doubled <= announced
        else:
            assert doubled == announced <= self.world.came_late


class Groups(Deliveries):
    members = 2


@pytest.mark.parametrize("machine", [Deliveries, Groups], ids=["one sink", "a group"])
def test_each_record_is_there_once_but_for_those_that_came_late(machine: type[Deliveries]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=6, deadline=None))


def test_the_bound_of_a_silent_member_counts_the_attempts_of_all_runs() -> None:
    """The first run leaves five records with the first member, the second one two more, and nobody can ask it."""
    group = Groups()
    lost = Writing(sent=6, late=1)
    group.an_agent_lives(writes=[lost], looks=["answers"], due=("agent.writing", 2))
    group.an_agent_lives(writes=[Writing(sent=2)], looks=["cannot know"], due=("", 1))
    group.teardown()
