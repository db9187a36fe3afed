"""The state of every component, and the checks that all of them go through side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TimedOut

from pipelines.domain.base.causes import explain
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.domain.ledger.journal import ComponentState
from pipelines.domain.runs.protocol import AgentFinding, ComponentStatus, Holding
from workers.agent.base.findings import Refused
from workers.agent.base.frames import within
from workers.agent.graph.component import Builder
from workers.agent.run_dir.journal_writer import Journal


class Components:
    """The state of every component, for status and journal."""

    def __init__(self, parts: Mapping[str, Builder], journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._states = {path: _state(path, part.spec, "initialising") for path, part in parts.items()}

    def states(self, holdings: Sequence[Holding] = ()) -> list[ComponentStatus]:
        """As they are now. What holds a query up has failed, whatever it said of itself before."""
        held = {each.component: each.cause for each in holdings}
        with self._lock:
            known = list(self._states.values())
        return [
            each.model_copy(update={"state": "failed", "detail": held[each.name]}) if each.name in held else each
            for each in known
        ]

    def unfinished(self) -> list[str]:
        """Paths of those that are still initialising."""
        return [state.name for state in self.states() if state.state == "initialising"]

    def settle(self, path: str, spec: ComponentSpec, failure: str = "", warnings: Sequence[AgentFinding] = ()) -> None:
        """A component is ready, or has failed; a failure stays."""
        with self._lock:
            if self._states[path].state == "failed":
                return
            detail = failure or " ".join(each.message for each in warnings)
            self._states[path] = _state(path, spec, "failed" if failure else "ready", detail, warnings)
            self._journal.append(_entry(self._states[path]))

    def report(self, path: str, spec: ComponentSpec, failure: str) -> None:
        """What a component that was ready says of itself while the run goes on."""
        with self._lock:
            before = self._states[path]
            now = _state(path, spec, "failed" if failure else "ready", failure, before.warnings)
            if before.state == "initialising" or (before.state, now.state) == ("ready", "ready") or before == now:
                return
            self._states[path] = now
            self._journal.append(_entry(now))


def _state(
    path: str, spec: ComponentSpec, state: str, detail: str = "", warnings: Sequence[AgentFinding] = ()
) -> ComponentStatus:
    return ComponentStatus(
        name=path, kind=spec.kind, type=spec.type, state=state, detail=detail, warnings=list(warnings)
    )


def _entry(status: ComponentStatus) -> ComponentState:
    return ComponentState(**status.model_dump(exclude={"warnings"}))


def check_all(
    parts: Mapping[str, Builder], components: Components, step: Callable[[Builder], None], timeout: float, *, last: bool
) -> list[AgentFinding]:
    """Run one step (probe or initialise) of every component side by side; `last` makes the good ones ready.

    A component that exits, raises anything or does not come back in `timeout` seconds is a finding like any other.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, min(32, len(parts))), thread_name_prefix="component")
    running = {path: pool.submit(_findings, path, part, step) for path, part in parts.items()}
    findings: list[AgentFinding] = []
    deadline = time.monotonic() + timeout
    for path, future in running.items():
        try:
            found = future.result(max(0.0, deadline - time.monotonic()))
        except TimedOut:
            found = [_late(path, timeout)]
        if found or last:
            failure = "; ".join(finding.message for finding in found)
            components.settle(path, parts[path].spec, failure, parts[path].warnings)
        findings += found
    pool.shutdown(wait=False, cancel_futures=True)
    return findings


def _findings(path: str, part: Builder, step: Callable[[Builder], None]) -> list[AgentFinding]:
    try:
        within(path, step)(part)
    except Refused as refused:
        return refused.findings
    except BaseException as error:
        name = f"{part.spec.kind} {part.spec.type}"
        message = f"The {name} failed to initialize: {explain(error)}"
        return [AgentFinding(path=path, code="INIT_FAILED", message=message, suggestion="See the agent's log.")]
    return []


def _late(path: str, timeout: float) -> AgentFinding:
    message = f"The component did not initialize within {timeout:.0f} s."
    return AgentFinding(
        path=path, code="INIT_TIMEOUT", message=message, suggestion="Raise lifecycle.init_timeout.", retryable=True
    )
