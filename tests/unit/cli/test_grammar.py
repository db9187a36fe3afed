"""The grammar of the command line: its tree, its help, its formats and its suggestions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
import typer
import yaml
from rich.console import Console
from typer.testing import CliRunner, Result

from controlplane.cli.app import Panel, app
from controlplane.cli.base import reports
from controlplane.cli.base.errors import ExitCode
from tests.fakes.api import AT, FakeApi, pipeline

PRINTS_A_FIXED_DOCUMENT = {"diagnose", "migrations report", "audit export", "audit verify"}
BANNED = (
    "books|(?<!dead )letters?|looks?|looking|tells?|told|rungs?|ladder|climbs?|give up|gives up|given up|way back|"
    "goes on|go on|somebody|nobody|whoever|whom|anybody|price|announced|needs a person|believe|emptied|watched|"
    "begin|begins|begun"
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def nodes(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command and group with its full name."""
    for name, command in group.commands.items():
        yield f"{prefix}{name}", command
        yield from nodes(command, f"{prefix}{name} ") if hasattr(command, "commands") else ()


TREE: Any = typer.main.get_command(app)
NODES = dict(nodes(TREE))
COMMANDS = {name: command for name, command in NODES.items() if not hasattr(command, "commands")}


def test_every_command_of_the_top_has_a_panel() -> None:
    panels = {name: command.rich_help_panel for name, command in TREE.commands.items()}
    assert [name for name, panel in panels.items() if panel not in set(Panel)] == []


def test_the_help_shows_the_panels_in_their_order() -> None:
    shown = re.findall(r"─ (\w+) ─", run("--help").stdout)
    assert shown == ["Options", *(panel for panel in Panel if panel in shown)]
    assert len(shown) > len(Panel) - 1


@pytest.mark.parametrize("name", NODES)
def test_every_command_and_every_option_has_a_help_text_without_private_words(name: str) -> None:
    texts = [NODES[name].help, *(each.help for each in NODES[name].params if each.name != "help")]
    assert all(texts), texts
    assert [text for text in texts if re.search(rf"\b({BANNED})\b", text, re.IGNORECASE)] == []


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if TREE.commands[name.split()[0]].rich_help_panel != "Server"]
)
def test_every_command_that_prints_data_has_an_output_format(name: str) -> None:
    options = {option for each in COMMANDS[name].params for option in each.opts}
    assert ({"-o", "--output"} <= options) is (name not in PRINTS_A_FIXED_DOCUMENT)


@pytest.mark.parametrize("name", [name for name in NODES if name not in COMMANDS])
def test_a_noun_alone_shows_its_verbs(name: str) -> None:
    shown = run(*name.split())
    assert [verb for verb in NODES[name].commands if verb not in shown.output] == []


def test_the_version_is_printed_without_a_command() -> None:
    assert run("--version").stdout == f"headgate {version('headgate')}\n"


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("strat", "orders"), "'start'"),
        (("migration", "list"), "'migrations'"),
        (("hosts", "evacute", "alpha"), "'evacuate'"),
        (("list", "--phas", "RUNNING"), "'--phase'"),
    ],
)
def test_an_unknown_command_or_option_is_answered_with_the_nearest_one(
    arguments: tuple[str, ...], suggestion: str
) -> None:
    refused = run(*arguments)
    assert refused.exit_code == ExitCode.USAGE
    assert "Did you mean" in refused.output
    assert suggestion in refused.output


@pytest.mark.parametrize("command", [("show",), ("status",), ("start",), ("runs", "list"), ("dead-letters", "list")])
def test_an_unknown_pipeline_is_answered_with_the_nearest_name(orders: FakeApi, command: tuple[str, ...]) -> None:
    missing = run(*command, "odrers")
    assert missing.exit_code == ExitCode.FAILED
    assert 'Did you mean "orders"?' in missing.stderr
    assert "`headgate list` lists the pipelines." in run(*command, "zzz").stderr


def test_an_unknown_host_is_answered_with_the_nearest_name(api: FakeApi) -> None:
    api.answers["GET", "hosts/alhpa"] = 404, {"code": "host_not_found", "title": "Not found"}
    api.answers["GET", "hosts"] = 200, [{"name": "alpha"}]
    assert 'Did you mean "alpha"?' in run("hosts", "show", "alhpa").stderr


