"""The command line against a fake API: its requests, its output and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from controlplane.cli.base import following, waiting
from controlplane.cli.base.errors import MEANINGS, ExitCode
from controlplane.cli.hosts import hosts
from controlplane.cli.lifecycle import lifecycle
from pipelines.domain.lifecycle.operations import DrainOnTimeout, PauseOnTimeout
from tests.fakes.api import AT, TOKEN, FakeApi, operation, problem, serving, status
from tests.unit.definitions import ORDERS, changed


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "orders.yaml"
    path.write_text(yaml.safe_dump(ORDERS))
    return str(path)


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def test_validate_works_without_a_server(file: str) -> None:
    result = run("--url", "http://127.0.0.1:1", "validate", "-f", file)
    assert result.exit_code == 0
    assert [line.partition(". ")[0] for line in result.stdout.splitlines()] == [
        "Valid.",
        "shop.audit: Exactly once",
        "shop.lake: Exactly once",
    ]


def test_validate_shows_every_finding_with_its_line_and_ends_with_4() -> None:
    text = yaml.safe_dump(changed({"sources/shop/topixs": 1, "sinks/lake/channel": "lak"}), sort_keys=False)
    result = run("validate", "-f", "-", text=text)
    assert result.exit_code == ExitCode.REFUSED
    for expected in ("sources.shop.topixs (line", 'Did you mean "topics"?', "unknown_channel", "Invalid: 3 errors."):
        assert expected in result.stdout


def test_validate_prints_one_json_document() -> None:
    result = run("validate", "-f", "-", "-o", "json", text="name: [")
    document = json.loads(result.stdout)
    assert document["valid"] is False
    assert document["findings"][0]["code"] == "syntax"
    assert json.loads(run("validate", "-f", "-", "-o", "json", text=json.dumps(ORDERS)).stdout)["valid"] is True


def test_a_file_that_is_not_there_is_a_usage_error_in_words() -> None:
    result = run("validate", "-f", "nowhere.yaml")
    assert result.exit_code == ExitCode.USAGE
    assert "nowhere.yaml cannot be read: No such file" in result.stderr


def test_apply_creates_a_pipeline_that_is_not_there(api: FakeApi, file: str) -> None:
    result = run("apply", "-f", file)
    assert (result.exit_code, result.stdout) == (0, "orders: created\n")
    (request,) = api.asked("POST")
    assert request["path"] == "pipelines"
    assert yaml.safe_load(request["body"]["definition"]) == ORDERS
    assert request["headers"]["idempotency-key"]


@pytest.mark.parametrize(
    ("status", "words"),
    [(201, "orders: revision 2\n"), (200, "orders: text of revision 2 changed; the definition is the same\n")],
)
def test_apply_publishes_a_revision_of_one_that_is_there(orders: FakeApi, file: str, status: int, words: str) -> None:
    orders.answers["POST", "pipelines/orders/revisions"] = (status, {"number": 2})
    result = run("apply", "-f", file, "--note", "more topics")
    assert (result.exit_code, result.stdout) == (0, words)
    assert orders.asked("POST")[0]["body"]["note"] == "more topics"


def test_apply_to_a_running_pipeline_says_what_to_do(orders: FakeApi, file: str) -> None:
    orders.answers["POST", "pipelines/orders/revisions"] = problem(409, "pipeline_not_stopped", hint="Stop it first.")
    result = run("apply", "-f", file)
    assert result.exit_code == ExitCode.REFUSED
    assert "pipeline_not_stopped!" in result.stderr
    assert "headgate stop NAME --wait" in result.stderr


def test_apply_of_a_wrong_definition_asks_the_server_nothing(api: FakeApi) -> None:
    result = run("apply", "-f", "-", text="name: x")
    assert result.exit_code == ExitCode.REFUSED
    assert "missing_key" in result.stderr
    assert api.requests == []


def test_findings_of_the_server_are_shown(api: FakeApi, file: str) -> None:
    finding = {"path": "sinks.lake", "code": "too_new", "message": "Not here", "suggestion": "Upgrade"}
    api.answers["POST", "pipelines"] = problem(422, "definition_invalid", findings=[finding])
    result = run("apply", "-f", file)
    assert result.exit_code == ExitCode.REFUSED
    assert "sinks.lake" in result.stderr
    assert "Upgrade" in result.stderr


def test_list_filters_at_the_server_and_prints_a_table_or_json(orders: FakeApi) -> None:
    result = run("list", "--phase", "stopped", "--label", "team:payments", "--host", "alpha", "-q", "ord")
    assert "orders" in result.stdout
    wanted = {"phase": "STOPPED", "label": "team:payments", "host": "alpha", "q": "ord"}
    assert orders.requests[0]["query"] == {**wanted, "limit": "500"}
    assert [each["name"] for each in json.loads(run("list", "-o", "json").stdout)] == ["orders"]


def test_status_is_of_one_pipeline_or_of_those_of_one_host(orders: FakeApi) -> None:
    assert "orders" in run("status", "--host", "alpha").stdout
    assert orders.requests[-1]["query"] == {"host": "alpha", "limit": "500"}
    assert run("status", "orders", "--host", "alpha").exit_code == ExitCode.USAGE


def test_show_prints_the_definition_alone(orders: FakeApi) -> None:
    assert run("show", "orders", "--definition").stdout == "name: orders\n"
    assert "team:payments" in run("show", "orders").stdout


@pytest.mark.parametrize("action", ["start", "pause", "resume", "stop", "restart"])
def test_an_action_is_requested_once_and_prints_how_to_follow_it(orders: FakeApi, action: str) -> None:
    result = run(action, "orders")
    assert result.exit_code == 0
    assert "headgate status orders --watch" in result.stdout
    (request,) = orders.asked("POST")
    assert request["path"] == f"pipelines/orders/{action}"
    assert request["body"] == ({"drain": True} if action == "stop" else {})


def test_a_stop_without_draining_is_part_of_the_request(orders: FakeApi) -> None:
    run("stop", "orders", "--no-drain")
    assert orders.asked("POST")[0]["body"] == {"drain": False}


def test_the_action_after_a_drain_timeout_is_part_of_the_request(orders: FakeApi) -> None:
    run("stop", "orders", "--on-timeout", "abort")
    run("pause", "orders", "--on-timeout", "stay")
    run("restart", "orders", "--on-timeout", "stop")
    run("hosts", "drain", "alpha", "--on-timeout", "stop")
    assert [each["body"] for each in orders.asked("POST")] == [
        {"drain": True, "on_timeout": "abort"},
        {"on_timeout": "stay"},
        {"on_timeout": "stop"},
        {"on_timeout": "stop"},
    ]
    assert run("pause", "orders", "--on-timeout", "stop").exit_code == 2


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        (lifecycle.PauseOnTimeout, PauseOnTimeout),
        (lifecycle.StopOnTimeout, DrainOnTimeout),
        (lifecycle.RestartOnTimeout, DrainOnTimeout),
        (hosts.DrainOnTimeout, DrainOnTimeout),
    ],
)
def test_on_timeout_takes_what_the_server_takes(option: Any, allowed: Any) -> None:
    offered, _ = get_args(get_args(option)[0])
    assert set(get_args(offered)) == set(get_args(allowed))


def test_wait_shows_the_steps_and_ends_when_it_is_done(orders: FakeApi) -> None:
    orders.looks = [operation("start", "RUNNING"), operation("start", "RUNNING"), operation("start", "SUCCEEDED")]
    result = run("start", "orders", "--wait")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == ["preflight: running", "preflight: done"]
    assert "Done: start of orders." in result.stdout


def test_waiting_outlives_a_server_that_is_away_for_a_while(orders: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "wait_for", _failing_first(waiting.wait_for, orders))
    orders.looks = [operation("start", "SUCCEEDED")]
    assert run("start", "orders", "--wait").exit_code == 0
    assert len([request for request in orders.requests if request["path"].startswith("operations/")]) == 6


def _failing_first(wait_for: Any, api: FakeApi) -> Any:
    """The server begins to fail when the waiting begins: once more than a single read is repeated."""

    def waiting_for(*arguments: Any, **options: Any) -> Any:
        api.failures = [503] * 5
        return wait_for(*arguments, **options)

    return waiting_for


def test_a_failed_operation_ends_with_1_and_its_reason(orders: FakeApi) -> None:
    error = {"code": "drain_timeout", "message": "The in-flight batch took too long.", "hint": "Raise drain_timeout."}
    orders.looks = [operation("pause", "FAILED", error=error)]
    result = run("pause", "orders", "--wait")
    assert result.exit_code == ExitCode.FAILED
    assert "The in-flight batch took too long." in result.stderr
    assert "Raise drain_timeout." in result.stderr


def test_waiting_too_long_ends_with_5_and_the_operation_continues(orders: FakeApi) -> None:
    orders.looks = [operation("start", "RUNNING")]
    result = run("start", "orders", "--wait", "--timeout", "0.3")
    assert result.exit_code == ExitCode.TIMED_OUT
    assert "The start of orders continues." in result.stderr
    assert orders.asked("DELETE") == []


def test_ctrl_c_while_waiting_prints_the_command_that_follows(orders: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(waiting, "wait_for", interrupted)
    result = run("stop", "orders", "--wait")
    assert result.exit_code == ExitCode.INTERRUPTED
    assert "headgate status orders --watch" in result.stderr


def test_wait_with_json_prints_one_document_and_nothing_else(orders: FakeApi) -> None:
    orders.looks = [operation("start", "SUCCEEDED")]
    result = run("start", "orders", "--wait", "-o", "json")
    assert json.loads(result.stdout)["state"] == "SUCCEEDED"
    assert result.stderr == ""


def test_a_refused_action_ends_with_4(orders: FakeApi) -> None:
    orders.answers["POST", "pipelines/orders/pause"] = problem(409, "not_possible", hint="Start it first.")
    result = run("pause", "orders", "-o", "json")
    assert result.exit_code == ExitCode.REFUSED
    error = json.loads(result.stderr)["error"]
    assert (error["code"], error["hint"], error["exit_code"]) == ("not_possible", "Start it first.", 4)


def test_a_pipeline_that_is_not_there_ends_with_1(api: FakeApi) -> None:
    result = run("show", "missing")
    assert result.exit_code == ExitCode.FAILED
    assert "pipeline_not_found!" in result.stderr


def test_a_wrong_token_ends_with_3(orders: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "wrong")
    result = run("list")
    assert result.exit_code == ExitCode.NO_ACCESS
    assert "HEADGATE_TOKEN" in result.stderr
    assert "wrong" not in result.stderr


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "žluť"])
def test_a_token_that_is_none_is_not_repeated(orders: FakeApi, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", token)
    result = run("list")
    assert result.exit_code == ExitCode.USAGE
    assert token not in result.stderr


def test_an_unreachable_server_ends_with_3() -> None:
    result = run("--url", "http://127.0.0.1:1", "list")
    assert result.exit_code == ExitCode.NO_ACCESS
    assert "http://127.0.0.1:1 is unreachable" in result.stderr


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://[", "http://x:99999"])
def test_an_address_that_is_none_is_a_usage_error(url: str) -> None:
    result = run("--url", url, "list")
    assert result.exit_code == ExitCode.USAGE
    assert "HEADGATE_URL is not a valid address" in result.stderr


def test_reads_are_repeated_when_the_server_is_away_for_a_moment(orders: FakeApi) -> None:
    orders.failures = [503, 502]
    assert run("list").exit_code == 0
    assert len(orders.requests) == 3


def test_reads_are_repeated_while_the_database_is_away(orders: FakeApi) -> None:
    orders.failures, orders.retry_after = [503] * 6, "0"
    assert run("list").exit_code == 0
    assert len(orders.requests) == 7


def test_a_repeated_post_carries_the_same_key(orders: FakeApi) -> None:
    orders.failures = [503]
    assert run("start", "orders").exit_code == 0
    first, second = orders.asked("POST")
    assert first["headers"]["idempotency-key"] == second["headers"]["idempotency-key"]


def test_a_name_cannot_lead_to_another_address(api: FakeApi) -> None:
    run("show", "../operations/1")
    assert api.requests[0]["path"] == "pipelines/..%2Foperations%2F1"


def test_a_command_line_that_is_wrong_ends_with_2() -> None:
    assert run("start").exit_code == ExitCode.USAGE
    assert run("fly").exit_code == ExitCode.USAGE
    assert run("logs", "orders", "--tail", "0").exit_code == ExitCode.USAGE


def test_status_shows_phase_and_conditions(orders: FakeApi) -> None:
    result = run("status", "orders")
    assert "STOPPED" in result.stdout
    assert "LedgerBalanced" in result.stdout
    assert json.loads(run("status", "orders", "-o", "json").stdout)["name"] == "orders"


def totals(*, balanced: bool) -> dict[str, Any]:
    counts = dict.fromkeys(
        ("read", "delivered", "filtered", "unrouted", "dead_lettered", "duplicates_max", "gaps", "overlaps"), 7
    )
    more = {"added": 0, "routed_elsewhere": 2, "components": COMPONENTS, "not_by_component": {"filtered": 4}}
    sizes = {"delivered_bytes": 1_400, "delivered_without_bytes": 3}
    channel = {"source": "shop", "channel": "lake", "balanced": balanced, **counts, **more, **sizes}
    return {"channels": [channel], "balanced": balanced, "positions": [], **sizes}


def test_totals_have_the_bytes_that_were_delivered_and_say_of_how_many_records_they_are_unknown(
    orders: FakeApi,
) -> None:
    orders.totals = totals(balanced=True)
    shown = run("ledger", "orders", "--totals").stdout
    assert "1,400" in shown
    assert "The bytes of 3 delivered records are not known" in shown


PART = dict.fromkeys(("added", "routed_elsewhere", "filtered", "unrouted", "dead_lettered"), 0)
COMPONENTS = [
    {**PART, "component": "quarantine", "type": "", "first_revision": 2, "last_revision": 2, "dead_lettered": 7},
    {**PART, "component": "sources.shop.interceptors[0]", "type": "regex_filter", "filtered": 3}
    | {"first_revision": 1, "last_revision": 4},
    {**PART, "component": "sources.shop.selector", "type": "multiplexing", "unrouted": 7, "routed_elsewhere": 2}
    | {"first_revision": 1, "last_revision": 4},
]


def test_totals_have_the_parts_of_each_component_below_their_channel(orders: FakeApi) -> None:
    orders.totals = totals(balanced=True)
    shown = run("ledger", "orders", "--totals").stdout
    lines = [line.split() for line in shown[shown.index("component") :].splitlines()[:7]]
    cells = [line for line in lines if line and not set(line[0]) & set("-━─")]
    assert cells[1:6] == [
        ["shop", ">", "lake", "-", "-", "0", "2", "7", "7", "7"],
        ["quarantine", "-", "2", "-", "-", "-", "-", "7"],
        ["sources.shop.interceptors[0]", "regex_filter", "1", "to", "4", "-", "-", "3", "-", "-"],
        ["sources.shop.selector", "multiplexing", "1", "to", "4", "-", "2", "-", "7", "-"],
        ["not", "counted", "by", "component", "-", "-", "-", "-", "4", "-", "-"],
    ]


@pytest.mark.parametrize(("balanced", "exit_code"), [(True, 0), (False, 1)])
def test_an_unbalanced_ledger_is_the_exit_code(orders: FakeApi, balanced: bool, exit_code: int) -> None:
    orders.totals = totals(balanced=balanced)
    result = run("ledger", "orders", "--totals")
    assert result.exit_code == exit_code
    assert ("Unbalanced" in result.stdout) is not balanced
    assert run("ledger", "orders", "--totals", "-o", "json").exit_code == exit_code


@pytest.mark.parametrize("other", [["--totals"], ["--source", "shop"], ["--channel", "lake"], ["--run", "2"]])
def test_what_became_of_a_while_is_not_narrowed_by_what_it_would_ignore(orders: FakeApi, other: list[str]) -> None:
    result = run("ledger", "orders", "--since", "5m", *other)
    assert (result.exit_code, other[0] in result.stderr) == (2, True), result.output
    assert orders.requests == []
    assert run("ledger", "orders", "--totals", "--outcome", "filtered").exit_code == 2


def a_run(number: int, state: str) -> dict[str, Any]:
    empty = dict.fromkeys(("outcome", "exit_code", "started_at", "ended_at"))
    return empty | {
        "id": number + 100,
        "number": number,
        "state": state,
        "exit_reason": "",
        "revision": 1,
        "host": "alpha",
        "lineage": 1,
    }


def test_logs_are_of_the_latest_run_and_cannot_steer_the_terminal(orders: FakeApi) -> None:
    orders.runs = [a_run(1, "ENDED"), a_run(2, "LIVE")]
    orders.logs = {101: "old\n", 102: "new \x1b[2J\x1b]0;x\x07line\r\n"}
    assert run("logs", "orders").stdout == "new ]0;xline\n"
    assert run("logs", "orders", "--run", "1").stdout == "old\n"
    assert json.loads(run("logs", "orders", "-o", "json").stdout)["run"] == 2


def test_the_lines_of_a_log_that_are_wanted_are_chosen_by_the_server(orders: FakeApi) -> None:
    orders.runs = [a_run(1, "ENDED"), a_run(2, "LIVE")]
    orders.logs = {101: "old\n", 102: "x\n" * 100}
    chosen = ("--level", "ERROR", "--component", "jvm", "--since", "5m", "--find", "oops")
    shown = run("logs", "orders", *chosen)
    asked = orders.asked("GET")[-1]["query"]
    assert asked == {"tail": "200", "level": "ERROR", "component": "jvm", "since": "5m", "find": "oops"}
    assert "Only the last 100 of 200 bytes were searched." in shown.stderr
    assert "searched" not in run("logs", "orders").stderr


def test_a_log_without_a_line_says_so_beside_the_lines(orders: FakeApi) -> None:
    orders.runs, orders.logs = [a_run(1, "LIVE")], {101: ""}
    whole, found = run("logs", "orders"), run("logs", "orders", "--find", "oops")
    assert (whole.stdout, whole.stderr) == ("", "No lines.\n")
    assert (found.stdout, found.stderr) == ("", "No lines match.\n")


def test_a_log_is_printed_around_a_line_and_of_the_run_before(orders: FakeApi) -> None:
    orders.runs = [a_run(1, "ENDED") | {"epoch": 1}, a_run(2, "LIVE") | {"epoch": 2}]
    orders.logs = {101: "old\n", 102: "new\n"}
    assert run("logs", "orders", "--previous").stdout == "old\n"
    assert run("logs", "orders", "-p", "--run", "1").exit_code == ExitCode.FAILED
    address = "2026-01-01T00:00:00.000Z~0123abcd"
    assert run("logs", "orders", "--at", address).stdout == "new\n"
    assert orders.asked("GET")[-1]["query"]["at"] == address
    assert run("logs", "orders", "--at", address, "--level", "ERROR").exit_code == ExitCode.USAGE


def test_the_frames_of_a_component_that_is_stuck_are_marked(orders: FakeApi) -> None:
    orders.runs = [a_run(1, "ENDED")]
    text = (
        "Thread 0x1 (most recent call first):\n"
        '  File "/usr/lib/ssl.py", line 10 in read\n'
        '  File "/agent/invoking.py", line 3 in sinks.lake\n'
        '  File "/agent/batches.py", line 7 in deliver\n'
        "\nThread 0x2 (most recent call first):\n"
        '  File "/usr/lib/threading.py", line 9 in wait\n'
    )
    file = {"name": "kill-driver.txt", "process": "driver", "text": text}
    dump = {"at": AT, "stop_stage": "KILL", "number": 0, "asked": "", "stuck": ["sinks.lake"], "silent": []}
    answer = {"run": 101, "elsewhere": "", "dumps": [{**dump, "files": [file]}]}
    orders.answers["GET", "runs/101/stacks"] = (200, answer)
    marked = [line for line in run("runs", "stacks", "orders").stdout.splitlines() if line.startswith(">>")]
    assert marked == [
        '>>File "/usr/lib/ssl.py", line 10 in read',
        '>>File "/agent/invoking.py", line 3 in sinks.lake',
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["up to 1,250 records remain", "about 25 s left", "Delayed by sinks.out", "1,250 possible duplicates"]),
        ({"records": None, "seconds_left": None}, ["an unknown number of records remains", "time left unknown"]),
        ({"possible_duplicates": 0, "stale": True}, ["no duplicates", "These figures are old"]),
    ],
)
def test_the_status_says_what_a_stop_waits_for(orders: FakeApi, changes: dict[str, Any], words: list[str]) -> None:
    figures = {"batches": 1, "records": 1250, "rate": 50.0, "seconds_left": 25, "possible_duplicates": 1250}
    about = {"kind": "stop", "deadline": AT, "as_of": AT, "stale": False, "held_by": ["sinks.out"]}
    found = status(orders.pipelines["orders"]) | {"drain": figures | about | changes}
    orders.answers["GET", "pipelines/orders/status"] = (200, found)
    shown = run("status", "orders").stdout
    assert [each for each in words if each not in shown] == []


def test_following_an_ended_run_ends_with_it(orders: FakeApi) -> None:
    orders.runs = [a_run(1, "ENDED")]
    orders.logs = {101: "one\ntwo\n"}
    assert run("logs", "orders", "-f", "--run", "1").stdout == "one\ntwo\n"


def event(number: int, message: str) -> dict[str, Any]:
    return {
        "id": number,
        "at": AT,
        "kind": "phase.changed",
        "pipeline": "orders",
        "actor": "ada",
        "run": 1,
        "message": message,
        "data": {},
    }


def test_events_are_printed_oldest_first(orders: FakeApi) -> None:
    orders.events = [event(1, "first"), event(2, "second")]
    lines = run("events").stdout.splitlines()
    assert ["first" in lines[0], "second" in lines[1]] == [True, True]
    assert [each["id"] for each in json.loads(run("events", "-o", "json").stdout)] == [1, 2]


def frame(number: int, message: str) -> str:
    return f"id: {number}\nevent: event\ndata: {json.dumps(event(number, message))}\n\n"


def test_following_events_continues_after_an_interruption(orders: FakeApi) -> None:
    orders.events = [event(1, "first")]
    live = "event: live\ndata: {}\n\n"
    orders.streams = [[": heartbeat\n\n", frame(2, "second"), live], [frame(3, "third")]]
    result = run("events", "-f", "-o", "json")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [1, 2, 3]
    streams = [request for request in orders.requests if request["headers"]["accept"] == "text/event-stream"]
    assert [request["headers"]["last-event-id"] for request in streams] == ["1", "2", "3"]
    assert result.exit_code == ExitCode.NO_ACCESS, "the third stream is refused with 403"


def test_following_ends_after_many_failures(orders: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MAX_FAILURES", 3)
    orders.streams = [[], [], [], [], [], []]
    assert run("events", "-f").exit_code == ExitCode.NO_ACCESS
    assert len(orders.streams) == 2


def test_an_answer_of_another_server_is_an_error() -> None:
    with serving() as api:
        api.answers["GET", "pipelines"] = (302, {})
        result = CliRunner(env={"HEADGATE_URL": api.url, "HEADGATE_TOKEN": TOKEN}).invoke(app, ["list"])
    assert result.exit_code == ExitCode.NO_ACCESS
    assert "is not a Headgate server" in result.stderr


def test_help_names_every_exit_code_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom controlplane.cli.app import main\n"
        "sys.argv = ['headgate', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('httpx2', 'pydantic', 'yaml', 'django', 'pipelines') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip().endswith("[]")
    unwrapped = " ".join(result.stdout.split())
    assert all(f"{code.value} {meaning.split()[0]}" in unwrapped for code, meaning in MEANINGS.items())
