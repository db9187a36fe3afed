"""`headgate runs stacks` and `headgate force-stop` against a fake API."""

from __future__ import annotations

import json
from typing import Any

from controlplane.cli.base.errors import ExitCode
from tests.fakes.api import AT, FakeApi, operation, problem
from tests.unit.cli.test_commands import run

RUN = {"id": 101, "number": 7, "state": "LIVE"}


def dump(**fields: Any) -> dict[str, Any]:
    """One dump as the API shows it."""
    files = [
        {"name": "a-driver.txt", "process": "driver", "text": "in sinks.lake\x1b[2J\n"},
        {"name": "a-jvm.txt", "process": "jvm", "text": "Full thread dump\n"},
    ]
    return {
        "stop_stage": "live",
        "number": 0,
        "asked": "ab",
        "at": AT,
        "stuck": ["sinks.lake"],
        "silent": [],
        "files": files,
    } | fields


def shows(orders: FakeApi, *dumps: dict[str, Any], **more: Any) -> None:
    orders.answers["GET", "runs/101/stacks"] = 200, {"run": 101, "dumps": list(dumps), "elsewhere": "", **more}


def test_the_stacks_of_a_living_run_are_dumped_now_and_printed(orders: FakeApi) -> None:
    orders.runs = [RUN]
    orders.answers["POST", "runs/101/stacks"] = 202, {"asked": "ab"}
    shows(orders, dump())
    printed = run("runs", "stacks", "orders")
    assert printed.exit_code == ExitCode.OK, printed.output
    assert "at work: sinks.lake" in printed.stdout
    assert "in sinks.lake\n" in printed.stdout
    assert "\x1b" not in printed.stdout
    asked = [request for request in orders.asked("GET") if request["path"].endswith("stacks")]
    assert asked[-1]["query"]["asked"] == "ab"
    assert "Full thread dump" not in run("runs", "stacks", "orders", "--process", "driver").stdout


def test_of_a_run_that_has_ended_the_newest_dump_is_shown_or_all(orders: FakeApi) -> None:
    orders.runs = [RUN | {"state": "ENDED"}]
    shows(orders, dump(stop_stage="KILL"), dump(stop_stage="INTERRUPT"))
    assert len(json.loads(run("runs", "stacks", "orders", "-o", "json").stdout)["dumps"]) == 1
    assert len(json.loads(run("runs", "stacks", "orders", "--all", "-o", "json").stdout)["dumps"]) == 2
    assert not orders.asked("POST")


def test_what_is_not_there_is_said(orders: FakeApi) -> None:
    orders.runs = [RUN | {"state": "ENDED"}]
    shows(orders, elsewhere="alpha:/var/runs/7/stacks")
    reported = run("runs", "stacks", "orders").stderr
    assert "Run 7 has no dump" in reported
    assert "alpha:/var/runs/7/stacks" in reported
    assert run("runs", "stacks", "orders", "--run", "3").exit_code == ExitCode.FAILED
    orders.runs = [RUN]
    orders.answers["POST", "runs/101/stacks"] = problem(409, "run_on_other_host")
    assert run("runs", "stacks", "orders").exit_code == ExitCode.REFUSED


def test_a_stop_by_force_tells_its_consequence(orders: FakeApi) -> None:
    asked = operation("force-stop") | {"state": "PENDING", "message": "Its processes are killed at once."}
    orders.answers["POST", "pipelines/orders/force-stop"] = 202, asked
    printed = run("force-stop", "orders")
    assert printed.exit_code == ExitCode.OK, printed.output
    assert "Requested: force-stop of orders" in printed.stdout
    assert "killed at once" in printed.stderr
