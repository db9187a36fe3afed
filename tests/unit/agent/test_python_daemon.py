"""The end of a Python worker: without noise where Spark has hung up, and never without closing its interceptors."""

from __future__ import annotations

from typing import Any

import pytest

from workers.agent.spark import python_daemon


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was closed."""
    found: list[str] = []
    monkeypatch.setattr(python_daemon, "_close", lambda: found.append("all"))
    return found


def ending(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The task ends with an error."""

    def stock(_sock: Any, _authenticated: bool) -> int:
        raise error

    monkeypatch.setattr(python_daemon, "_stock_worker", stock)


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError(104, "reset")])
def test_a_worker_on_which_spark_hangs_up_ends_without_an_error(
    error: OSError, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, error)
    assert python_daemon.worker(None, True) == 1, "which ends it"
    assert closed == ["all"]


def test_any_other_error_is_told(closed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, MemoryError())
    with pytest.raises(MemoryError):
        python_daemon.worker(None, True)
    assert closed == ["all"]
