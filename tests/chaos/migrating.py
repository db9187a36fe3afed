"""Migrations as a person with a token carries them out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from controlplane.devstack.client import Api
from controlplane.devstack.demo import Demo
from tests.chaos.examples import keep_example
from tests.chaos.installation import wait_for

STUCK = "NEEDS_ATTENTION"
ENDED = {"COMMITTED", "ROLLED_BACK", "ABORTED", STUCK}
ENDED_WITHIN = 240.0
COUNTED_WITHIN = 240.0
"""Seconds in which the host has looked at the logs that a plan needs, or has made its previews."""


@dataclass(frozen=True)
class Trial:
    """A migration that was asked for."""

    api: Api
    id: str

    @property
    def address(self) -> str:
        return f"/migrations/{self.id}"

    @property
    def shown(self) -> dict[str, Any]:
        return self.api.get(self.address)

    @property
    def stage(self) -> str:
        return str(self.shown["stage"])

    @property
    def evidence(self) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"{self.address}/evidence")["content"]
        return found

    def keep(self, name: str) -> None:
        """Keep its evidence among the examples of the documentation, where that was asked for."""
        keep_example(name, self.api.get(f"{self.address}/evidence"))

    def start(self) -> Trial:
        """Approve the plan that is there and begin it."""
        return self.approve().advance()

    def approve(self) -> Trial:
        self.api.post(f"{self.address}/approve", {"hash": self.shown["plan_hash"]})
        return self

    def force(self) -> Trial:
        """Approve the plan that is there and begin it, whatever it predicts."""
        return self.approve().advance(acknowledge=self.shown["plan"]["to_acknowledge"])

    def advance(self, **more: Any) -> Trial:
        """Begin it, or let it through the gate at which it waits."""
        self.api.post(f"{self.address}/advance", {"hash": self.shown["plan_hash"], **more})
        return self

    def reaches(self, stage: str) -> Trial:
        """Wait until it is at a stage, or over."""
        wait_for(lambda: self.stage in {stage, *ENDED}, ENDED_WITHIN, f"{stage}: {self.shown}")
        return self

    def waits_before(self, stage: str) -> Trial:
        """Wait until a person is asked at a gate."""
        wait_for(lambda: self._waits() == stage or self.stage in ENDED, ENDED_WITHIN, f"the gate before {stage}")
        assert self._waits() == stage, self.shown
        return self

    def _waits(self) -> str | None:
        waits: str | None = self.shown["waits_for"]
        return waits

    def roll_back(self) -> Trial:
        self.api.post(f"{self.address}/rollback", {"reason": "it was only a trial"})
        return self

    def revert(self) -> Trial:
        """Ask for the way back of one that was committed."""
        made = _counted(self.api, self.api.post(f"{self.address}/revert", {"reason": "it was only a trial"}))
        assert (made["stage"], made["reverts"]) == ("PLANNED", self.id), made["findings"]
        return Trial(self.api, made["id"])

    def ends(self) -> dict[str, Any]:
        """Wait for its end; returns it."""
        wait_for(lambda: self.stage in ENDED, ENDED_WITHIN, f"the migration ends: {self.shown}")
        return self.shown


def asked(api: Api, pipeline: str, kind: str, spec: dict[str, Any], reason: str = "a trial") -> Trial:
    """Ask for a migration; its plan is made and has no blockers."""
    made = _counted(api, api.post("/migrations", {"pipeline": pipeline, "kind": kind, "spec": spec, "reason": reason}))
    assert made["stage"] == "PLANNED", made["findings"]
    return Trial(api, made["id"])


def _counted(api: Api, made: dict[str, Any]) -> dict[str, Any]:
    """Planned again while the host counts or makes previews."""
    deadline = time.monotonic() + COUNTED_WITHIN
    while {each["code"] for each in made["findings"]} in ({"COUNTING"}, {"PREDICTING"}):
        assert time.monotonic() < deadline, made["findings"]
        time.sleep(0.5)
        made = api.post(f"/migrations/{made['id']}/plan", {})
    return made


def intercepted(demo: Demo, **interceptor: Any) -> dict[str, Any]:
    """Its definition with one more interceptor."""
    found = demo.definition()
    found["sources"]["orders"]["interceptors"].append(interceptor)
    return found


def stamped(demo: Demo, release: str) -> dict[str, Any]:
    """The same for a header that names the release."""
    return intercepted(demo, type="static", key="release", value=release)


def reported(evidence: dict[str, Any]) -> str:
    """Its end, its pause and the time of each step, for whoever watches the test."""
    seconds = {step["step"]: step["seconds"] for step in evidence["steps"]}
    return f"{evidence['stage']}: delivery pause (measured) {evidence['pause']['seen']} s, steps {seconds}"
