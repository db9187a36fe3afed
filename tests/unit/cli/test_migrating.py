"""The commands about migrations: what they ask of the server, what they say, and how they end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from controlplane.cli.base.errors import ExitCode
from controlplane.cli.migration import changes
from controlplane.cli.migration.output import Progress
from pipelines.domain.migration import evidence
from tests.fakes.api import AT, TOKEN, FakeApi, problem, serving

ID = "0b6c2f4e-0000-4000-8000-00000000000a"
ONE = f"migrations/{ID}"
PLAN = {
    "changes": [],
    "steps": [],
    "pause": {"expected": 3.0, "most": 60.0},
    "consequence": "restart",
    "skip": 0,
    "replay": 0,
    "blockers": [],
    "warnings": [],
}


def migration(stage: str, **more: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "pipeline": "orders",
        "kind": "revision",
        "stage": stage,
        "stage_since": AT,
        "message": f"{stage}!",
        "reason": "because",
        "created_by": "ana",
        "plan": PLAN,
        "plan_hash": "h" * 64,
        "steps": [],
        "choices": [],
        "approvers_needed": 0,
        "waits_for": None,
        "findings": [],
        "new_host": "beta",
        **more,
    }


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with serving() as fake:
        monkeypatch.setenv("HEADGATE_URL", fake.url)
        monkeypatch.setenv("HEADGATE_TOKEN", TOKEN)
        fake.answers = {
            ("POST", "migrations"): (201, migration("PLANNED")),
            ("POST", f"{ONE}/approve"): (200, migration("APPROVED")),
            ("POST", f"{ONE}/advance"): (202, migration("PREFLIGHT")),
            ("POST", f"{ONE}/rollback"): (202, migration("ROLLING_BACK")),
            ("GET", ONE): (200, migration("COMMITTED")),
        }
        fake.migrations = [migration("PLANNED")]
        yield fake


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def posted(api: FakeApi) -> list[tuple[str, Any]]:
    return [(request["path"], request["body"]) for request in api.asked("POST")]


def test_a_plan_takes_one_kind_of_change(api: FakeApi) -> None:
    done = run(
        "migrations", "plan", "orders", "--host", "beta", "--reason", "new", "--confirm-commit", "--gate", "applying"
    )
    assert done.exit_code == 0, done.output
    spec = {"host": "beta", "rules": {"then": "ask"}, "gates": ["APPLYING"]}
    assert posted(api)[0][1] == {"pipeline": "orders", "kind": "host", "spec": spec, "reason": "new"}
    wrong = run("migrations", "plan", "orders", "--host", "beta", "--software", "--reason", "new")
    assert wrong.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("command", ["plan", "start"])
def test_positions_of_one_source_are_changed(api: FakeApi, command: str) -> None:
    asked = ("migrations", command, "orders", "--reason", "new")
    done = run(*asked, "--to", "latest", "--source", "shop")
    assert done.exit_code == 0, done.output
    assert posted(api)[0][1]["spec"] == {"to": "latest", "source": "shop"}
    wrong = run(*asked, "--host", "beta", "--source", "shop")
    assert wrong.exit_code == ExitCode.USAGE
    assert "--source needs --to" in wrong.stderr


TOTALS = {
    "events": 1000,
    "delivered": 1000,
    "channels": {"main": 1000},
    "filtered": {},
    "dead_letters": 0,
    "unrouted": 0,
    "size": 52_000,
}
LOST = {
    **TOTALS,
    "delivered": 0,
    "channels": {"main": 0},
    "filtered": {"sources.shop.interceptors[0]": 1000},
    "size": 0,
}
PREDICTED = {"source": "shop", "records": 1000, "reason": "", "before": TOTALS, "after": LOST}
FORECAST = {**PLAN, "predictions": [PREDICTED], "to_acknowledge": 1000}


def test_a_plan_shows_the_prediction_with_the_number_to_acknowledge(api: FakeApi) -> None:
    not_predicted = {**PREDICTED, "source": "pos", "reason": "the source is empty", "before": None, "after": None}
    plan = {**FORECAST, "predictions": [PREDICTED, not_predicted]}
    api.answers["POST", "migrations"] = 201, migration("PLANNED", plan=plan)
    shown = run("migrations", "plan", "orders", "--revision", "2", "--reason", "new").output
    for words in (
        "of 1,000 records",
        "1,000 of 1,000 (100.0%)",
        "0 of 1,000 (0.0%)",
        "filtered by sources.shop.interceptors[0]",
        "52,000",
        "--acknowledge 1000",
        "sources.pos: Not predicted, because the source is empty.",
    ):
        assert words in shown, shown


def test_a_plan_names_the_tests_that_passed(api: FakeApi) -> None:
    plan = {**PLAN, "passed_tests": ["orders arrive", "keep-alive lines are filtered"]}
    api.answers["POST", "migrations"] = 201, migration("PLANNED", plan=plan)
    shown = run("migrations", "plan", "orders", "--revision", "2", "--reason", "new").output
    assert "2 tests passed: orders arrive, keep-alive lines are filtered." in shown


SIDE: dict[str, Any] = {"result": "delivered", "component": "", "channels": ["main"], "cause": "", "event": None}
SHADOW = {
    "counts": {"records": 100_000, "identical": 90_000, "different": 9_999, "only_old": 1, "only_new": 0},
    "rate": 499.9,
    "rate_before": 500.0,
    "not_compared": {"shop": {"headers": ["timestamp"], "key": False, "body": True}},
    "samples": [
        {
            "source": "shop",
            "difference": {
                "topic": "orders",
                "partition": 3,
                "offset": 120,
                "copy_number": 0,
                "kinds": ["no_longer_filtered"],
                "components": ["sources.shop.interceptors[0]"],
                "headers": [],
                "body": [{"name": "$.id", "before": "1", "after": "2"}],
                "before": {**SIDE, "result": "filtered", "component": "sources.shop.interceptors[0]", "channels": []},
                "after": SIDE,
            },
        }
    ],
    "notes": ["sources.shop: 2 batches"],
}


def test_a_migration_shows_what_its_shadow_has_compared(api: FakeApi) -> None:
    step = {"name": "shadow", "stage": "SHADOWING", "state": "done", "message": "", "sentence": "Compare."}
    api.answers["GET", ONE] = 200, migration("PAUSING", steps=[step], shadow=SHADOW)
    done = run("migrations", "show", ID)
    assert done.exit_code == 0, done.output
    for words in (
        "100,000 records compared; the old agent reads 499.9 records per second, 500 before.",
        "90,000",
        "9,999",
        "sources.shop: not compared, since no run repeats it: header timestamp, body",
        "orders/3:120",
        "no_longer_filtered",
        "filtered (sources.shop.interceptors[0])",
        "$.id: 1 -> 2",
        "Unlike the ledger: sources.shop: 2 batches",
    ):
        assert words in done.output, done.output


def test_a_migration_shows_what_its_preflight_warns_of(api: FakeApi) -> None:
    warning = {"path": "sinks.out", "code": "REPLICATION_ONE", "message": "One copy.", "suggestion": "Make three."}
    evidence_of = {"components": [{"name": "sinks.out", "state": "ready", "warnings": [warning]}]}
    step = {"name": "prepare_standby", "stage": "PREFLIGHT", "state": "done", "message": "", "sentence": "Start."}
    api.answers["GET", ONE] = 200, migration("PAUSING", steps=[{**step, "evidence": evidence_of}])
    done = run("migrations", "show", ID)
    assert done.exit_code == 0, done.output
    assert [text for text in ("1 warning.", "warning", *warning.values()) if text not in done.output] == []


def test_a_plan_is_made_again_until_the_previews_are_there(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_LIMITS", {"PREDICTING": (0.0, 60.0)})
    waiting = migration("DRAFT", plan={**PLAN, "blockers": [{"code": "PREDICTING"}]})
    api.answers["POST", "migrations"] = 201, waiting
    api.answers["POST", f"{ONE}/plan"] = 200, migration("PLANNED", plan=FORECAST)
    done = run("migrations", "plan", "orders", "--revision", "2", "--reason", "new")
    assert done.exit_code == 0, done.output
    assert [path for path, _ in posted(api)] == ["migrations", f"{ONE}/plan"]


def test_the_number_is_sent_with_the_start_alone(api: FakeApi) -> None:
    done = run("migrations", "start", "orders", "--revision", "2", "--reason", "new", "--acknowledge", "1000")
    assert done.exit_code == 0, done.output
    bodies = dict(posted(api))
    assert bodies[f"{ONE}/approve"] == {"hash": "h" * 64}
    assert bodies[f"{ONE}/advance"] == {"hash": "h" * 64, "acknowledge": 1000}
    run("migrations", "advance", ID, "--acknowledge", "7")
    assert posted(api)[-1][1] == {"hash": "h" * 64, "acknowledge": 7}


def test_a_start_without_the_number_names_the_command_that_has_it(api: FakeApi) -> None:
    api.answers["POST", f"{ONE}/advance"] = problem(409, "not_acknowledged")
    api.answers["GET", ONE] = 200, migration("APPROVED", plan=FORECAST)
    done = run("migrations", "start", "orders", "--revision", "2", "--reason", "new")
    assert done.exit_code == ExitCode.REFUSED
    assert f"headgate migrations advance {ID} --acknowledge 1000" in done.stderr.replace("\n", " ")


def test_a_move_to_another_cluster_is_a_file_and_shows_every_partition(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("source: shop\nto: {bootstrap_servers: 'new:9092'}\npositions: {by: timestamp}\n")
    row = {
        "source": "shop",
        "channel": "main",
        "old_topic": "in",
        "topic": "old.in",
        "partition": 3,
        "stopped_at": 140,
        "new": 1139,
        "exact": False,
        "skip": 0,
        "replay": 1,
        "by": "timestamp",
        "code": "",
        "behind": 0,
    }
    end = {"sink": "out", "topic": "there", "partition": 0, "start": 0, "end": 77}
    plan = {**PLAN, "translation": [row], "sink_ends": [end]}
    api.answers["POST", "migrations"] = 201, migration("PLANNED", plan=plan)
    done = run("migrations", "plan", "orders", "--cluster", str(file), "--reason", "a new cluster")
    assert done.exit_code == 0, done.output
    spec = {"source": "shop", "to": {"bootstrap_servers": "new:9092"}, "positions": {"by": "timestamp"}}
    assert posted(api)[0][1] == {"pipeline": "orders", "kind": "cluster", "spec": spec, "reason": "a new cluster"}
    assert [word for word in ("in/3", "1,139", "77") if word not in done.output] == [], done.output


def evaluated(path: str, op: str, old: Any, new: Any) -> dict[str, Any]:
    change = {"path": path, "op": op, "old": old, "new": new}
    return {"change": change, "consequence": "restart", "reason": "why"}


def test_a_plan_shows_what_each_value_was_and_will_be(api: FakeApi) -> None:
    changes = [
        evaluated("sources.shop.topics", "change", ["a"], ["a", "b"]),
        evaluated("sinks.out.ssl.password", "change", "[hidden]", "${secret:new}"),
        evaluated("sinks.out.body", "add", None, "x" * 100),
    ]
    api.answers["POST", "migrations"] = 201, migration("PLANNED", plan={**PLAN, "changes": changes})
    done = run("migrations", "plan", "orders", "--revision", "2", "--reason", "new")
    rows = {line.split()[0]: " ".join(line.split()) for line in done.stdout.splitlines() if " restart " in line}
    assert rows == {
        "sources.shop.topics": 'sources.shop.topics change ["a"] ["a", "b"] restart why',
        "sinks.out.ssl.password": 'sinks.out.ssl.password change "[hidden]" "${secret:new}" restart why',
        "sinks.out.body": f'sinks.out.body add - "{"x" * 38}… restart why',
    }


def test_a_plan_of_positions_shows_the_new_position_of_each_partition(api: FakeApi) -> None:
    move = {
        "source": "shop",
        "channel": "main",
        "topic": "in",
        "partition": 3,
        "old": 100,
        "new": 40,
        "skip": 0,
        "replay": 60,
        "gone": 0,
    }
    plan = {**PLAN, "moves": [move], "replay": 60}
    api.answers["POST", "migrations"] = 201, migration("PLANNED", kind="position", plan=plan)
    done = run("migrations", "plan", "orders", "--to", "timestamp=-30m", "--reason", "again")
    assert "shop.main in/3 100 40 0 0 60" in " ".join(done.stdout.split())


def test_one_record_is_no_plural(api: FakeApi) -> None:
    plan = {**PLAN, "skip": 1, "replay": 1}
    api.answers["POST", "migrations"] = 201, migration("PLANNED", plan=plan)
    done = run("migrations", "plan", "orders", "--software", "--reason", "new")
    assert "1 record skipped, 1 reread." in done.stdout
    api.answers["POST", "migrations"] = 201, migration("PLANNED")
    again = run("migrations", "plan", "orders", "--software", "--reason", "new")
    assert "0 records skipped, 0 reread." in again.stdout


FINDING = {"path": "host", "code": "HOST_SILENT", "message": "It is silent.", "suggestion": "Start it."}


@pytest.mark.parametrize(
    "more",
    [
        {"stage": "DRAFT", "plan": {**PLAN, "blockers": [FINDING]}},
        {"stage": "DRAFT", "plan": None, "findings": [FINDING]},
        {"stage": "NEEDS_ATTENTION", "findings": [FINDING]},
        {"stage": "ROLLED_BACK", "findings": [FINDING]},
    ],
)
def test_findings_of_a_migration_are_shown(api: FakeApi, more: dict[str, Any]) -> None:
    api.answers["GET", ONE] = 200, migration(**more)
    done = run("migrations", "show", ID)
    assert done.exit_code == 0, done.output
    assert [word for word in FINDING.values() if word not in done.stdout] == [], done.stdout
    assert json.loads(run("migrations", "show", ID, "-o", "json").stdout) == migration(**more)


def test_a_blocked_migration_shows_every_finding_and_is_refused(api: FakeApi) -> None:
    blocker = {"path": "host", "code": "HOST_SILENT", "message": "silent", "suggestion": "start it"}
    api.answers["POST", "migrations"] = 201, migration("DRAFT", plan={**PLAN, "blockers": [blocker]})
    done = run("migrations", "start", "orders", "--host", "beta", "--reason", "new")
    assert done.exit_code == ExitCode.REFUSED
    assert "HOST_SILENT" in done.output


def test_a_blocked_migration_is_cancelled_and_does_not_block_the_next_one(api: FakeApi) -> None:
    blocker = {"path": "host", "code": "HOST_SILENT", "message": "silent", "suggestion": "start it"}
    api.answers["POST", "migrations"] = 201, migration("DRAFT", plan={**PLAN, "blockers": [blocker]})
    run("migrations", "start", "orders", "--host", "beta", "--reason", "new")
    assert [path for path, _ in posted(api)] == ["migrations", f"{ONE}/abort"]
    run("migrations", "plan", "orders", "--host", "beta", "--reason", "new")
    assert [path for path, _ in posted(api)][2:] == ["migrations"]


def test_a_file_that_has_a_key_twice_is_refused_with_its_place(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("pipeline: orders\nkind: host\nspec: {host: beta, host: gamma}\nreason: 2026-01-01\n")
    done = run("migrations", "apply", "-f", str(file))
    assert done.exit_code == ExitCode.REFUSED
    assert "duplicate_key" in done.output
    file.write_text("pipeline: orders\nkind: host\nspec: {host: beta}\nreason: 2026-01-01\n")
    assert run("migrations", "apply", "-f", str(file)).exit_code == 0
    assert posted(api)[0][1]["reason"] == "2026-01-01"


def test_waiting_starts_a_migration_when_others_have_approved_it(api: FakeApi) -> None:
    api.answers["POST", "migrations"] = 201, migration("PLANNED", approvers_needed=1)
    api.answers["GET", ONE] = 200, migration("APPROVED", approvers_needed=1)
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait", "--timeout", "1")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "Awaiting approval by 1 other user" in done.output
    assert posted(api)[1:] == [(f"{ONE}/advance", {"hash": "h" * 64})]


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        ("COMMITTED", ExitCode.OK),
        ("ROLLED_BACK", ExitCode.FAILED),
        ("ABORTED", ExitCode.FAILED),
        ("NEEDS_ATTENTION", ExitCode.FAILED),
    ],
)
def test_a_file_is_applied_and_the_exit_code_is_the_result(
    api: FakeApi, tmp_path: Path, stage: str, code: ExitCode
) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("pipeline: orders\nkind: host\nspec: {host: beta}\nreason: new machine\n")
    api.answers["GET", ONE] = 200, migration(stage)
    done = run("migrations", "apply", "-f", str(file), "--wait")
    assert done.exit_code == code, done.output
    assert [path for path, _ in posted(api)] == ["migrations", f"{ONE}/approve", f"{ONE}/advance"]


def test_waiting_ends_at_a_gate(api: FakeApi) -> None:
    api.answers["GET", ONE] = 200, migration("VERIFYING", waits_for="COMMITTED")
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "COMMITTED" in done.output


def test_a_migration_that_awaits_approval_is_not_started(api: FakeApi) -> None:
    api.answers["POST", "migrations"] = 201, migration("PLANNED", approvers_needed=2)
    done = run("migrations", "start", "orders", "--software", "--reason", "new")
    assert done.exit_code == 0
    assert [path for path, _ in posted(api)] == ["migrations"]
    assert "2 other users" in done.output
    assert f"{ID}: PLANNED. Awaiting approval." in done.stdout


def test_a_migration_without_approvals_is_started(api: FakeApi) -> None:
    done = run("migrations", "start", "orders", "--software", "--reason", "new")
    assert f"{ID}: PREFLIGHT. Started." in done.stdout


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("DRAFT", ("blocked", "replan", "cancel")),
        ("PLANNED", ("not approved", "approve", "advance", "cancel")),
        ("APPROVED", ("not started", "advance", "cancel")),
    ],
)
def test_the_next_commands_of_a_migration_that_is_not_started(api: FakeApi, stage: str, words: tuple[str, ...]) -> None:
    api.answers["GET", ONE] = 200, migration(stage, approvers_needed=2)
    done = run("migrations", "watch", ID, "--timeout", "0.1")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "It continues." not in done.output
    assert [word for word in words if word not in done.stderr] == [], done.stderr


def test_a_started_migration_continues_after_the_timeout(api: FakeApi) -> None:
    api.answers["GET", ONE] = 200, migration("PREFLIGHT")
    done = run("migrations", "watch", ID, "--timeout", "0.1")
    assert done.exit_code == ExitCode.TIMED_OUT
    assert "It continues." in done.stderr


@pytest.mark.parametrize(
    ("code", "way_on"), [("out_of_order", "Start it: headgate migrations advance"), ("plan_stale", "Plan it again")]
)
def test_a_migration_whose_start_is_refused_can_be_started_later_or_cancelled(
    api: FakeApi, code: str, way_on: str
) -> None:
    api.answers["POST", "migrations"] = 201, migration("PLANNED", approvers_needed=1)
    api.answers["GET", ONE] = 200, migration("APPROVED", approvers_needed=1)
    api.answers["POST", f"{ONE}/advance"] = problem(409, code)
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert done.exit_code == ExitCode.REFUSED
    assert f"{code}!" in done.stderr
    assert way_on in done.stderr
    assert f"Or cancel it: headgate migrations cancel {ID}." in done.stderr


def test_a_migration_that_another_user_started_is_followed(api: FakeApi) -> None:
    api.answers["POST", f"{ONE}/advance"] = problem(409, "out_of_order")
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert done.exit_code == 0, done.output


def test_a_server_that_is_unreachable_at_the_start_is_waited_for(api: FakeApi) -> None:
    api.answers["POST", "migrations"] = 201, migration("PLANNED", approvers_needed=1)
    api.answers["GET", ONE] = 200, migration("APPROVED", approvers_needed=1)
    api.answers["POST", f"{ONE}/advance"] = 503, {}
    started = {("POST", f"{ONE}/advance"): (202, migration("COMMITTED", approvers_needed=1))}
    threading.Timer(2.5, api.answers.update, [started]).start()
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(("gate", "words"), [("APPLYING", "it is rolled back"), ("COMMITTED", "runs meanwhile")])
def test_at_a_gate_the_consequence_of_waiting_is_shown(api: FakeApi, gate: str, words: str) -> None:
    api.answers["GET", ONE] = 200, migration("SNAPSHOT", waits_for=gate)
    done = run("migrations", "watch", ID)
    assert done.exit_code == ExitCode.TIMED_OUT
    assert f"it waits at the gate before {gate}" in done.stderr
    assert words in done.stderr
    assert f"headgate migrations advance {ID}" in done.stderr


def test_an_open_migration_is_found_by_its_pipeline(api: FakeApi) -> None:
    done = run("migrations", "rollback", "orders", "--reason", "no")
    assert done.exit_code == 0, done.output
    assert posted(api) == [(f"{ONE}/rollback", {"reason": "no"})]


def test_a_timeline_is_shown_in_the_order_of_time(api: FakeApi) -> None:
    first, last = ({"since": f"2026-03-01T12:00:{at}Z", "until": f"2026-03-01T12:00:{at + 3}Z"} for at in (10, 20))
    bar = {"side": "new", "run": 5, "revision": 4, "host": "beta", "delivering": [{**last, "until": None}]}
    pause = {**first, "way": "migration", "seconds": 3.0, "measured": True}
    gates = [{**last, "stage": "COMMITTED", "by": "ana"}, {**last, "stage": "APPLYING", "by": ""}]
    found = {"stages": [{**first, "stage": "PAUSING"}], "gates": gates, "pauses": [pause], "bars": [bar]}
    api.answers["GET", f"{ONE}/timeline"] = 200, {"timeline": found, "points": []}
    shown = run("migrations", "timeline", ID)
    assert shown.exit_code == 0, shown.output
    names = (
        "PAUSING",
        "migration, measured",
        "before COMMITTED, passed by ana",
        "before APPLYING",
        "run 5, revision 4, beta",
    )
    places = [shown.stdout.index(name) for name in names]
    assert places == sorted(places)
    assert "3.0 s" in shown.stdout
    api.answers["GET", f"{ONE}/timeline"] = 200, {"timeline": None, "points": []}
    assert "The migration has not started." in run("migrations", "timeline", ID).stdout


@pytest.mark.parametrize("command", ["watch", "report"])
def test_a_migration_that_has_ended_is_found_by_its_pipeline(api: FakeApi, command: str) -> None:
    api.migrations = [migration("COMMITTED")]
    api.answers["GET", f"{ONE}/evidence"] = 200, evidence.sealed({"pipeline": "orders"})
    done = run("migrations", command, "orders")
    assert done.exit_code == 0, done.output
    assert [request["query"] for request in api.asked("GET")][:2] == [
        {"pipeline": "orders", "state": "open"},
        {"pipeline": "orders"},
    ]


def test_the_open_migration_of_a_pipeline_comes_before_a_later_one(api: FakeApi) -> None:
    other = ID.replace("a", "b")
    api.migrations = [{**migration("COMMITTED"), "id": other}, migration("VERIFYING")]
    done = run("migrations", "show", "orders")
    assert done.exit_code == 0, done.output
    assert [request["path"] for request in api.asked("GET")] == ["migrations", ONE]


@pytest.mark.parametrize(("command", "words"), [("watch", "no migration"), ("rollback", "no open migration")])
def test_a_pipeline_without_such_a_migration_is_an_error(api: FakeApi, command: str, words: str) -> None:
    api.migrations = [migration("COMMITTED")] if command == "rollback" else []
    done = run("migrations", command, "orders")
    assert done.exit_code == ExitCode.FAILED
    assert f"orders has {words}" in done.stderr


def test_evidence_is_verified_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    document = evidence.sealed({"pipeline": "orders"})
    file.write_text(json.dumps(document))
    assert run("migrations", "verify", str(file)).exit_code == 0
    file.write_text(json.dumps(document).replace("orders", "others"))
    changed = run("migrations", "verify", str(file))
    assert changed.exit_code == ExitCode.REFUSED
    assert "was changed" in changed.output


@pytest.mark.parametrize(
    "tamper",
    [
        lambda text: text.replace('"sha256"', '"gap": 0, "sha256"'),
        lambda text: text.replace('{"pipeline"', '{"pipeline": "others", "pipeline"'),
        lambda text: text.replace("orders", "\\ud800"),
        lambda text: "[" * 5000,
        lambda text: "",
    ],
)
def test_evidence_that_was_changed_does_not_verify(tmp_path: Path, tamper: Any) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(tamper(json.dumps(evidence.sealed({"pipeline": "orders"}))))
    done = run("migrations", "verify", str(file))
    assert done.exit_code == ExitCode.REFUSED, done.output
    assert "does not verify" in done.output


def test_an_evacuation_is_waited_for_while_the_server_is_unreachable(api: FakeApi) -> None:
    made: dict[str, Any] = {
        "id": ID,
        "host": "alpha",
        "ended_at": None,
        "outcome": "",
        "migrations": [],
        "left": {},
        "waiting": ["a"],
    }
    api.answers["POST", "evacuations"] = 201, made
    over = {**made, "ended_at": AT, "outcome": "stopped", "waiting": []}
    api.answers["GET", f"evacuations/{ID}"] = 503, {}
    threading.Timer(2.5, api.answers.update, [{("GET", f"evacuations/{ID}"): (200, over)}]).start()
    done = run("hosts", "evacuate", "alpha", "--reason", "kernel", "--wait")
    assert done.exit_code == ExitCode.FAILED, done.output
    assert "stopped" in done.output


def test_what_stays_on_a_host_is_named_and_fails_the_evacuation(api: FakeApi) -> None:
    made = {
        "id": ID,
        "host": "alpha",
        "ended_at": AT,
        "outcome": "done",
        "migrations": [migration("COMMITTED")],
        "left": {"other": "tied"},
        "waiting": [],
    }
    api.answers["POST", "evacuations"] = 201, made
    done = run("hosts", "evacuate", "alpha", "--reason", "kernel", "--wait")
    assert done.exit_code == ExitCode.FAILED
    assert "tied" in done.output
    assert "1 pipeline remains on alpha" in done.stderr


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"ended_at": AT, "outcome": "done", "waiting": []}, ExitCode.OK, "done"),
        ({"ended_at": AT, "outcome": "stopped", "left": {"orders": "why"}}, ExitCode.FAILED, "1 pipeline remains"),
        ({"ended_at": AT, "outcome": "cancelled"}, ExitCode.FAILED, "was cancelled"),
        ({}, ExitCode.TIMED_OUT, f"headgate hosts evacuations cancel {ID}"),
    ],
)
def test_an_evacuation_is_followed_by_its_id(api: FakeApi, more: dict[str, Any], code: ExitCode, words: str) -> None:
    made: dict[str, Any] = {
        "id": ID,
        "host": "alpha",
        "ended_at": None,
        "outcome": "",
        "migrations": [],
        "left": {},
        "waiting": ["orders"],
    }
    api.answers["GET", f"evacuations/{ID}"] = 200, {**made, **more}
    done = run("hosts", "evacuations", "watch", ID, "--timeout", "0.1")
    assert done.exit_code == code, done.output
    assert words in done.output
    assert run("hosts", "evacuations", "show", ID).exit_code == 0


def test_an_evacuation_is_named_by_its_id_alone(api: FakeApi) -> None:
    wrong = run("hosts", "evacuations", "show", "alpha")
    assert wrong.exit_code == ExitCode.USAGE
    assert "headgate hosts evacuations list" in wrong.stderr
    assert api.requests == []


WRONG = """
pipelin: orders
kind: host
spec: {hots: beta, rules: {widow: 5, band: 7}}
"""


def test_all_findings_of_a_file_are_reported_before_a_request(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text(WRONG)
    done = run("migrations", "apply", "-f", str(file), "-o", "json")
    assert done.exit_code == ExitCode.REFUSED
    found = json.loads(done.stderr)["error"]["findings"]
    assert {(each["path"], each["code"]) for each in found} == {
        ("pipelin", "unknown_key"),
        ("pipeline", "missing_key"),
        ("reason", "missing_key"),
        ("spec.hots", "unknown_key"),
        ("spec.host", "missing_key"),
        ("spec.rules.widow", "unknown_key"),
        ("spec.rules.band", "less_than_equal"),
    }
    by_path = {each["path"]: each for each in found}
    assert by_path["spec.hots"]["suggestion"] == 'Did you mean "host"?'
    assert by_path["spec.rules.widow"]["suggestion"] == 'Did you mean "window"?'
    assert by_path["pipelin"]["line"] == 2
    assert posted(api) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kind: moon\npipeline: orders\nreason: why\n", "unknown_kind"),
        ("kind: host\npipeline: orders\nreason: why\nspec: beta\n", "wrong_type"),
        ("kind: revision\npipeline: orders\nreason: why\nspec: {}\n", "value_error"),
        ("kind: revision\npipeline: orders\nreason: why\nspec: {definition: {name: orders}}\n", "missing_key"),
        ("kind: host\nkind: host\n", "duplicate_key"),
        ("kind: [", "syntax"),
    ],
)
def test_a_file_with_findings_is_refused_with_their_places(api: FakeApi, tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "move.yaml"
    file.write_text(text)
    done = run("migrations", "apply", "-f", str(file), "-o", "json")
    assert done.exit_code == ExitCode.REFUSED
    found = json.loads(done.stderr)["error"]["findings"]
    assert code in {each["code"] for each in found}, found
    assert posted(api) == []


def test_a_list_is_not_a_migration(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("[1]")
    assert run("migrations", "apply", "-f", str(file)).exit_code == ExitCode.REFUSED


def test_a_blocked_file_is_cancelled_so_that_the_next_call_can_start(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("pipeline: orders\nkind: host\nspec: {host: beta}\nreason: new machine\n")
    blocker = {"path": "host", "code": "HOST_SILENT", "message": "silent", "suggestion": "start it"}
    api.answers["POST", "migrations"] = 201, migration("DRAFT", plan={**PLAN, "blockers": [blocker]})
    api.answers["POST", f"{ONE}/abort"] = 202, migration("ABORTED")
    done = run("migrations", "apply", "-f", str(file), "--wait")
    assert done.exit_code == ExitCode.REFUSED
    assert [path for path, _ in posted(api)] == ["migrations", f"{ONE}/abort"]
    assert "It is cancelled." in done.output
    assert "HOST_SILENT" in done.output


def test_a_migration_is_planned_again(api: FakeApi) -> None:
    api.answers["POST", f"{ONE}/plan"] = 200, migration("PLANNED")
    done = run("migrations", "replan", "orders")
    assert done.exit_code == 0, done.output
    assert posted(api) == [(f"{ONE}/plan", {})]


def test_a_cluster_file_is_checked_before_it_is_sent(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "move.yaml"
    file.write_text("source: shop\nto: {bootstrap_servers: 'new:9092'}\npositions: {by: tea}\nextra: 1\n")
    done = run("migrations", "plan", "orders", "--cluster", str(file), "--reason", "why", "-o", "json")
    assert done.exit_code == ExitCode.REFUSED
    found = {each["path"] for each in json.loads(done.stderr)["error"]["findings"]}
    assert found == {"positions.by", "extra"}
    assert posted(api) == []


def test_waiting_prints_each_stage_and_the_measured_pause(api: FakeApi) -> None:
    api.answers["GET", ONE] = 200, migration("COMMITTED", pause_seconds=2.6, message="The change is permanent.")
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert done.exit_code == 0, done.output
    assert "COMMITTED: The change is permanent." in done.stderr
    assert done.stdout.rstrip().endswith(
        f"{ID}: COMMITTED. The change is permanent. Delivery pause (measured): 2.6 s. "
        f"Report: headgate migrations report {ID}"
    )


def test_remaining_seconds_are_not_printed_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(quiet=False)
    for line in ("VERIFYING: 59 s are left.", "VERIFYING: 58 s are left.", "VERIFYING: All is well."):
        progress.show(line)
    assert capsys.readouterr().err.splitlines() == ["VERIFYING: 59 s are left.", "VERIFYING: All is well."]


def test_waiting_for_approval_prints_how_many_users_must_approve(api: FakeApi) -> None:
    api.answers["POST", "migrations"] = 201, migration("PLANNED", approvers_needed=2)
    done = run("migrations", "start", "orders", "--software", "--reason", "new", "--wait")
    assert (
        f"Awaiting approval by 2 other users: headgate migrations approve {ID}. Then it starts automatically."
        in done.stderr
    )


def test_a_revert_of_the_last_committed_migration_is_planned(api: FakeApi) -> None:
    api.migrations = [migration("COMMITTED")]
    api.answers["POST", f"{ONE}/revert"] = 201, {**migration("PLANNED"), "reverts": ID}
    done = run("migrations", "revert", "orders", "--reason", "too slow")
    assert done.exit_code == 0, done.output
    assert posted(api) == [(f"{ONE}/revert", {"reason": "too slow"})]
    assert api.asked("GET")[0]["query"] == {"pipeline": "orders", "state": "COMMITTED"}


def test_waiting_for_an_evacuation_prints_its_progress(api: FakeApi) -> None:
    made: dict[str, Any] = {
        "id": ID,
        "host": "alpha",
        "ended_at": None,
        "outcome": "",
        "migrations": [],
        "left": {},
        "waiting": ["orders"],
    }
    over = {**made, "ended_at": AT, "outcome": "done", "waiting": [], "migrations": [migration("COMMITTED")]}
    api.answers["POST", "evacuations"] = 201, made
    api.answers["GET", f"evacuations/{ID}"] = 200, over
    done = run("hosts", "evacuate", "alpha", "--reason", "kernel", "--observe", "5", "--confirm-commit", "--wait")
    assert done.exit_code == 0, done.output
    assert "alpha: orders COMMITTED" in done.stderr
    assert posted(api)[0][1]["rules"] == {"window": 5, "then": "ask"}


def test_a_report_verifies_with_any_characters_in_its_reason(api: FakeApi, tmp_path: Path) -> None:
    document = evidence.sealed({"reason": "next \x85 line, \x1b[31mred"})
    api.answers["GET", f"{ONE}/evidence"] = 200, document
    file = tmp_path / "evidence.json"
    file.write_text(run("migrations", "report", ID).stdout)
    assert run("migrations", "verify", str(file)).exit_code == 0
