"""What a standby goes through beforehand may fail, and tells nobody."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workers.agent.delivery import warming
from workers.agent.delivery.delivery import SinkGroup
from workers.agent.delivery.gate import Gate
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.graph.kept import Events

NOTHING: Any = SimpleNamespace()
STEPS = ["_run_numbers", "_read_the_last", "_deliver_nothing", "_read_nothing"]


class Sink:
    def __init__(self, name: str) -> None:
        self.place = SimpleNamespace(path=f"sinks.{name}")
        self.given: list[Any] = []
        self.warm_up = self.given.append

    def refuses(self) -> None:
        return None


def ledger_of(*sinks: Sink, unready: str = "") -> ChannelLedger:
    named: Any = {sink.place.path.removeprefix("sinks."): sink for sink in sinks}
    group = SinkGroup("", "default", named, NOTHING, Gate(0))
    group.unready = {unready} if unready else set()
    classifier: Any = SimpleNamespace(classification=lambda *_: SimpleNamespace())
    return ChannelLedger("shop", "lake", group=group, classifier=classifier, dead_letter_queue=NOTHING, journal=NOTHING)


def test_every_ready_sink_goes_through_a_batch_without_events_and_no_book_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workers.agent.graph.batch.Observation", SimpleNamespace)
    here, away = Sink("here"), Sink("away")
    ledger = ledger_of(here, away, unready="away")
    ledger.warm_up(Events(NOTHING))
    ((attempt,), others) = here.given, away.given
    assert (attempt.planned.bound, others) == (0, [])
    assert (ledger.done_batch, ledger.positions, ledger.progress.finished, ledger.moving) == (-1, {}, 0, False)


@pytest.mark.parametrize("broken", STEPS)
def test_what_does_not_work_is_said_and_keeps_nothing_else_from_being_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, broken: str
) -> None:
    tried: list[str] = []

    def step(name: str) -> Any:
        def run(*_: Any) -> None:
            tried.append(name)
            if name == broken:
                raise RuntimeError("no")

        return run

    for name in STEPS:
        monkeypatch.setattr(warming, name, step(name))
    inspected: Any = SimpleNamespace(read=SimpleNamespace(source="shop"))
    private: Any = SimpleNamespace(read=SimpleNamespace(source="files"))
    warming.warm_up(NOTHING, NOTHING, {"shop": {}}, [inspected, private], tmp_path)
    assert tried == STEPS
    assert "the first batch will be slower: no" in "".join(capsys.readouterr())
