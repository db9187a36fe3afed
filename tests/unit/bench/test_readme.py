"""The table of speed in the README is what the report says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import readme
from bench.__main__ import OUT
from bench.figures import result
from bench.report import NAME
from controlplane.install.tools.paths import PROJECT


def of(*found: tuple[str, str, str, float]) -> dict[str, object]:
    return {"results": [result(case, system, metric, [value]).plain() for case, system, metric, value in found]}


def test_a_figure_stands_beside_those_of_the_peers_and_its_share_of_each() -> None:
    rate = "steady_records_per_second"
    found = of(
        ("kafka_to_kafka", "headgate_micro_batch", rate, 600_000),
        ("kafka_to_kafka", "connect", rate, 500_000),
        ("kafka_to_kafka", "flume", rate, 400_000),
    )
    lines = readme.speed(found).splitlines()
    assert "| records/s, higher is better | 600,000 | 500,000 | 400,000 | 1.20 | 1.50 |" in lines
    assert "| start to first record, s |  |  |  |  |  |" in lines, "nothing stands for what was not measured"


def test_a_small_share_is_not_nothing() -> None:
    names = ("headgate_real_time", 1.4), ("flume", 512.0)
    found = of(*(("kafka_to_kafka", system, "latency_p50_ms", value) for system, value in names))
    assert "| p50 at 100 records/s in real-time mode, ms | 1.4 |  | 512 |  | 0.003 |" in readme.speed(found)


def test_a_host_has_room_for_what_agents_share_once_and_for_what_each_has_of_its_own() -> None:
    assert "agents" not in readme.speed(of())
    found = of(
        ("density", "headgate_micro_batch", "idle_pss_mb", 4200.0),
        ("density", "headgate_micro_batch", "idle_private_mb", 4000.0),
    )
    assert readme.speed(found).endswith("31 idle agents of small pipelines fit into 8 GB.")


def test_a_page_without_a_place_for_it_is_not_changed(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"text\n{readme.FIRST}\nmore\n")
    with pytest.raises(ValueError, match="needs"):
        readme.write(page, of())
    assert page.read_text() == f"text\n{readme.FIRST}\nmore\n"


def test_the_readme_says_what_the_report_says(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text((PROJECT / "README.md").read_text())
    readme.write(page, json.loads((OUT / f"{NAME}.json").read_text()))
    assert page.read_text() == (PROJECT / "README.md").read_text()
