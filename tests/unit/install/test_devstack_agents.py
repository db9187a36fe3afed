"""The end of the agents of a development stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.devstack import agents
from controlplane.devstack.console import Console
from pipelines.domain.runs.protocol import IDENTITY, Identity, ProcessIdentity

KEEPER = ProcessIdentity(boot_id="b", pid=7, start_time=8)


class Dying:
    """A process that the system needs some looks to take away after its kill."""

    def __init__(self, looks: float) -> None:
        self.left = looks
        self.killed = False

    def holders(self) -> dict[str, tuple[ProcessIdentity, ...]]:
        return {"token": (KEEPER,)} if self.is_alive(KEEPER) else {}

    def is_alive(self, process: ProcessIdentity) -> bool:
        self.left -= self.killed
        return self.left > 0

    def kill(self, process: ProcessIdentity, token: str) -> bool:
        assert (process, token) == (KEEPER, "token")
        self.killed = True
        return True


def ended(state: Path, processes: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    run = state / "runs" / "orders" / "1"
    run.mkdir(parents=True)
    (run / IDENTITY).write_text(Identity(token="token", keeper=KEEPER).model_dump_json())
    monkeypatch.setattr(agents, "HostProcesses", lambda: processes)
    agents.end_agents(state, Console())


def test_who_was_killed_has_gone_when_the_stack_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended(tmp_path, Dying(3), monkeypatch)
    assert agents.running_pipelines(tmp_path) == {}
    assert "Killed 1 processes of orders" in capsys.readouterr().out


def test_who_does_not_go_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "KILL_TIMEOUT", 0.2)
    ended(tmp_path, Dying(float("inf")), monkeypatch)
    assert agents.running_pipelines(tmp_path) == {"orders": {"token"}}
