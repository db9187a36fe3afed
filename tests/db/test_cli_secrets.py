"""The commands of the secret store against the real API. A value is never an argument."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from typer.testing import Result

from controlplane.cli.access import secrets
from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.foundation.keyring import open_keyring
from pipelines.models import Secret
from tests.db.conftest import CommandLine, Run
from tests.factories import PipelineFactory, TeamFactory

CANARY = "canary-52ee01"
BOUND = ("--pipeline", "*", "--destination", "broker:9092")
SAID = "It goes to broker:9092, for *.\n"


@pytest.fixture
def run(command_line: CommandLine, key_file: Path) -> Run:
    """A command line of an admin; whatever it prints is searched for the canary."""
    invoke = command_line("ana", Role.ADMIN)

    def call(*arguments: str, text: str | bytes | None = None) -> Result:
        result = invoke("secrets", *arguments, text=text)
        assert CANARY not in result.output
        return result

    return call


def value_of(name: str, key_file: Path) -> str:
    return open_keyring([], key_file).decrypt(Secret.objects.get(name=name).ciphertext)


def test_a_value_comes_from_standard_input_without_its_last_line_feed(run: Run, key_file: Path) -> None:
    assert run("set", "shop", *BOUND, text=f"{CANARY}\n").stdout == f"shop: version 1\n{SAID}"
    assert value_of("shop", key_file) == CANARY
    assert run("set", "shop", text=f" {CANARY}\n\n").stdout == f"shop: version 2\n{SAID}"
    assert value_of("shop", key_file) == f" {CANARY}\n"


def test_a_value_comes_from_a_file(run: Run, key_file: Path, tmp_path: Path) -> None:
    (tmp_path / "value").write_text(f"{CANARY}\r\n")
    assert run("set", "shop", *BOUND, "--from-file", str(tmp_path / "value")).exit_code == 0
    assert value_of("shop", key_file) == CANARY
    assert run("set", "shop", "--from-file", str(tmp_path / "none")).exit_code == ExitCode.USAGE


def test_a_value_is_asked_for_without_echo_and_twice(run: Run, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def answer(_text: str, **how: Any) -> str:
        asked.append(how)
        return CANARY

    monkeypatch.setattr(secrets, "_at_a_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", answer)
    assert run("set", "shop", *BOUND).exit_code == 0
    assert value_of("shop", key_file) == CANARY
    assert asked == [{"hide_input": True, "confirmation_prompt": True, "err": True}]


@pytest.mark.parametrize("arguments", [["set", "shop", "value"], ["set", "shop", "--value", "x"], ["rotate", "a", "b"]])
def test_a_value_is_never_an_argument(run: Run, arguments: list[str]) -> None:
    assert run(*arguments, text="x").exit_code == ExitCode.USAGE


@pytest.mark.parametrize("value", [b"", b"\n", b"\xff\xfe", b"x" * 300_000, b"bell\a"])
def test_what_is_no_value_is_refused(run: Run, value: bytes) -> None:
    assert run("set", "shop", *BOUND, text=value).exit_code == ExitCode.REFUSED
    assert not Secret.objects.exists()


def test_the_list_shows_names_and_users(run: Run) -> None:
    assert "headgate secrets set" in run("list").stdout
    run("set", "shop", *BOUND, text=CANARY)
    pipeline = PipelineFactory.create(name="orders")
    assert pipeline.current_revision is not None
    pipeline.current_revision.definition["sources"]["shop"]["options"] = {"sasl.password": "${secret:shop}"}
    pipeline.current_revision.save()
    shown = run("list").stdout
    for word in ("shop", "1", "ana", "yes", "orders"):
        assert word in shown
    (listed,) = json.loads(run("list", "-o", "json").stdout)
    assert (listed["name"], listed["used_by"]) == ("shop", ["orders"])
    assert "orders reads it at its next start" in run("set", "shop", text=CANARY).stdout
    refused = run("remove", "shop")
    assert refused.exit_code == ExitCode.REFUSED
    assert "orders" in refused.stderr
    assert "--force" in refused.stderr
    assert run("remove", "shop", "--force").stdout == "shop: removed\n"
    assert run("remove", "shop").exit_code == ExitCode.FAILED


def test_rotating_exchanges_keys_or_a_value(run: Run, key_file: Path) -> None:
    run("set", "shop", *BOUND, text="older")
    call_command("add_secret_key", file=key_file)
    assert run("rotate").stdout == "Encrypted with the current key: 1.\n"
    key_file.write_text(key_file.read_text().splitlines()[0])
    assert value_of("shop", key_file) == "older"
    assert run("rotate", "shop", text=CANARY).stdout == f"shop: version 2\n{SAID}"
    assert value_of("shop", key_file) == CANARY
    missing = run("rotate", "typo", text=CANARY)
    assert missing.exit_code == ExitCode.FAILED
    assert "There is no secret typo" in missing.stderr
    assert run("rotate", "--from-file", "x").exit_code == ExitCode.USAGE


def test_a_rotation_that_leaves_something_unreadable_fails_and_names_it(run: Run, key_file: Path) -> None:
    run("set", "shop", *BOUND, text=CANARY)
    key_file.unlink()
    call_command("add_secret_key", file=key_file)
    result = run("rotate")
    assert result.exit_code == ExitCode.FAILED
    assert "No key decrypts shop" in result.stdout
    assert json.loads(run("rotate", "-o", "json").stdout) == {"rotated": 0, "unreadable": ["shop"]}
    assert "NO" in run("list").stdout


def test_without_a_key_the_command_says_how_to_make_one(run: Run, key_file: Path) -> None:
    key_file.unlink()
    refused = run("set", "shop", text=CANARY)
    assert refused.exit_code == ExitCode.REFUSED
    assert "headgate add-secret-key" in refused.stderr


def test_a_secret_is_of_the_team_that_is_named(run: Run) -> None:
    for name in ("payments", "risk"):
        TeamFactory.create(name=name)
    run("set", "own", "--team", "payments", *BOUND, text=CANARY)
    run("set", "shared", *BOUND, text=CANARY)
    assert "payments" in run("list").stdout
    (listed,) = json.loads(run("list", "--team", "payments", "-o", "json").stdout)
    assert (listed["name"], listed["team"]) == ("own", "payments")
    assert json.loads(run("bind", "shared", "--team", "risk", "-o", "json").stdout)["team"] == "risk"
    assert json.loads(run("rotate", "own", "-o", "json", text=CANARY).stdout)["version"] == 2
    taken = run("set", "own", "--team", "risk", text=CANARY)
    assert (taken.exit_code, "is taken" in taken.stderr) == (ExitCode.REFUSED, True)
