"""The log tells when the Spark session is open: what a start takes before and after that is seen there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.recovery.timeline import log_marks
from bench.systems.base import Work
from bench.systems.headgate import Headgate
from pipelines.domain.definitions.document.spec import Definition
from workers.agent.spark import session as sessions
from workers.agent.startup.session import Session

WORK = Work("127.0.0.1:9092", "orders", "run", Path("/nonexistent"))


def session(tmp_path: Path) -> Session:
    graph: Any = SimpleNamespace(definition=Definition.model_validate(Headgate().definition(WORK)))
    jvm: Any = SimpleNamespace()
    launch: Any = SimpleNamespace()
    return Session(launch, graph, jvm, tmp_path)


def test_the_log_has_a_line_for_the_open_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sessions, "connect", lambda *_, **__: SimpleNamespace())
    opened = session(tmp_path)
    opened.start()
    opened.opened(timeout=30)
    assert list(log_marks(capsys.readouterr().out)) == ["jvm_and_session"]


def test_a_session_that_does_not_open_leaves_no_such_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no JVM")

    monkeypatch.setattr(sessions, "connect", refuse)
    opened = session(tmp_path)
    opened.start()
    with pytest.raises(RuntimeError):
        opened.opened(timeout=30)
    assert log_marks(capsys.readouterr().out) == {}
