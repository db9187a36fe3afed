"""The commands that need no server: validate, flume import, components."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from controlplane.cli.base.errors import ExitCode
from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.domain.definitions.parts import registry
from tests.unit.flume.files import HERE

ORDERS = HERE / "01_kafka_to_kafka.properties"
CUSTOM = HERE / "07_custom_classes.properties"
TWO = HERE / "10_two_agents.properties"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("this command needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.delenv("HEADGATE_TOKEN", raising=False)


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def test_the_functions_of_expressions_are_shown_with_their_component() -> None:
    shown = " ".join(run("components", "show", "sql").stdout.split())
    assert "date_trunc(unit, time)" in shown
    assert "reflect" not in shown


def test_an_import_prints_a_definition_that_validate_accepts_and_its_findings_on_stderr(tmp_path: Path) -> None:
    imported = run("flume", "import", ORDERS)
    assert imported.exit_code == ExitCode.OK
    assert "start_from_chosen" in imported.stderr
    assert "The definition is valid." in imported.stderr

    file = tmp_path / "orders.yaml"
    file.write_text(imported.stdout)
    assert run("validate", "-f", file).stdout.startswith("Valid.\n")


def test_an_import_writes_into_a_file(tmp_path: Path) -> None:
    result = run("flume", "import", ORDERS, "--write", tmp_path / "orders.yaml")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert validate_text((tmp_path / "orders.yaml").read_text()).valid


def test_an_import_that_cannot_write_says_so(tmp_path: Path) -> None:
    result = run("flume", "import", ORDERS, "--write", tmp_path / "missing" / "orders.yaml")
    assert result.exit_code == ExitCode.USAGE
    assert "cannot be written" in result.stderr


def test_an_import_reads_standard_input() -> None:
    result = run("flume", "import", "-", text=ORDERS.read_text())
    assert yaml.safe_load(result.stdout)["name"] == "orders"


def test_an_import_as_json_has_the_definition_the_findings_and_the_verdict() -> None:
    result = run("flume", "import", ORDERS, "-o", "json")
    document = json.loads(result.stdout)
    assert document.keys() == {"definition", "findings", "valid"}
    assert document["valid"] is True
    chosen = next(finding for finding in document["findings"] if finding["code"] == "start_from_chosen")
    assert chosen["line"] == 10
    assert chosen["key"] == "orders.sources.shop.kafka.consumer.auto.offset.reset"
    assert chosen["done"].startswith("start_from is earliest")


def test_an_import_that_is_not_valid_ends_with_4_and_still_prints_the_definition() -> None:
    result = run("flume", "import", CUSTOM, "-o", "json")
    assert result.exit_code == ExitCode.REFUSED
    document = json.loads(result.stdout)
    assert document["valid"] is False
    assert document["definition"]["sinks"]["k1"]["type"] == "com.acme.flume.LakeSink"


def test_an_import_that_would_mislead_ends_with_4_although_its_definition_is_accepted(tmp_path: Path) -> None:
    text = ORDERS.read_text() + "orders.sources.shop.batchSize = 10k\n"
    result = run("flume", "import", "-", "--write", tmp_path / "orders.yaml", text=text)
    assert result.exit_code == ExitCode.REFUSED
    assert "The definition is valid." not in result.stderr
    assert "1 error" in result.stderr
    assert validate_text((tmp_path / "orders.yaml").read_text()).valid


def test_a_file_with_several_agents_needs_a_choice() -> None:
    result = run("flume", "import", TWO, "-o", "json")
    assert result.exit_code == ExitCode.REFUSED
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "several_agents"
    assert "Collector, Edge_Agent" in error["title"]
    assert run("flume", "import", TWO, "--agent", "Edge_Agent").exit_code == ExitCode.OK


def test_a_misspelt_agent_gets_the_right_name_suggested() -> None:
    result = run("flume", "import", TWO, "--agent", "edge_agent")
    assert result.exit_code == ExitCode.REFUSED
    assert "--agent Edge_Agent" in result.stderr


def test_a_file_that_is_not_there_is_a_mistake_on_the_command_line() -> None:
    assert run("flume", "import", "/no/such/file").exit_code == ExitCode.USAGE


def test_components_lists_every_type_with_its_kind() -> None:
    result = run("components", "list")
    assert result.exit_code == ExitCode.OK
    for spec in registry.all():
        assert spec.type_name() in result.stdout
        assert spec.title in result.stdout


@pytest.mark.parametrize("words", [["sink", "kafka"], ["sink_kafka"], ["SINK_KAFKA"]])
def test_one_component_is_shown_with_every_key(words: list[str]) -> None:
    result = run("components", "show", *words, "-o", "json")
    (component,) = json.loads(result.stdout)
    assert (component["kind"], component["type"]) == ("sink", "kafka")
    shown = run("components", "show", *words).stdout
    for key, facts in component["schema"]["properties"].items():
        assert key in shown
        assert facts["description"].split()[0] in shown


def test_a_type_of_several_kinds_shows_all_of_them() -> None:
    shown = json.loads(run("components", "show", "kafka", "-o", "json").stdout)
    assert [component["kind"] for component in shown] == ["source", "channel", "sink", "dead_letter"]


def test_a_kind_shows_its_types() -> None:
    shown = json.loads(run("components", "list", "--kind", "selectors", "-o", "json").stdout)
    assert [component["type"] for component in shown] == ["load_balancing", "multiplexing", "replicating"]


def test_a_misspelt_type_gets_the_right_one_suggested() -> None:
    result = run("components", "show", "regexfilter")
    assert result.exit_code == ExitCode.FAILED
    assert "regex_filter" in result.stderr


def test_validate_shows_every_finding_at_once_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("api_version: headgate/v2\nname: Bad Name\nsources: {s: {type: kafkaa}}\nchannels: {}\nsinks: {}\n")
    document = json.loads(run("validate", "-f", file, "-o", "json").stdout)
    assert {"api_version", "name", "sources.s.type", "channels", "sinks"} <= {f["path"] for f in document["findings"]}
    assert all(finding["suggestion"] for finding in document["findings"])
