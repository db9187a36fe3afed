"""Rehearsals: sample events through a definition, in a child process that runs the agent's own code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_EVENTS = 1000
MOST_BYTES = 1024 * 1024
SECONDS = 60.0
_ROOT = Path(__file__).resolve().parents[2]
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "JAVA_HOME", "TZ", "HEADGATE_CACHE")
_LAST_WORDS = 500


class RehearsalFailed(Exception):
    """No result: `code`, `detail` and `hint` say why; `findings` where the definition is the reason."""

    def __init__(self, code: str, detail: str, hint: str = "", findings: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.findings = list(findings)


def rehearse(
    definition: dict[str, Any],
    events: list[Any],
    *,
    source: str | None,
    interceptors: frozenset[str],
    interceptor_path: Sequence[str] = (),
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """What each channel would get. Raises RehearsalFailed."""
    _check_size(events)
    request = {
        "definition": definition,
        "events": events,
        "source": source,
        "interceptors": sorted(interceptors),
        "interceptor_path": list(interceptor_path),
        "seconds": seconds,
    }
    answer = _ask(json.dumps(request).encode(), seconds)
    if "missing" in answer:
        raise RehearsalFailed("not_provisioned", **answer["missing"])
    if "result" not in answer:
        detail = "The rehearsal has findings."
        raise RehearsalFailed("rehearsal_refused", detail, "Resolve the findings.", answer["findings"])
    result: dict[str, Any] = answer["result"]
    return result


def _check_size(events: list[Any]) -> None:
    size = len(json.dumps(events))
    if len(events) > MOST_EVENTS or size > MOST_BYTES:
        detail = f"{len(events)} events of {size} bytes; a rehearsal takes {MOST_EVENTS} events of {MOST_BYTES} bytes."
        raise RehearsalFailed("too_many_events", detail, "Send fewer.")


def _ask(request: bytes, seconds: float) -> dict[str, Any]:
    child = subprocess.Popen(
        [sys.executable, "-m", "controlplane.rehearse"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=_environment(),
    )
    try:
        answer, log = child.communicate(request, seconds)
    except subprocess.TimeoutExpired:
        detail = f"The rehearsal did not end within {seconds:g} s."
        raise RehearsalFailed("rehearsal_timeout", detail, "Send fewer events.") from None
    finally:
        _end(child)
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        words = log.decode(errors="replace").strip()[-_LAST_WORDS:]
        raise RehearsalFailed("rehearsal_failed", f"The rehearsal ended with {child.returncode}: {words}") from None
    return found


def _end(child: subprocess.Popen[bytes]) -> None:
    """Leave no process of the session behind; the JVM ends with its standard input."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def _environment() -> dict[str, str]:
    """Nothing of this process' secrets; the project, and what the administrator has added, can be imported."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    added = os.environ.get("PYTHONPATH", "")
    return {**kept, "PYTHONPATH": os.pathsep.join([str(_ROOT), *([added] if added else [])])}
