"""What the API tells of a pipeline that runs, and of what it did."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from pipelines.domain.base.states import DesiredState, LedgerState, OperationState, Phase, RunState
from pipelines.domain.runs.log_lines import address_of
from pipelines.models import Run
from pipelines.selectors.runs.live import recorded_frame
from pipelines.services.base.audit import Actor, record
from pipelines.services.lifecycle import operations
from tests.db.conftest import Server
from tests.factories import (
    EventFactory,
    HostFactory,
    LedgerBatchFactory,
    OperationFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    SampleFactory,
)
from tests.settings import HEADGATE

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders"
POSITION = {"topic": "orders-in", "partition": 0, "next_offset": 90, "end_offset": 100}
OBSERVED: dict[str, Any] = {
    "at": 1_700_000_000.0,
    "queries": [
        {
            "source": "shop",
            "channel": "main",
            "batch": 8,
            "in_flight": True,
            "delivered": 90,
            "records_per_second": 30.5,
            "last_batch_at": 1_700_000_000.0,
            "positions": [POSITION],
            "holding": {"component": "sinks.out", "cause": "timed out", "attempts": 2, "since": 1_700_000_000.0},
        }
    ],
    "components": [{"name": "out", "kind": "sink", "type": "kafka", "state": "ready", "detail": ""}],
}


@pytest.fixture
def run() -> Run:
    pipeline = PipelineFactory.create(name="orders", phase=Phase.DEGRADED, desired_state=DesiredState.RUNNING)
    return RunFactory.create(pipeline=pipeline, number=3, observed=OBSERVED)


def test_the_status_tells_which_sinks_of_a_group_are_live_and_which_are_out(viewer: APIClient, run: Run) -> None:
    out = {"sink": "a", "failures": 2, "until": 1_700_000_004.0, "cause": "timed out"}
    group = {"name": "lake", "processor": "failover", "active": "b", "live": ["b"], "failed": [out]}
    run.observed = {**OBSERVED, "queries": [OBSERVED["queries"][0] | {"group": group}]}
    run.save()
    (query,) = viewer.get(f"{ORDERS}/status").json()["queries"]
    assert query["group"] == group | {"failed": [out | {"until": "2023-11-14T22:13:24Z"}]}


def test_a_paused_pipeline_reads_nothing_whatever_its_agent_reported_last(viewer: APIClient, run: Run) -> None:
    run.pipeline.phase = Phase.PAUSED
    run.pipeline.save()
    for path in (ORDERS, f"{ORDERS}/status"):
        live = viewer.get(path).json()["live"]
        assert (live["records_per_second"], live["lag_records"]) == (0.0, 10)
    frame = recorded_frame(run.pipeline, run)
    assert (frame["live"]["records_per_second"], frame["live"]["lag_records"]) == (0.0, 10)


def test_a_sink_on_its_own_has_no_group(viewer: APIClient, run: Run) -> None:
    assert viewer.get(f"{ORDERS}/status").json()["queries"][0]["group"] is None


def test_the_status_has_figures_queries_components_and_conditions(viewer: APIClient, run: Run) -> None:
    body = viewer.get(f"{ORDERS}/status").json()

    live = body["live"]
    assert (live["records_per_second"], live["lag_records"], live["in_flight"]) == (30.5, 10, 1)
    assert live["last_batch_at"] == "2023-11-14T22:13:20Z"
    query = body["queries"][0]
    assert query["positions"] == [{**POSITION, "lag": 10}]
    assert (query["holding"]["cause"], query["delivered"]) == ("timed out", 90)
    assert body["components"][0]["state"] == "ready"
    assert (body["run"]["number"], body["run"]["epoch"]) == (3, 3)
    assert [each["number"] for each in body["runs"]] == [3]
    assert (body["phase"], body["lag"]) == ("DEGRADED", live["lag_records"])
    assert {each["type"] for each in body["conditions"]} == {
        "Stable",
        "PositionsSafe",
        "LedgerBalanced",
        "Supervised",
        "DiskSpace",
        "Output",
    }


def test_the_status_says_what_a_source_that_is_pushed_to_took_in_and_what_its_log_holds(
    viewer: APIClient, run: Run
) -> None:
    shop = {"source": "shop", "taken": 90, "held": 7, "capacity": 100, "answers": {"200": 9, "503": 1}}
    run.observed = {**OBSERVED, "ingest_buffers": [shop]}
    run.save()
    (ingest_buffer,) = viewer.get(f"{ORDERS}/status").json()["ingest_buffers"]
    assert ingest_buffer == shop | {"held_up_by": "", "failure": ""}


def test_conditions_are_those_that_the_supervisor_recorded(viewer: APIClient, run: Run) -> None:
    recorded = {
        "type": "Stable",
        "status": "False",
        "reason": "degraded",
        "message": "A sink fails.",
        "last_transition_time": "2026-01-01T00:00:00+00:00",
    }
    run.pipeline.conditions = [recorded]
    run.pipeline.save()
    found = {each["type"]: each for each in viewer.get(f"{ORDERS}/status").json()["conditions"]}

    assert found["Stable"] == {**recorded, "last_transition_time": "2026-01-01T00:00:00Z"}
    assert found["LedgerBalanced"]["status"] == "Unknown"
    assert found["Supervised"]["status"] == "True"


def test_findings_of_a_refused_start_are_shown(viewer: APIClient) -> None:
    finding = {"path": "", "code": "LEDGER_BEHIND", "message": "m", "suggestion": "s", "retryable": True}
    PipelineFactory.create(name="orders", phase=Phase.BLOCKED, findings=[finding])
    body = viewer.get(f"{ORDERS}/status").json()

    assert body["findings"][0]["code"] == "LEDGER_BEHIND"
    assert body["headline"].startswith("Blocked")


@pytest.mark.parametrize(("seconds", "supervised", "state"), [(1, True, "UP"), (10, False, "UP"), (60, False, "LOST")])
def test_a_silent_host_is_told_at_once(viewer: APIClient, seconds: int, supervised: bool, state: str) -> None:
    host = HostFactory.create(name="beta", seen_at=timezone.now() - timedelta(seconds=seconds))
    RunFactory.create(pipeline=PipelineFactory.create(name="orders", host=host, phase=Phase.RUNNING))
    pipeline = viewer.get(ORDERS).json()
    (shown,) = viewer.get("/api/v1/hosts").json()

    assert pipeline["supervised"] is supervised
    assert ("silent" in pipeline["headline"]) is not supervised
    assert (shown["name"], shown["state"], shown["supervised"], shown["agents"]) == ("beta", state, supervised, 1)


def test_the_ledger_is_listed_newest_first_and_filtered(viewer: APIClient, run: Run) -> None:
    first = LedgerBatchFactory.create(run=run)
    other = LedgerBatchFactory.create(run=run, channel="audit", filtered=1, delivered=8)

    body = viewer.get(f"{ORDERS}/ledger").json()["results"]
    assert [(each["id"], each["balanced"]) for each in body] == [(other.pk, False), (first.pk, True)]
    assert body[1]["ranges"] == [{"topic": "orders-in", "partition": 0, "start": 0, "end": 10}]
    assert [each["id"] for each in viewer.get(f"{ORDERS}/ledger?channel=main&run=3").json()["results"]] == [first.pk]
    assert viewer.get(f"{ORDERS}/ledger?run=4").json()["results"] == []


def test_the_books_add_up_over_runs_with_what_is_open_apart(
    viewer: APIClient, run: Run, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        LedgerBatchFactory.create(run=run, read=10, delivered=7, filtered=3, duplicates_max=1)
    LedgerBatchFactory.create(run=run, state=LedgerState.PLANNED, read=0, delivered=0)
    position = PositionFactory.create(pipeline=run.pipeline)

    with django_assert_num_queries(5):  # role, pipeline, components, sums, positions
        totals = viewer.get(f"{ORDERS}/ledger/summary").json()

    assert (totals["read"], totals["delivered"], totals["filtered"], totals["duplicates_max"]) == (200, 140, 60, 20)
    assert totals["balanced"]
    (channel,) = totals["channels"]
    assert (channel["batches"], channel["open_batches"]) == (20, 1)
    assert totals["positions"][0]["next_offset"] == position.next_offset


@pytest.mark.parametrize("wrong", [{"delivered": 9}, {"gaps": 2}, {"overlaps": 1}])
def test_the_books_do_not_balance_with_a_gap_an_overlap_or_a_missing_verdict(
    viewer: APIClient, run: Run, wrong: dict[str, int]
) -> None:
    LedgerBatchFactory.create(run=run)
    LedgerBatchFactory.create(run=run, **wrong)
    totals = viewer.get(f"{ORDERS}/ledger/summary").json()

    assert totals["balanced"] is False
    assert totals["channels"][0]["balanced"] is False


@pytest.mark.parametrize("path", ["ledger", "runs"])
def test_lists_below_a_pipeline_cost_the_same_however_long(
    viewer: APIClient, django_assert_num_queries: DjangoAssertNumQueries, path: str
) -> None:
    pipeline = PipelineFactory.create(name="orders")
    for _ in range(30):
        LedgerBatchFactory.create(run=RunFactory.create(pipeline=pipeline, state=RunState.ENDED))
    with django_assert_num_queries(3):  # role, pipeline, rows
        assert len(viewer.get(f"{ORDERS}/{path}").json()["results"]) == 30


@pytest.mark.parametrize("path", ["events", "operations", "audit", "archived-pipelines"])
def test_lists_of_everything_cost_the_same_however_long(
    operator: APIClient, django_assert_num_queries: DjangoAssertNumQueries, path: str
) -> None:
    for _ in range(30):
        pipeline = PipelineFactory.create(archived_at=timezone.now())
        EventFactory.create(pipeline=pipeline)
        OperationFactory.create(pipeline=pipeline)
        record(actor=Actor("ana"), action="start", pipeline_name=pipeline.name)
    with django_assert_num_queries(2):  # role, rows
        assert len(operator.get(f"/api/v1/{path}").json()["results"]) == 30


def test_a_host_costs_the_same_however_many_pipelines_it_has(
    viewer: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        run = RunFactory.create(number=number + 1)
        PositionFactory.create_batch(number % 2, pipeline=run.pipeline)
    with django_assert_num_queries(
        8
    ):  # role, host, rooms, standbys there and on their way, pipelines, approvals, freezes
        pipelines = viewer.get("/api/v1/hosts/alpha").json()["pipelines"]
    assert (len(pipelines), pipelines[0]["tied"]) == (30, [])


def test_series_are_of_the_last_minutes_and_thinned_evenly(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    now = timezone.now()
    SampleFactory.create(pipeline=pipeline, at=now - timedelta(minutes=20))
    SampleFactory.create_batch(1500, pipeline=pipeline, at=now - timedelta(minutes=5))
    newest = SampleFactory.create(pipeline=pipeline, at=now, records_per_second=7.0)

    points = viewer.get(f"{ORDERS}/series?minutes=15").json()["points"]

    assert 500 < len(points) <= 1000
    assert points[-1]["records_per_second"] == newest.records_per_second


@pytest.fixture
def log(run: Run) -> Path:
    directory = HEADGATE.state / "runs" / "orders" / "3"
    directory.mkdir(parents=True, exist_ok=True)
    run.run_dir = str(directory)
    run.save()
    for file in directory.iterdir():
        file.unlink()
    return directory / "agent.log"


def test_the_log_is_read_by_its_end_and_followed_by_its_offset(viewer: APIClient, run: Run, log: Path) -> None:
    url = f"/api/v1/runs/{run.pk}/log"
    assert viewer.get(url).json()["code"] == "log_not_found"
    log.write_text("one\ntwo\nthree\nfo")

    tail = viewer.get(f"{url}?tail=2").json()
    assert (tail["text"], tail["rotated"], tail["size"]) == ("two\nthree\n", False, 16)
    with log.open("a") as file:
        file.write("ur\nfive\n")
    following = viewer.get(f"{url}?offset={tail['offset']}").json()
    assert following["text"] == "four\nfive\n"
    assert viewer.get(f"{url}?offset={following['offset']}").json()["text"] == ""
    assert viewer.get(f"{url}?tail=1&format=text").content == b"five\n"


def test_the_log_can_be_read_without_less_important_lines(viewer: APIClient, run: Run, log: Path) -> None:
    lines = [
        f"2026-01-01T00:00:00.000Z {level:<7} driver orders/3: {level}\n" for level in ("INFO", "WARNING", "ERROR")
    ]
    log.write_text("".join([lines[0], lines[2], "  a trace\n", lines[1], lines[0]]))
    url = f"/api/v1/runs/{run.pk}/log"
    warnings = viewer.get(f"{url}?level=WARNING").json()
    assert warnings["text"] == f"{lines[2]}  a trace\n{lines[1]}"
    assert warnings["offset"] == warnings["size"]
    assert viewer.get(f"{url}?level=ERROR&tail=1").json()["text"] == "  a trace\n"
    assert viewer.get(f"{url}?level=CRITICAL&offset=0").json()["text"] == ""
    assert viewer.get(f"{url}?level=LOUD").status_code == 400


def line(second: int, text: str, level: str = "INFO", component: str = "driver") -> str:
    return f"2026-01-01T00:00:{second:02}.000Z {level:<7} {component} orders/3: {text}\n"


def test_lines_are_found_by_component_time_and_text_with_the_lines_that_belong_to_them(
    viewer: APIClient, run: Run, log: Path
) -> None:
    failed = line(2, "failed", "ERROR", "jvm") + "\tat org.example.Needle\n"
    log.write_text(line(1, "begun") + failed + line(3, "needle", component="keeper"))
    url = f"/api/v1/runs/{run.pk}/log"
    found = viewer.get(f"{url}?find=NEEDLE").json()
    assert found["text"] == failed + line(3, "needle", component="keeper")
    assert found["components"] == ["driver", "jvm", "keeper"]
    assert (found["searched"], found["total"]) == (log.stat().st_size, log.stat().st_size)
    assert viewer.get(f"{url}?component=jvm").json()["text"] == failed
    assert viewer.get(f"{url}?since=2026-01-01T00:00:03Z").json()["text"] == line(3, "needle", component="keeper")
    assert viewer.get(f"{url}?since=5m").json()["text"] == ""
    assert viewer.get(f"{url}?since=soon").status_code == 400
    assert viewer.get(f"{url}?since=0001-01-01T00:00:00%2B14:00").status_code == 400


def test_what_is_followed_with_a_filter_belongs_to_the_line_before_the_offset(
    viewer: APIClient, run: Run, log: Path
) -> None:
    log.write_text(line(1, "begun") + line(2, "failed", "ERROR"))
    url = f"/api/v1/runs/{run.pk}/log"
    offset = viewer.get(f"{url}?level=ERROR").json()["offset"]
    with log.open("a") as file:
        file.write("\tat one\n")
    shown = viewer.get(f"{url}?level=ERROR&offset={offset}").json()
    assert shown["text"] == "\tat one\n"
    assert viewer.get(f"{url}?level=CRITICAL&offset={offset}").json()["text"] == ""
    assert viewer.get(f"{url}?level=CRITICAL&offset={offset}").json()["offset"] == shown["offset"] == shown["size"]


def test_older_files_are_searched_too_up_to_a_limit(
    viewer: APIClient, run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.with_name("agent.log.2").write_text(line(1, "needle one"))
    log.with_name("agent.log.1").write_text(line(2, "needle two"))
    log.write_text(line(3, "needle three"))
    url = f"/api/v1/runs/{run.pk}/log?find=needle"
    assert viewer.get(url).json()["text"].count("needle") == 3
    assert viewer.get(f"{url}&tail=2").json()["text"] == line(2, "needle two") + line(3, "needle three")
    monkeypatch.setattr("pipelines.selectors.runs.logs.SEARCHED_BYTES", 100)
    limited = viewer.get(url).json()
    assert limited["text"] == line(3, "needle three")
    assert limited["searched"] == 100 < limited["total"]


def test_a_line_is_found_by_its_address_after_a_rotation_and_said_to_be_gone_when_it_is(
    viewer: APIClient, run: Run, log: Path
) -> None:
    lines = [line(second, f"number {second}") for second in range(50)]
    log.write_text("".join(lines))
    address = address_of(lines[20])
    url = f"/api/v1/runs/{run.pk}/log?at={address}&tail=5"
    assert viewer.get(url).json()["text"] == "".join(lines[18:23])
    log.rename(log.with_name("agent.log.1"))
    log.write_text(line(55, "new"))
    assert viewer.get(url).json()["text"] == "".join(lines[18:23])
    log.with_name("agent.log.1").unlink()
    gone = viewer.get(url)
    assert (gone.status_code, gone.json()["code"]) == (404, "log_line_not_found")
    assert "2026-01-01T00:00:20.000Z is no longer in the log of run 3" in gone.json()["detail"]
    assert viewer.get(f"/api/v1/runs/{run.pk}/log?at=nonsense").status_code == 400


def test_a_line_without_end_is_read_in_pieces(viewer: APIClient, run: Run, log: Path) -> None:
    log.write_bytes(b"x" * 5_000_000)
    url = f"/api/v1/runs/{run.pk}/log"
    assert len(viewer.get(f"{url}?find=x&tail=10000").json()["text"]) <= 1024 * 1024
    first = viewer.get(f"{url}?offset=0").json()
    assert 0 < first["offset"] <= 1024 * 1024
    assert viewer.get(f"{url}?offset={first['offset']}").json()["offset"] > first["offset"]


@pytest.mark.parametrize(
    ("state", "exists", "words"),
    [
        ("PENDING", False, "has not started yet"),
        ("LIVE", True, "has not written to its log yet"),
        ("LIVE", False, "was removed"),
        ("ENDED", True, "ended before it wrote a log"),
        ("ENDED", False, "was removed"),
    ],
)
def test_a_log_that_is_not_there_says_why(
    viewer: APIClient, run: Run, log: Path, state: str, exists: bool, words: str
) -> None:
    run.state, run.keeper_pid = state, 7
    run.save()
    if not exists:
        log.parent.rmdir()
    found = viewer.get(f"/api/v1/runs/{run.pk}/log").json()
    assert found["code"] == "log_not_found"
    assert words in found["detail"]


def test_a_run_that_ended_before_its_process_started_has_no_log(viewer: APIClient, run: Run, log: Path) -> None:
    run.state, run.keeper_pid = "ENDED", None
    run.save()
    log.parent.rmdir()
    assert "before its process started" in viewer.get(f"/api/v1/runs/{run.pk}/log").json()["detail"]


def test_a_rotated_log_is_read_from_its_start_and_says_so(viewer: APIClient, run: Run, log: Path) -> None:
    log.write_text("new\n")
    body = viewer.get(f"/api/v1/runs/{run.pk}/log?offset=4000").json()
    assert (body["text"], body["rotated"], body["offset"]) == ("new\n", True, 4)


def test_no_more_than_a_mebibyte_of_log_is_read(viewer: APIClient, run: Run, log: Path) -> None:
    log.write_bytes(b"x" * 99 + b"\n" * 1 + (b"y" * 99 + b"\n") * 20_000)
    url = f"/api/v1/runs/{run.pk}/log"
    tail = viewer.get(f"{url}?tail=10000").json()
    assert len(tail["text"]) == 1_000_000
    start = viewer.get(f"{url}?offset=0").json()
    assert start["text"].startswith("x")
    assert start["offset"] <= 1024 * 1024


def test_a_link_in_place_of_the_log_is_not_followed(viewer: APIClient, run: Run, log: Path) -> None:
    log.symlink_to("/etc/passwd")
    assert viewer.get(f"/api/v1/runs/{run.pk}/log").json()["code"] == "log_not_found"


def test_the_log_of_another_hosts_run_says_where_it_is(viewer: APIClient) -> None:
    run = RunFactory.create(pipeline__host=HostFactory.create(name="beta"))
    response = viewer.get(f"/api/v1/runs/{run.pk}/log")

    assert (response.status_code, response.json()["code"]) == (409, "log_on_other_host")
    assert "beta" in response.json()["detail"]


def test_an_operation_is_awaited_until_it_ends(server: Server) -> None:
    operation = OperationFactory.create()
    answers: list[httpx2.Response] = []
    url = f"{server.url}/api/v1/operations/{operation.id}"
    waiting = Thread(
        target=lambda: answers.append(httpx2.get(f"{url}?wait=30", headers=server.headers, timeout=40)), daemon=True
    )
    waiting.start()
    assert httpx2.get(url, headers=server.headers, timeout=30).json()["state"] == "PENDING"
    operations.finish(operation_id=operation.id, state=OperationState.SUCCEEDED, now=timezone.now())
    waiting.join(timeout=30)

    assert answers[0].json()["state"] == "SUCCEEDED"


def test_a_wait_ends_after_the_seconds_asked_for(server: Server) -> None:
    operation = OperationFactory.create()
    url = f"{server.url}/api/v1/operations/{operation.id}"
    started = time.monotonic()
    response = httpx2.get(f"{url}?wait=0.6", headers=server.headers, timeout=30)

    assert (response.status_code, response.json()["state"]) == (200, "PENDING")
    assert time.monotonic() - started >= 0.6
    assert httpx2.get(f"{url}?wait=61", headers=server.headers, timeout=30).status_code == 400
