"""A sink that is away is known before the write to it fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.batch_bench import Bench, Stage
from workers.agent.delivery.delivery import Writing
from workers.agent.watching.sink_watch import SinkWatch


class Watched:
    """A channel whose sink answers or does not, with a clock that only the test moves."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.away, self.asked = 1000.0, False, 0
        self.bench: Bench = stage.bench()
        self.ledger = self.bench.ledger
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now)
        for module in ("sink_watch", "absence"):
            monkeypatch.setattr(f"workers.agent.watching.{module}.time", clock)
        stage.sink.reach = self.reach  # type: ignore[method-assign]
        self.watch = SinkWatch(self.ledger)

    def reach(self) -> None:
        self.asked += 1
        if self.away:
            raise ConnectionError("away")

    def write(self) -> None:
        deadline = SimpleNamespace(expire=lambda: None)
        self.bench.group.writing = Writing("lake", self.now, deadline)  # type: ignore[arg-type]

    def look(self, after: float = 1.0) -> str:
        self.now += after
        self.watch.check()
        return self.ledger.holdings[0].component if self.ledger.holdings else ""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(Stage(tmp_path, monkeypatch), monkeypatch)


def test_a_sink_is_asked_only_while_a_write_is_slow(watched: Watched) -> None:
    watched.away = True
    assert (watched.look(), watched.asked) == ("", 0)
    watched.write()
    assert (watched.look(0.9), watched.asked) == ("", 0)
    assert (watched.look(0.2), watched.asked) == ("", 1)


def test_it_is_away_after_two_looks_that_fail_and_back_after_one_that_does_not(watched: Watched) -> None:
    changes: list[int] = []
    watched.ledger.on_change = lambda: changes.append(1)
    watched.away = True
    watched.write()
    watched.look(3.0)
    assert watched.look() == watched.look() == "sinks.lake"
    assert (len(changes), watched.ledger.status(1, in_flight=True, holding=None).holding) == (
        1,
        watched.ledger.sink_away,
    )
    assert watched.ledger.sink_away is not None
    assert watched.ledger.sink_away.since == 1003.0, "since the first look that failed"
    watched.away = False
    assert watched.look() == ""


def test_the_end_of_the_write_ends_the_suspicion(watched: Watched) -> None:
    watched.away = True
    watched.write()
    watched.look(3.0)
    watched.look()
    watched.bench.group.writing = None
    assert watched.look() == ""
