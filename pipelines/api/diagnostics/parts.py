"""The parts of diagnostic bundles: each is what one view answers to the caller, by the right that the view asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipelines.api.access.clusters import ClusterList
from pipelines.api.access.reach import AllowedNetworkList, AllowedRootList
from pipelines.api.access.secrets import SecretList
from pipelines.api.access.teams import TeamList
from pipelines.api.definitions.revisions import RevisionList
from pipelines.api.governance.change_requests import RequestList
from pipelines.api.hosts.evacuations import EvacuationList, FreezeList, PolicyList
from pipelines.api.hosts.hosts import HostDetail, HostList
from pipelines.api.http.base import View
from pipelines.api.ledger.audit import Audit, AuditChain
from pipelines.api.ledger.records import Ledger, LedgerFlow, LedgerSummary, PipelineRuns, Topology
from pipelines.api.lifecycle.lifecycle import OperationList
from pipelines.api.lifecycle.pipelines import PipelineDetail, PipelineList, PipelineSeries, PipelineStatus
from pipelines.api.migration.migrations import MigrationEvidence, MigrationList, MigrationTimeline
from pipelines.api.monitoring.alerts import AlertList, AlertRules
from pipelines.api.monitoring.events import Events
from pipelines.api.monitoring.receivers import ReceiverList
from pipelines.api.monitoring.silences import SilenceList
from pipelines.api.monitoring.watching import ExternalGroups, PipelineLag
from pipelines.api.positions.positions import Positions
from pipelines.api.reprocessing.dead_letters import DeadLetterList, DeadLettersSummary
from pipelines.api.reprocessing.quarantine import Quarantines
from pipelines.api.reprocessing.range_replays import RangeReplays
from pipelines.api.runs.logs import RunLog
from pipelines.api.runs.stacks import RunStacks
from pipelines.domain.base.states import OPEN_STAGES
from pipelines.models import Migration, Pipeline, Run

RUNS = 3
"""Runs whose log and stacks are in a bundle, the newest."""
LOG_LINES = 10_000


@dataclass(frozen=True)
class Part:
    """A file of the bundle: which view is asked, for what. `key`: the text of its answer that is the file."""

    name: str
    view: type[View]
    query: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    key: str = ""


def of_pipeline(pipeline: Pipeline) -> Iterator[Part]:
    """What says why a pipeline does what it does, what matters most first."""
    own, of_it = {"name": pipeline.name}, {"pipeline": pipeline.name}
    yield Part("pipeline.json", PipelineDetail, names=own)
    yield Part("status.json", PipelineStatus, names=own)
    yield Part("revisions.json", RevisionList, {"limit": 10}, own)
    yield Part("runs.json", PipelineRuns, {"limit": 50}, own)
    yield Part("events.json", Events, {"limit": 500, **of_it})
    yield Part("operations.json", OperationList, {"limit": 50, **of_it})
    yield Part("alerts.json", AlertList, of_it)
    yield Part("positions.json", Positions, {"wait": 0}, own)
    yield Part("ledger/totals.json", LedgerSummary, names=own)
    yield Part("ledger/batches.json", Ledger, {"limit": 200}, own)
    yield Part("ledger/flow.json", LedgerFlow, {"minutes": 60}, own)
    yield Part("topology.json", Topology, names=own)
    yield Part("series.json", PipelineSeries, {"minutes": 60}, own)
    yield Part("lag.json", PipelineLag, names=own)
    yield Part("dead-letters/summary.json", DeadLettersSummary, names=own)
    yield Part("dead-letters/list.json", DeadLetterList, {"limit": 100}, own)
    yield Part("quarantine.json", Quarantines, names=own)
    yield Part("range-replays.json", RangeReplays, names=own)
    yield Part("change-requests.json", RequestList, {"limit": 50, **of_it})
    yield Part("migrations/list.json", MigrationList, {"limit": 20, **of_it})
    for migration in Migration.objects.filter(pipeline=pipeline, stage__in=OPEN_STAGES).order_by("-created_at")[:1]:
        yield Part("migrations/open-report.json", MigrationEvidence, names={"migration_id": migration.pk})
        yield Part("migrations/open-timeline.json", MigrationTimeline, names={"migration_id": migration.pk})
    if pipeline.host_id:
        yield Part("host.json", HostDetail, names={"name": pipeline.host_id})
    yield Part("audit.json", Audit, {"limit": 200, **of_it})
    for run in Run.objects.filter(pipeline=pipeline).order_by("-number").only("pk", "number")[:RUNS]:
        yield Part(f"runs/{run.number}/agent.log", RunLog, {"tail": LOG_LINES}, {"run_id": run.pk}, "text")
        yield Part(f"runs/{run.number}/stacks.json", RunStacks, names={"run_id": run.pk})


def of_installation() -> Iterator[Part]:
    """What says how the installation is set up, and what happens in it."""
    yield Part("hosts.json", HostList)
    yield Part("pipelines.json", PipelineList, {"limit": 1000})
    yield Part("alerts.json", AlertList, {"limit": 200})
    yield Part("alert-rules.json", AlertRules)
    yield Part("events.json", Events, {"limit": 1000})
    yield Part("operations.json", OperationList, {"limit": 200})
    yield Part("migrations.json", MigrationList, {"limit": 50})
    yield Part("evacuations.json", EvacuationList, {"limit": 50})
    yield Part("change-requests.json", RequestList, {"limit": 100})
    yield Part("approval-policies.json", PolicyList)
    yield Part("freezes.json", FreezeList)
    yield Part("receivers.json", ReceiverList)
    yield Part("silences.json", SilenceList)
    yield Part("consumer-groups.json", ExternalGroups)
    yield Part("clusters.json", ClusterList)
    yield Part("allowed-roots.json", AllowedRootList)
    yield Part("allowed-networks.json", AllowedNetworkList)
    yield Part("secrets.json", SecretList)
    yield Part("teams.json", TeamList)
    yield Part("audit.json", Audit, {"limit": 500})
    yield Part("audit-chain.json", AuditChain)
