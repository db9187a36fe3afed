"""The label and the meaning of every state that users see.

Pages, command line, API descriptions and reference docs take their texts from here, so that one state has one name
everywhere. `manage.py render_vocabulary` writes them for the dashboard.
"""

from __future__ import annotations

from typing import NamedTuple

from pipelines.domain.base.states import DesiredState, MigrationKind, MigrationStage, Phase, StopReason
from pipelines.domain.definitions.document.consequences import Consequence


class Term(NamedTuple):
    """A state in words. `label`: one to four words in sentence case; `meaning`: what it implies, in sentences."""

    label: str
    meaning: str


PHASES: dict[Phase, Term] = {
    Phase.STOPPED: Term("Stopped", "No process exists."),
    Phase.PREFLIGHT: Term("Preflight", "Every component is initialized and probed. Nothing is read meanwhile."),
    Phase.STARTING: Term("Starting", "Preflight passed. The first batch of this run has not been delivered yet."),
    Phase.RUNNING: Term("Running", "Records are being delivered, or the source is idle and reachable."),
    Phase.DEGRADED: Term(
        "Degraded",
        "A source, a sink or the disk is unavailable. Batches go to another sink of the group, or are held and "
        "retried. Nothing is lost.",
    ),
    Phase.STALLED: Term(
        "Stalled", "The agent is alive and there is lag, but no batch has finished within `stall_timeout`."
    ),
    Phase.PAUSING: Term("Pausing", "The in-flight batch is finishing."),
    Phase.PAUSED: Term("Paused", "Nothing is being read. The process stays warm."),
    Phase.STOPPING: Term("Stopping", "A stop was requested. The process has not exited yet."),
    Phase.BACKOFF: Term("Backing off", "The last run ended without a request. The next one starts by itself."),
    Phase.BLOCKED: Term("Blocked", "A position or a component needs a decision. Nothing is read."),
    Phase.FAILED: Term("Failed", "The restart budget is spent. Start the pipeline to try again."),
    Phase.UNKNOWN: Term(
        "Unknown",
        "The heartbeat of the agent or its host is lost. No run starts elsewhere until the old run has ended.",
    ),
}

DESIRED_STATES: dict[DesiredState, str] = {
    DesiredState.RUNNING: "running",
    DesiredState.PAUSED: "paused",
    DesiredState.STOPPED: "stopped",
}

STOPPED_BY: dict[StopReason, str] = {
    StopReason.USER: "on request",
    StopReason.SYSTEM: "by Headgate",
    StopReason.WATCHDOG: "by the watchdog",
    StopReason.MIGRATION: "by a migration",
}

MIGRATION_KINDS: dict[MigrationKind, Term] = {
    MigrationKind.REVISION: Term("New revision", "Adds, changes or removes components with a new definition."),
    MigrationKind.HOST: Term("Host", "Runs the same definition on another host."),
    MigrationKind.CLUSTER: Term("Kafka cluster", "Moves a source or a sink to another Kafka cluster."),
    MigrationKind.POSITION: Term(
        "Position", "Continues at another position in the log. The records this skips or rereads are counted."
    ),
    MigrationKind.SOFTWARE: Term(
        "Agent software", "Runs the same definition with the software that is now installed on its host."
    ),
}

STAGES: dict[MigrationStage, Term] = {
    MigrationStage.DRAFT: Term("Blocked plan", "Findings block the plan, or it has not been made yet."),
    MigrationStage.PLANNED: Term("Planned", "The plan is made. Nothing has been changed."),
    MigrationStage.APPROVED: Term("Approved", "This plan is approved and ready to start."),
    MigrationStage.PREFLIGHT: Term(
        "Preflight", "The new agent is initialized as a standby on its host. The old one keeps working."
    ),
    MigrationStage.SHADOWING: Term(
        "Shadowing", "Records that the old agent delivers are also evaluated under the new revision, and compared."
    ),
    MigrationStage.PAUSING: Term("Pausing", "Consumption is stopping. The in-flight batch is finishing."),
    MigrationStage.PAUSE_PROVEN: Term("Pause verified", "Nothing is being read, in flight or unaccounted for."),
    MigrationStage.SNAPSHOT: Term("Snapshot", "Positions, revision, checkpoint and ledger totals are recorded."),
    MigrationStage.APPLYING: Term("Applying", "The old run ends, which is verified. The new agent gets its positions."),
    MigrationStage.READY_TO_CUT_OVER: Term(
        "Ready to cut over", "No agent runs the pipeline. The new agent is ready to take over."
    ),
    MigrationStage.RESUMING: Term("Resuming", "The new agent delivers its first records."),
    MigrationStage.VERIFYING: Term(
        "Verifying", "Ledger, lag, rate and errors are compared with those from before the change."
    ),
    MigrationStage.COMMITTED: Term("Committed", "The change is permanent."),
    MigrationStage.ROLLING_BACK: Term("Rolling back", "The pipeline is returning to its old configuration."),
    MigrationStage.ROLLED_BACK: Term("Rolled back", "The pipeline has its old configuration again."),
    MigrationStage.NEEDS_ATTENTION: Term(
        "Action required", "The migration cannot continue by itself. Choose how to proceed."
    ),
    MigrationStage.ABORTED: Term("Aborted", "The migration ended before anything was changed."),
}

WIZARD_STEPS: dict[str, Term] = {
    "change": Term("Change", "The requested change and its verification rules."),
    "plan": Term("Plan", "Blockers, expected impact, definition changes and steps. Planning changes nothing."),
    "approve": Term("Approve", "Users approve the plan. Then you start the migration."),
    "preflight": Term("Preflight", STAGES[MigrationStage.PREFLIGHT].meaning),
    "shadow": Term("Shadow", STAGES[MigrationStage.SHADOWING].meaning),
    "pause": Term("Pause and drain", STAGES[MigrationStage.PAUSING].meaning),
    "proof": Term("Verify pause", STAGES[MigrationStage.PAUSE_PROVEN].meaning),
    "snapshot": Term("Snapshot", STAGES[MigrationStage.SNAPSHOT].meaning),
    "cut-over": Term("Cut over", "The old run ends, and the new agent delivers its first records."),
    "verify": Term("Verify", STAGES[MigrationStage.VERIFYING].meaning),
    "commit": Term("Commit", "The change becomes permanent. Until then you can roll back."),
    "back": Term("Roll back", "The pipeline returns to its old configuration."),
    "report": Term("Report", "Positions, ledger totals and durations, as evidence of the migration."),
}
"""The pages of the migration wizard, in order, by the last part of their addresses."""

GATES: dict[MigrationStage, str] = {
    MigrationStage.PAUSING: "Before the pause",
    MigrationStage.APPLYING: "Before the old run ends",
    MigrationStage.READY_TO_CUT_OVER: "Before the new agent takes over",
    MigrationStage.COMMITTED: "Before the commit",
}
"""Where an approval gate may stand, by the stage that waits behind it."""

CONSEQUENCES: dict[Consequence, Term] = {
    Consequence.HOT: Term("Hot", "Nothing that runs depends on it."),
    Consequence.RESTART: Term("Restart", "Another process takes over on the same checkpoint."),
    Consequence.NEW_LINEAGE: Term("New lineage", "A new checkpoint starts at the exact positions of the ledger."),
    Consequence.POSITION_DECISION: Term(
        "Position decision", "The old positions mean nothing there. You decide where to continue."
    ),
}
