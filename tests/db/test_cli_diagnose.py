"""`headgate diagnose` against the real API."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from tests.db.conftest import CommandLine
from tests.factories import HostFactory, PipelineFactory


@pytest.fixture(autouse=True)
def _somewhere(server: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PipelineFactory.create(name="orders", host=HostFactory.create(name="alpha", responding=True))
    monkeypatch.chdir(tmp_path)


def test_a_bundle_is_a_file_of_its_user_and_what_is_inside_and_missing_is_printed(
    command_line: CommandLine, tmp_path: Path
) -> None:
    done = command_line("vera", Role.VIEWER)("diagnose", "orders", "-o", "bundle.zip")
    assert done.exit_code == 0, done.output
    file = tmp_path / "bundle.zip"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("manifest.json"))["pipeline"] == "orders"
        assert json.loads(archive.read("pipeline.json"))["name"] == "orders"
    assert "status.json" in done.stdout
    assert "audit.json" in done.stdout
    assert "Your role does not allow this." in done.stdout


def test_without_a_name_it_is_of_the_installation(command_line: CommandLine, tmp_path: Path) -> None:
    done = command_line("root", Role.ADMIN)("diagnose")
    assert done.exit_code == 0, done.output
    [file] = tmp_path.glob("headgate-installation-*.zip")
    with zipfile.ZipFile(file) as archive:
        assert "hosts.json" in archive.namelist()
    assert "left out" not in done.stdout


def test_a_refusal_leaves_no_file(command_line: CommandLine, tmp_path: Path) -> None:
    run = command_line("vera", Role.VIEWER)
    assert run("diagnose").exit_code == ExitCode.NO_ACCESS
    assert run("diagnose", "nothing", "--file", "x.zip").exit_code == ExitCode.FAILED
    assert run("diagnose", "orders", "--file", "missing/x.zip").exit_code != 0
    assert list(tmp_path.iterdir()) == []
