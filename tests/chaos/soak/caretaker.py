"""The user of a soak: lets every pipeline run again that waits for a decision, as the page advises."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2

from tests.chaos.soak.site import Site

_EVERY = 3.0
_PATIENCE = 8.0
"""Seconds that a pipeline waits for its user, so that what is shown meanwhile is looked at."""
_PLAN_WITHIN = 30.0


class Caretaker(threading.Thread):
    """`held`: pipelines that a fault keeps from running."""

    def __init__(self, site: Site, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(daemon=True)
        self.held: set[str] = set()
        self._site, self._tell = site, tell
        self._over = threading.Event()
        self._since: dict[str, float] = {}
        self._tries: dict[str, int] = {}

    def run(self) -> None:
        while not self._over.wait(_EVERY):
            for name in self._site.flows:
                if name not in self.held:
                    self._care(name)

    def end(self) -> None:
        """Leave everything as it is."""
        self._over.set()
        self.join()

    def _care(self, name: str) -> None:
        try:
            status = self._site.user.get(f"/pipelines/{name}/status")
            waits = waits_for_its_user(status)
            if waits is None:
                self._since.pop(name, None)
                if status["phase"] == "RUNNING":
                    self._tries.pop(name, None)
            elif time.monotonic() - self._since.setdefault(name, time.monotonic()) >= _PATIENCE:
                self._since.pop(name)
                self._act(name, waits, status)
        except httpx2.HTTPError as error:
            self._say(name, "ask", f"{type(error).__name__}: {error}", "")

    def _act(self, name: str, action: str, status: dict[str, Any]) -> None:
        tries = self._tries[name] = self._tries.get(name, 0) + 1
        if action == "start" and (to := decision(status, tries)):
            self._decide(name, to)
        self._say(name, action, self._site.user.act(name, action), status["headline"])

    def _decide(self, name: str, to: str) -> None:
        user = self._site.user
        made = user.post(f"/pipelines/{name}/positions/plan", {"to": to, "source": None})
        deadline = time.monotonic() + _PLAN_WITHIN
        while made["state"] == "PENDING" and time.monotonic() < deadline:
            time.sleep(0.5)
            made = user.get(f"/pipelines/{name}/positions/plans/{made['id']}")
        counts = f"{made['skip']} skipped, {made['replay']} reread"
        if made["hash"]:
            user.post(f"/pipelines/{name}/positions/apply", {"hash": made["hash"]})
        self._say(name, f"positions to {to}", f"{made['state']}: {counts}", "")

    def _say(self, name: str, action: str, answer: str, headline: str) -> None:
        said = {"at": time.monotonic(), "pipeline": name, "action": action, "answer": answer}
        self._tell(said | ({"headline": headline} if headline else {}))


def waits_for_its_user(status: dict[str, Any]) -> str | None:
    """The action that lets a pipeline run again; None where none is needed or possible."""
    if status["operation"] is not None:
        return None
    if status["phase"] == "PAUSED" or (status["desired_state"] == "PAUSED" and status["phase"] == "RUNNING"):
        return "resume"
    return "start" if status["phase"] in {"STOPPED", "BLOCKED", "FAILED"} else None


def decision(status: dict[str, Any], tries: int) -> str | None:
    """Where to continue: what the page recommends; where it recommends nothing and a start alone did not help, the
    ledger's positions."""
    recommended = next((each["to"] for each in status["choices"] if each["recommended"]), None)
    if recommended or tries == 1 or status["phase"] != "BLOCKED":
        return recommended
    return "ledger"
