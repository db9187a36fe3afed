"""The command line against the real API, over HTTP: its fake must not be the only thing it was ever tried with."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from controlplane.cli.base import following, reports
from controlplane.cli.base.errors import ExitCode
from controlplane.cli.base.session import Session
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.models import Revision
from pipelines.services.hosts.broker_connection import record
from tests.db.conftest import CommandLine, Run, Server
from tests.factories import DeadLetterFactory, HostFactory, PipelineFactory, RunFactory, definition_data


@pytest.fixture
def run(command_line: CommandLine) -> Run:
    """A command line that may act."""
    return command_line("operator", Role.OPERATOR)


ORDERS = yaml.safe_dump(definition_data("orders"))


def test_a_definition_is_created_then_unchanged_then_revised(run: Run) -> None:
    assert run("apply", "-f", "-", "--note", "first", text=ORDERS).stdout == "orders: created\n"
    assert Revision.objects.get().note == "first"
    assert run("apply", "-f", "-", text=ORDERS).stdout == "orders: unchanged (revision 1)\n"
    changed = yaml.safe_dump(definition_data("orders", description="Other orders"))
    assert run("apply", "-f", "-", "--note", "words", text=changed).stdout == "orders: revision 2\n"
    shown = run("show", "orders", "--definition").stdout
    assert run("validate", "-f", "-", text=shown).exit_code == 0
    assert run("apply", "-f", "-", text=shown).stdout == "orders: unchanged (revision 2)\n"


def test_every_command_that_reads_works_on_a_new_pipeline(run: Run) -> None:
    run("apply", "-f", "-", text=ORDERS)
    for command in (
        ["list"],
        ["list", "--phase", "stopped"],
        ["show", "orders"],
        ["status"],
        ["status", "orders"],
        ["ledger", "orders"],
        ["ledger", "orders", "--totals"],
        ["ledger", "orders", "--since", "15m"],
        ["ledger", "orders", "--since", "15m", "--outcome", "filtered", "--component", "sources.shop.interceptors[0]"],
        ["runs", "list", "orders"],
        ["events"],
        ["components", "list"],
        ["components", "show", "kafka"],
        ["dead-letters", "list", "orders"],
    ):
        plain, as_json = run(*command), run(*command, "-o", "json")
        assert plain.exit_code == as_json.exit_code == 0, (command, plain.output)
        assert plain.stdout.strip()
        json.loads(as_json.stdout)
    assert "orders" in run("list").stdout
    assert run("logs", "orders").exit_code == ExitCode.FAILED
    assert "pipeline.created" in run("events", "--pipeline", "orders").stdout


def test_a_host_is_shown_with_what_its_broker_lacks(run: Run) -> None:
    HostFactory.create(name="alpha", responding=True)
    record(host="alpha", state="HEALTHY", words="", round_trip=0.001, now=clock.now(), warnings=["It has holes."])
    assert "Warning: It has holes." in run("hosts", "show", "alpha").stdout
    assert json.loads(run("hosts", "show", "alpha", "-o", "json").stdout)["messages"]["warnings"] == ["It has holes."]


def test_a_pipeline_that_is_wanted_running_takes_no_revision(run: Run) -> None:
    run("apply", "-f", "-", text=ORDERS)
    assert run("start", "orders").exit_code == 0
    refused = run("apply", "-f", "-", text=yaml.safe_dump(definition_data("orders", description="Other")))
    assert refused.exit_code == ExitCode.REFUSED
    assert "headgate stop" in refused.stderr


def test_waiting_without_a_supervisor_times_out_and_cancels_nothing(run: Run) -> None:
    run("apply", "-f", "-", text=ORDERS)
    result = run("start", "orders", "--wait", "--timeout", "1")
    assert result.exit_code == ExitCode.TIMED_OUT
    operation = json.loads(run("status", "orders", "-o", "json").stdout)["operation"]
    assert operation["kind"] == "start"


def test_what_is_impossible_is_refused_with_the_reason(run: Run) -> None:
    run("apply", "-f", "-", text=ORDERS)
    result = run("pause", "orders")
    assert result.exit_code == ExitCode.REFUSED
    assert result.stderr.strip()
    assert run("stop", "orders", "--wait").exit_code == 0, "it is stopped already"


def test_a_viewer_and_a_stranger_have_no_access(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run("apply", "-f", "-", text=ORDERS)
    monkeypatch.setenv("HEADGATE_TOKEN", server.token)
    assert run("list").exit_code == 0
    assert run("start", "orders").exit_code == ExitCode.NO_ACCESS
    monkeypatch.setenv("HEADGATE_TOKEN", "nobody")
    assert run("list").exit_code == ExitCode.NO_ACCESS
    monkeypatch.delenv("HEADGATE_TOKEN")
    assert "HEADGATE_TOKEN" in run("list").stderr


def test_the_stream_of_events_continues_after_the_last_event(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("apply", "-f", "-", text=ORDERS)
    run("start", "orders")
    ids = [event["id"] for event in json.loads(run("events", "-o", "json").stdout)]
    assert len(ids) > 1
    seen: list[int] = []

    def see(_: Session, event: dict[str, Any]) -> None:
        seen.append(event["id"])
        if seen == ids[1:]:
            raise KeyboardInterrupt

    monkeypatch.setattr(reports, "event", see)
    with pytest.raises(KeyboardInterrupt):
        following.follow_events(Session(server.url, server.token), {}, last_id=str(ids[0]))
    assert seen == ids[1:]


def test_events_are_filtered_by_kind_and_category(run: Run) -> None:
    run("apply", "-f", "-", text=ORDERS)
    run("start", "orders")

    def kinds(*options: str) -> list[str]:
        return [event["kind"] for event in json.loads(run("events", *options, "-o", "json").stdout)]

    assert kinds() == ["pipeline.created", "desired.changed"]
    assert kinds("--kind", "pipeline.*", "--kind", "phase.changed") == ["pipeline.created"]
    assert kinds("--category", "requests") == ["desired.changed"]
    assert kinds("--category", "requests", "--kind", "pipeline.created") == ["pipeline.created", "desired.changed"]
    refused = run("events", "--kind", "phase.chnged", "--category", "state")
    assert refused.exit_code == ExitCode.FAILED
    assert 'Did you mean "phase.changed"?' in refused.stderr
    assert "'states', 'requests', 'migrations', 'faults' or 'configuration'" in refused.stderr


def test_a_list_in_which_nothing_matches_says_so_and_is_empty_for_programs(run: Run) -> None:
    assert run("events").stdout == "No events.\n"
    assert run("list").stdout == "No pipelines. Create one: headgate apply -f FILE\n"
    run("apply", "-f", "-", text=ORDERS)
    for words, command in {
        "alerts": ("alerts", "list", "--rule", "lag"),
        "change requests": ("requests", "list", "--pipeline", "orders"),
        "dead letters": ("dead-letters", "list", "orders", "--state", "new"),
        "events": ("events", "--kind", "phase.changed"),
        "migrations": ("migrations", "list", "--pipeline", "orders"),
        "pipelines": ("list", "--phase", "running"),
        "silences": ("silences", "list", "--state", "active"),
    }.items():
        assert run(*command).stdout == f"No {words} match.\n"
        assert json.loads(run(*command, "-o", "json").stdout) == []
    for command in (("fleet", "--label", "env:none"), ("status", "--host", "none")):
        assert run(*command).stdout.endswith("No pipelines match.\n")


def test_dead_letters_are_listed_shown_retried_and_discarded(run: Run) -> None:
    row = RunFactory.create(pipeline=PipelineFactory.create(name="orders"))
    dead_letters = [DeadLetterFactory.create(run=row) for _ in range(3)]
    first, second, third = (dead_letter.dead_letter_id for dead_letter in dead_letters)
    assert [each["id"] for each in json.loads(run("dead-letters", "list", "orders", "-o", "json").stdout)] == [
        third,
        second,
        first,
    ]
    assert "3 new" in run("dead-letters", "list", "orders", "--since", "1h", "--state", "new").stdout
    assert f"body {dead_letters[0].offset}" in run("dead-letters", "show", "orders", first).stdout
    assert run("dead-letters", "discard", "orders", third, "--reason", "test").stdout == "1 discarded\n"
    assert run("dead-letters", "retry", "orders", third).exit_code == ExitCode.REFUSED
    asked = json.loads(run("dead-letters", "retry", "orders", first, "--body", "-", "-o", "json", text="mended").stdout)
    assert (asked["kind"], asked["progress"]["of"]) == ("retry", 1)
    refused = run("dead-letters", "retry", "orders", "--all")
    assert refused.exit_code == ExitCode.REFUSED
    assert asked["id"] in refused.stderr
