"""What follows from a disk without room: a finding while it lasts, and no start before there is room again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.states import Phase
from pipelines.domain.hosts.disk import DISK_FULL, disk_finding, full_words
from workers.supervisor.decisions.actions import Action, Explain, SetFindings
from workers.supervisor.decisions.snapshot import PipelineSnapshot

FULL = DISK_FULL.lower()


def full_disk_finding(snapshot: PipelineSnapshot) -> Mapping[str, Any]:
    """The finding of the disk that holds the pipeline's runs."""
    return disk_finding(snapshot.disk.path if snapshot.disk else "")


def disk_findings(snapshot: PipelineSnapshot) -> list[Action]:
    """Show that the disk is full for as long as it is, beside what else is found."""
    others = tuple(finding for finding in snapshot.findings if finding.get("code") != DISK_FULL)
    wanted = (*others, full_disk_finding(snapshot)) if snapshot.disk_full else others
    same = len(wanted) == len(snapshot.findings)
    return [] if same else [SetFindings(wanted)]


def lacks_room(snapshot: PipelineSnapshot) -> bool:
    """Whether the next run has to wait for room: a start by itself alone, since a user's is tried."""
    return snapshot.phase is Phase.BACKOFF and snapshot.disk is not None and not snapshot.disk.startable


def wait_for_room(snapshot: PipelineSnapshot) -> list[Action]:
    """Say what is waited for, once."""
    shown = [] if snapshot.phase_reason == FULL else [Explain(FULL, waiting_words(snapshot))]
    missing = not any(finding.get("code") == DISK_FULL for finding in snapshot.findings)
    return [*shown, *([SetFindings((*snapshot.findings, full_disk_finding(snapshot)))] if missing else [])]


def waiting_words(snapshot: PipelineSnapshot) -> str:
    """Why no run exists, and when there will be one."""
    path = snapshot.disk.path if snapshot.disk else "the run directory"
    return f"{full_words(path)} The next run starts when there is room."
