from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import report
from bench.cases import CASES
from bench.figures import result
from bench.peers import LOCK_FILE, ROOTS
from bench.targets import TARGETS, Lookup


def document(case: str, *found: tuple[str, str, float], **more: Any) -> dict[str, Any]:
    return {
        "machine": {"cores": 2},
        "versions": {"flume": "1.11.0"},
        "commands": [f"python -m bench --case {case}"],
        "cases": [case],
        "skipped": {},
        "notes": {},
        "records": {},
        "results": [result(case, system, metric, [value]).plain() for system, metric, value in found],
    } | more


MAIN = document(
    "kafka_to_kafka",
    ("headgate_micro_batch", "steady_records_per_second", 500_000),
    ("flume", "steady_records_per_second", 400_000),
    ("connect", "steady_records_per_second", 300_000),
)
START = document("start", ("headgate_micro_batch", "start_to_first_record_seconds", 5.5))


def test_a_result_has_the_keys_that_readers_look_for() -> None:
    assert set(MAIN["results"][0]) == {"case", "system", "metric", "unit", "median", "values"}


def test_a_case_that_is_measured_again_replaces_its_old_results_and_no_others() -> None:
    again = document("start", ("headgate_micro_batch", "start_to_first_record_seconds", 4.0))
    merged = report.merge(report.merge(report.merge(None, START), MAIN), again)
    assert [(r["case"], r["median"]) for r in merged["results"] if r["case"] == "start"] == [("start", 4.0)]
    assert len(merged["results"]) == 4
    assert merged["results"][0]["case"] == "kafka_to_kafka"


def test_notes_and_commands_stay_when_another_case_is_measured() -> None:
    noted = START | {"notes": {"start": "The JVM takes 2 s of it."}}
    merged = report.merge(noted, MAIN)
    assert merged["notes"] == {"start": "The JVM takes 2 s of it."}
    assert merged["commands"] == ["python -m bench --case start", "python -m bench --case kafka_to_kafka"]
    assert "The JVM takes 2 s of it." in report.markdown(merged)


def test_what_was_skipped_is_said_until_it_is_measured() -> None:
    skipped = document("postgres_sink", skipped={"postgres_sink": ["PostgreSQL is not installed"]})
    merged = report.merge(skipped, MAIN)
    assert "postgres_sink: PostgreSQL is not installed" in report.markdown(merged)
    measured = document("postgres_sink", ("headgate_micro_batch", "steady_records_per_second", 9.0))
    assert report.merge(merged, measured)["skipped"] == {}


def test_writing_completes_the_file_that_is_there(tmp_path: Path) -> None:
    report.write(tmp_path, START)
    report.write(tmp_path, MAIN)
    stored = json.loads((tmp_path / "data-plane.json").read_text())
    assert {r["case"] for r in stored["results"]} == {"start", "kafka_to_kafka"}
    assert "**500,000**" in (tmp_path / "data-plane.md").read_text()


def rows(found: dict[str, Any]) -> dict[str, str]:
    lines = [line.split(" | ") for line in report.markdown(found).splitlines() if line.startswith("| ")]
    return {cells[0].removeprefix("| "): cells[-1].removesuffix(" |") for cells in lines}


def test_a_case_says_how_many_records_it_moved() -> None:
    assert "a short run (60,000 records)" in report.markdown(
        document("kafka_to_kafka_2m", ("flume", "wall_seconds", 1.0), records={"kafka_to_kafka_2m": 60_000})
    )


def test_a_target_is_reached_missed_or_not_measured() -> None:
    verdicts = rows(report.merge(MAIN, START))
    assert verdicts["steady records/s, micro-batch, against the better peer"] == "yes"
    assert verdicts["process start to first record, s"] == "no"
    assert verdicts["idle agent, % of a core"] == "not measured"


def test_the_aim_is_a_quarter_more_than_the_better_peer() -> None:
    medians: Lookup = {(r["case"], r["system"], r["metric"]): r["median"] for r in MAIN["results"]}
    aim = next(target for target in TARGETS if "1.25" in target.words)
    assert aim.verdict(medians).wanted == "≥ 500,000"
    assert aim.verdict(medians).reached


def test_every_case_has_a_title() -> None:
    more = {"latency_1000", "kafka_to_kafka_2m", "recovery_parts", "small_batches_100", "small_batches_1000"}
    assert set(CASES) - {"latency", "small_batches"} | more == set(report.TITLES)


def test_the_peers_lock_has_every_root_a_checksum_for_every_jar_and_no_repository() -> None:
    text = LOCK_FILE.read_text()
    lock = json.loads(text)
    assert {name: entry["roots"] for name, entry in lock.items()} == {name: roots for name, (_, roots) in ROOTS.items()}
    assert all(len(jar["sha256"]) == 64 for entry in lock.values() for jar in entry["jars"])
    assert "://" not in text
