"""The report on the control plane: what is measured again is replaced, and the page says what was reached."""

from __future__ import annotations

from typing import Any

from bench.control.report import markdown, merge
from bench.figures import result


def document(case: str, system: str, command: str = "python -m bench.control", **values: float) -> dict[str, Any]:
    return {
        "machine": {"cpu": "any"},
        "versions": {"headgate": "1"},
        "measured_at": "2026-01-01",
        "commands": [command],
        "results": [result(case, system, metric, [value]).plain() for metric, value in values.items()],
    }


def test_a_case_that_is_measured_again_is_replaced_on_that_database_alone() -> None:
    report = merge(None, document("mixed_1000", "postgresql", tick_p50_ms=700.0))
    report = merge(report, document("mixed_1000", "sqlite", tick_p50_ms=900.0))
    report = merge(report, document("quiet_1000", "sqlite", tick_p50_ms=200.0))
    report = merge(report, document("mixed_1000", "sqlite", "again", tick_p50_ms=800.0))
    found = [(each["case"], each["system"], each["median"]) for each in report["results"]]
    assert found == [("quiet_1000", "sqlite", 200), ("mixed_1000", "sqlite", 800), ("mixed_1000", "postgresql", 700)]
    assert report["commands"] == ["python -m bench.control", "again"]


def test_the_page_judges_every_target_and_shows_both_databases() -> None:
    report = merge(None, document("quiet_1000", "sqlite", tick_p50_ms=251.0, queries_per_tick=9.0))
    report = merge(report, document("quiet_1000", "postgresql", tick_p50_ms=1250.0))
    report = merge(report, document("quiet_10", "sqlite", queries_per_tick=9.0))
    page = markdown(report)
    assert "| tick over 1,000 quiet pipelines, SQLite, ms | ≤ 250 | 251 | no |" in page
    assert "| queries of a tick over 1,000 quiet pipelines, against 10 | ≤ 9 | 9 | yes |" in page
    assert "| tick over 800 quiet and 200 busy pipelines, SQLite, ms | ≤ 1,000 |  | not measured |" in page
    assert "| tick p50 ms, ms | **251** (251) | **1,250** (1,250) |" in page
