"""A channel whose agent dies, twice, at every point of a batch, also with what its disk had not synced.

Nothing is missing, every batch begins where the last one ended, dead letters are kept, the sink holds exactly as many
copies as were announced, and the ledger and the checkpoint never need a person to agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.ledger.journal import DeadLetters, Done, Planned
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, Store
from tests.counts import is_balanced
from workers import crash_points
from workers.agent.positions.checkpoint import Checkpoint
from workers.agent.positions.guard import Head, compare

OFFERED, HALFWAY, COMMITTED = "Spark alone has planned it", "half of it is written", "Spark has committed it"
WITHIN = [f"agent.{name}" for name in ("offered", "planned", "writing", "delivered", "dead_letters", "done")]
POINTS = ["agent.resolved", OFFERED, *WITHIN, HALFWAY, COMMITTED]
SIZE, BATCHES = 4, 4
BAD = {1, 6, 7, 13}


class Died(BaseException):
    """The process is gone; nothing of it handles this."""


class Installation:
    """What outlives an agent: sink, dead letters, checkpoint, and the ledger that is taken from its journals."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.disk, self.checkpoint = Disk(directory, monkeypatch), Checkpoint(directory / "checkpoint")
        self.sink, self.dead_letters = Store(), DeadLetterStore()
        self.sink.bad, self.sink.failure, self.sink.asked = BAD, Died(), self.written
        self.due, self.left = "", 0
        monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
        monkeypatch.setattr(crash_points, "reach", self.reach)

    def reach(self, point: str) -> None:
        """Die here, if it is time."""
        if point == self.due:
            self.left -= 1
            if not self.left:
                raise Died

    def written(self) -> None:
        """A write has begun."""
        try:
            self.reach(HALFWAY)
        except Died:
            self.sink.failing = 1

    def head(self) -> Head:
        """Where the ledger stands."""
        positions, done, planned = {KEY: 0}, None, None
        for entry in self.disk.entries():
            if isinstance(entry, Planned):
                planned = entry
            elif isinstance(entry, Done):
                positions.update({item.key: item.end for item in entry.ranges})
                done, planned = entry.batch, None
        return Head("sources.shop", positions, done, planned)

    def dies(self, point: str, *, time: int, power: bool) -> bool:
        """Whether an agent came to its death there; `power`: the host goes on without it."""
        self.due, self.left = point, time
        try:
            self.run()
        except Died:
            if not power:
                self.disk.lose_power()
            return True
        finally:
            self.due = ""
        return False

    def run(self) -> None:
        """One agent, until everything is delivered."""
        head = self.head()
        state = self.checkpoint.state(head.done, head.plan)
        assert compare(head, state) == []
        bench = Bench(self.disk.journal(), self.checkpoint.path, [self.sink], self.dead_letters)
        bench.ledger.continue_from(head.positions, head.done_batch)
        if head.planned is not None:
            bench.ledger.resolve(head.planned)
        for number in range(0 if state.committed is None else state.committed + 1, BATCHES):
            self._batch(bench, number)

    def _batch(self, bench: Bench, number: int) -> None:
        end = (number + 1) * SIZE
        bench.plan(number, end)
        self.reach(OFFERED)
        bench.run(number, end)
        bench.commit(number)
        self.reach(COMMITTED)


def check(installation: Installation) -> None:
    """Read everything back."""
    done = installation.disk.of_kind(Done)
    ranges = [(item.start, item.end) for each in done for item in each.ranges]
    assert ranges == [(number * SIZE, (number + 1) * SIZE) for number in range(BATCHES)]
    assert all(is_balanced(each.counts) for each in done)
    records = installation.sink.records
    assert set(records) == set(range(SIZE * BATCHES)) - BAD
    assert len(records) - len(set(records)) == sum(each.duplicates_max for each in done)
    listed = [
        dead_letter.offset for each in installation.disk.of_kind(DeadLetters) for dead_letter in each.dead_letters
    ]
    assert (set(listed), set(installation.dead_letters.kept)) == (BAD, BAD)
    assert sum(each.counts.dead_lettered for each in done) == len(BAD)


@pytest.mark.parametrize("power", [True, False], ids=["killed", "power lost"])
@pytest.mark.parametrize("first", POINTS[1:])
def test_a_channel_that_dies_anywhere_loses_nothing_and_doubles_what_it_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, power: bool
) -> None:
    for number, second in enumerate(POINTS):
        (tmp_path / str(number)).mkdir()
        installation = Installation(tmp_path / str(number), monkeypatch)
        assert installation.dies(first, time=2, power=power)
        opened = installation.head().planned is not None
        assert installation.dies(second, time=1, power=power) or (second == "agent.resolved" and not opened)
        installation.run()
        check(installation)
