"""The commands about dead letters: what they ask of the server, and what they say."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from controlplane.cli.app import app
from controlplane.cli.base.errors import ExitCode
from tests.fakes.api import AT, TOKEN, FakeApi, operation, page, serving

DEAD_LETTER = {
    "id": "abc1",
    "at": AT,
    "source": "shop",
    "channel": "main",
    "component": "sinks.lake",
    "cause": "too large",
    "topic": "orders",
    "partition": 0,
    "offset": 7,
    "size": 5,
    "truncated": False,
    "state": "NEW",
    "settled_at": None,
    "settled_by": "",
    "operation": None,
    "in_doubt": False,
}
CONTENT = {
    "key": None,
    "key_base64": None,
    "headers": [{"name": "h", "value": None, "value_base64": "/w=="}],
    "body": "hello",
    "body_base64": None,
    "location": "/dead/day.jsonl:0",
    "host": "alpha",
    "repaired": False,
}
CAUSE = {"component": "sinks.lake", "cause": "too large", "dead_letters": 1, "first_at": AT, "last_at": AT}
SUMMARY = {"new": 1, "retried": 2, "discarded": 3, "causes": [CAUSE], "more_causes": False}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with serving() as fake:
        monkeypatch.setenv("HEADGATE_URL", fake.url)
        monkeypatch.setenv("HEADGATE_TOKEN", TOKEN)
        one = "pipelines/orders/dead-letters"
        progress: dict[str, Any] = {
            "progress": {"done": 0, "of": 1, "also_delivered_to": ["audit"]},
            "message": "1 dead letters.",
        }
        fake.answers = {
            ("GET", one): (200, page([DEAD_LETTER])),
            ("GET", f"{one}/summary"): (200, SUMMARY),
            ("GET", f"{one}/abc1"): (200, DEAD_LETTER | CONTENT),
            ("POST", f"{one}/retry"): (202, operation("retry", **progress)),
            ("POST", f"{one}/discard"): (200, {"discarded": 2}),
        }
        yield fake


def run(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["dead-letters", *arguments], input=text)


def sent(api: FakeApi) -> Any:
    return api.asked("POST")[-1]["body"]


def test_dead_letters_are_listed_with_their_causes(api: FakeApi) -> None:
    result = run("list", "orders", "--component", "sinks.lake", "--state", "new", "--since", "2026-01-01T00:00:00Z")
    assert result.exit_code == 0, result.output
    for expected in ("abc1", "too large", "orders/0@7", "1 new, 2 retried, 3 discarded."):
        assert expected in result.stdout
    query = api.asked("GET")[0]["query"]
    assert (query["component"], query["state"], query["since"][:10]) == ("sinks.lake", "NEW", "2026-01-01")
    assert json.loads(run("list", "orders", "-o", "json").stdout) == [DEAD_LETTER]


def test_a_dead_letter_is_shown_with_its_cause_and_content(api: FakeApi) -> None:
    result = run("show", "orders", "abc1")
    for expected in ("sinks.lake", "shop: orders/0@7", "(base64) /w==", "hello", "/dead/day.jsonl:0 on alpha"):
        assert expected in result.stdout
    assert json.loads(run("show", "orders", "abc1", "-o", "json").stdout)["body"] == "hello"


def test_dead_letters_are_retried_by_id_or_all_that_match(api: FakeApi) -> None:
    result = run("retry", "orders", "abc1", "abc2", "--rate", "5", "--reason", "mended")
    assert result.exit_code == 0, result.output
    assert sent(api) == {"ids": ["abc1", "abc2"], "rate": 5.0, "reason": "mended"}
    assert "audit" in result.stderr
    assert run("retry", "orders", "--all", "--cause", "large").exit_code == 0
    assert sent(api) == {"filter": {"cause": "large"}, "rate": 100.0, "reason": ""}


def test_an_edited_body_is_read_from_a_file_or_standard_input(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\xff\n")
    assert run("retry", "orders", "abc1", "--body", str(file), "--header", "a=b=c").exit_code == 0
    body = base64.b64encode(b"\xff\n").decode()
    assert sent(api)["repair"] == {"id": "abc1", "body_base64": body, "headers": {"a": "b=c"}}
    assert run("retry", "orders", "abc1", "--body", "-", text=b"\xfe").exit_code == 0
    assert sent(api)["repair"]["body_base64"] == base64.b64encode(b"\xfe").decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ["retry", "orders"],
        ["retry", "orders", "abc1", "--all"],
        ["retry", "orders", "abc1", "--cause", "x"],
        ["retry", "orders", "abc1", "abc2", "--header", "a=b"],
        ["retry", "orders", "abc1", "--header", "a"],
        ["retry", "orders", "abc1", "--body", "/nowhere/at/all"],
        ["retry", "orders", "--all", "--rate", "0"],
        ["list", "orders", "--since", "lately"],
        ["discard", "orders"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error_and_asks_nothing(api: FakeApi, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == ExitCode.USAGE
    assert not api.requests


def test_waiting_ends_with_the_operation_and_its_failure(api: FakeApi) -> None:
    error = {"code": "dead_letters_refused", "message": "1 letters could not be sent.", "hint": "Look."}
    api.looks = [operation("retry", "RUNNING"), operation("retry", "FAILED", error=error)]
    result = run("retry", "orders", "abc1", "--wait")
    assert result.exit_code == ExitCode.FAILED
    assert "1 letters could not be sent." in result.stderr


def test_discarding_says_how_many(api: FakeApi) -> None:
    result = run("discard", "orders", "abc1", "abc2", "--reason", "tests")
    assert (result.exit_code, result.stdout) == (0, "2 discarded\n")
    assert sent(api) == {"ids": ["abc1", "abc2"], "reason": "tests"}
