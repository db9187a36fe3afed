"""What the benchmark gives its systems to work with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.bench import Bench, Options
from bench.cases import CASES, sinks, throughput
from bench.figures import Result
from bench.report import COLUMNS
from bench.systems import headgate
from bench.systems.base import Work
from pipelines.domain.access.on_host import on_this_host
from pipelines.domain.definitions.document.spec import Definition


@pytest.mark.parametrize("case", ["kafka_clients", "multiplexing_3", "sql_interceptor"])
def test_every_definition_that_a_case_compares_is_valid_and_has_a_column(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def compare(bench: Bench, case: str, systems: Sequence[headgate.Headgate], count: int, **_: object) -> list[Result]:
        compared.extend(system.name for system in systems)
        return []

    monkeypatch.setattr(throughput, "compare", compare)
    bench = Bench(SimpleNamespace(servers="127.0.0.1:9092"), Options(), tmp_path)  # type: ignore[arg-type]
    assert CASES[case](bench) == []
    assert (bench.skipped, compared) == ({}, list(COLUMNS[case]))


def test_an_agent_may_write_where_its_work_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headgate, "class_path", list)
    monkeypatch.setattr(headgate, "archive_path", lambda: None)
    work = Work("127.0.0.1:9092", "in", "run", tmp_path / "work")
    system = headgate.Headgate(graph=lambda work: {"sinks": {"out": sinks.parquet(work)}})
    assert system.refusal(work) is None
    launch = system.launch(work)
    assert on_this_host(Definition.model_validate(launch.definition), launch.reach) == []
