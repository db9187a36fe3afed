"""What the benchmark gives its systems to work with."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cases import sinks
from bench.systems import headgate
from bench.systems.base import Work
from pipelines.domain.access.on_host import on_this_host
from pipelines.domain.definitions.document.spec import Definition


def test_an_agent_may_write_where_its_work_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headgate, "class_path", list)
    monkeypatch.setattr(headgate, "archive_path", lambda: None)
    work = Work("127.0.0.1:9092", "in", "run", tmp_path / "work")
    system = headgate.Headgate(graph=lambda work: {"sinks": {"out": sinks.parquet(work)}})
    assert system.refusal(work) is None
    launch = system.launch(work)
    assert on_this_host(Definition.model_validate(launch.definition), launch.reach) == []
