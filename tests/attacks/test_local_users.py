"""Another user of the machine reads files of the installation."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.foundation.errors import Invalid
from pipelines.foundation.privacy import close_state

OPEN_UMASK = 0o022


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def run(state: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A program of Headgate over this state, started with the umask that most machines have."""
    environment = os.environ | {"HEADGATE_STATE": str(state), "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    environment.pop("HEADGATE_DATABASE_URL", None)
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120, umask=OPEN_UMASK
    )


def opened(state: Path) -> list[str]:
    """Paths from the state's directory on that others may open, where each directory above them lets them pass."""
    if not mode(state) & 0o077:
        return []
    return [str(path) for path in [state, *state.rglob("*")] if mode(path) & 0o077]


def test_a_fresh_state_is_closed(tmp_path: Path) -> None:
    made = run(tmp_path / "state", "manage.py", "check")
    assert made.returncode == 0, made.stderr
    assert mode(tmp_path / "state") == 0o700
    assert not [path for path in (tmp_path / "state").iterdir() if mode(path) & 0o077]


@pytest.mark.parametrize("program", ["controlplane.asgi", "controlplane.celery"])
def test_what_a_process_makes_is_closed(tmp_path: Path, program: str) -> None:
    code = f"import {program}, pathlib; pathlib.Path({str(tmp_path / 'made')!r}).touch()"
    made = run(tmp_path / "state", "-c", code)
    assert made.returncode == 0, made.stderr
    assert mode(tmp_path / "made") == 0o600


def test_an_open_installation_is_mended_at_start_with_a_line_in_the_log(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for name in ("headgate.sqlite3", "headgate.sqlite3-wal", "celerybeat-schedule", "secret_store.keys"):
        (state / name).touch()
    (state / "secret_key").write_text("x" * 50)
    for path in [state, *state.iterdir()]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    mended = run(state, "manage.py", "check")
    assert mended.returncode == 0, mended.stderr
    assert not opened(state)
    assert not [path for path in state.iterdir() if mode(path) & 0o077]
    assert f"{state}/headgate.sqlite3" in mended.stderr + mended.stdout


def test_a_database_outside_the_state_is_closed(tmp_path: Path) -> None:
    database = tmp_path / "elsewhere.sqlite3"
    database.touch(mode=0o644)
    database.chmod(0o644)
    (tmp_path / "state").mkdir(mode=0o700)
    close_state(tmp_path / "state", [database, tmp_path / "absent"])
    assert mode(database) == 0o600


def test_what_is_closed_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    assert close_state(tmp_path / "state") == []
    assert not caplog.records


def test_an_open_state_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o755)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(Invalid) as refused:
        close_state(tmp_path / "state")
    assert refused.value.code == "state_is_open"
    assert "chmod go=" in str(refused.value.hint)


def test_a_state_that_does_not_exist_yet_is_no_failure(tmp_path: Path) -> None:
    assert close_state(tmp_path / "absent") == []