def test_the_same_answer_is_printed_as_table_json_and_yaml(orders: FakeApi) -> None:
    answer = [orders.pipelines["orders"]]
    assert json.loads(run("list", "-o", "json").stdout) == answer
    assert yaml.safe_load(run("list", "--output", "yaml").stdout) == answer
    table = run("list", "-o", "table").stdout
    assert table == run("list").stdout
    assert "payments" not in table
    assert run("list", "-o", "xml").exit_code == ExitCode.USAGE


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_an_error_has_the_format_of_the_data(orders: FakeApi, form: str, load: Any) -> None:
    error = load(run("show", "odrers", "-o", form).stderr)["error"]
    assert (error["code"], error["exit_code"]) == ("pipeline_not_found", 1)


def test_followed_records_are_json_lines_or_yaml_documents(orders: FakeApi) -> None:
    event = {"id": 1, "at": AT, "kind": "phase.changed", "pipeline": "orders", "actor": "ada", "message": "first"}
    orders.events = [event, {**event, "id": 2}]
    lines = run("events", "-f", "-o", "json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    documents = yaml.safe_load_all(run("events", "-f", "-o", "yaml").stdout)
    assert [document["id"] for document in documents] == [1, 2]


def live(phase: str, *, lag: int | None, in_flight: int) -> dict[str, Any]:
    figures = {"lag_records": lag, "in_flight": in_flight, "as_of": AT if lag is not None else None}
    found = pipeline(phase.lower(), phase=phase)
    return found | {"host": "alpha", "headline": f"{phase.title()}!", "live": found["live"] | figures}


@pytest.fixture
def fleet(api: FakeApi) -> FakeApi:
    found = [live("RUNNING", lag=1200, in_flight=1), live("PAUSED", lag=30, in_flight=0)]
    found.append(live("STOPPED", lag=None, in_flight=0))
    api.pipelines = {each["name"]: each for each in found}
    return api


def test_the_status_of_the_fleet_has_a_line_for_each_pipeline_and_the_sums(fleet: FakeApi) -> None:
    lines = [" ".join(line.split()) for line in run("status").stdout.splitlines()]
    assert "running RUNNING alpha - 1,200 1 Running!" in lines
    assert "stopped STOPPED alpha - - - Stopped!" in lines
    assert lines[-1] == "3 pipelines: 1 RUNNING, 1 PAUSED, 1 STOPPED; lag 1,230; 1 batch in flight"
    assert json.loads(run("status", "-o", "json").stdout) == list(fleet.pipelines.values())


def test_the_status_of_an_empty_fleet_offers_the_first_command(api: FakeApi) -> None:
    assert run("status").stdout.strip().endswith("No pipelines. Create one: headgate apply -f FILE")


def test_the_status_of_the_fleet_is_watched_by_its_sums(fleet: FakeApi) -> None:
    changes = iter([{}, {"phase": "FAILED"}])

    def change(*_: Any) -> tuple[int, Any]:
        following = next(changes, None)
        if following is None:
            return 401, {"code": "not_authenticated"}
        fleet.pipelines["paused"] |= following
        return 200, {"results": list(fleet.pipelines.values()), "next": None}

    fleet.answer = change  # type: ignore[assignment, method-assign]
    lines = run("status", "--watch").stdout.splitlines()
    assert [line.partition(";")[0] for line in lines] == [
        "3 pipelines: 1 RUNNING, 1 PAUSED, 1 STOPPED",
        "3 pipelines: 1 RUNNING, 1 FAILED, 1 STOPPED",
    ]


def test_a_finding_whose_message_is_the_headline_keeps_its_code_and_what_to_do() -> None:
    said = "The disk of /runs is full."
    finding = {"path": "/runs", "code": "DISK_FULL", "message": said, "suggestion": "Free some space."}
    empty: dict[str, Any] = {name: [] for name in ("conditions", "queries", "ingest_buffers", "components")}
    found = {"name": "orders", "phase": "DEGRADED", "headline": said, "findings": [finding], **empty}
    console = Console(width=200)
    with console.capture() as printed:
        console.print(reports.status(found))
    text = printed.get()
    assert (text.count(said), "DISK_FULL" in text, "Free some space." in text) == (1, True, True), text
