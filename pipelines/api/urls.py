"""The addresses below /api."""

from __future__ import annotations

from django.urls import include, path, register_converter
from django.urls.converters import StringConverter

from pipelines.api.access import clusters, oidc, passkeys, reach, second_factor, secrets, session, teams, tokens, users
from pipelines.api.definitions import catalogue, imports, rehearsals, revisions
from pipelines.api.diagnostics import bundles, installation
from pipelines.api.governance import change_requests, read_only
from pipelines.api.guide import guide
from pipelines.api.hosts import evacuations, hosts
from pipelines.api.http.docs import Docs, Document
from pipelines.api.ledger import audit, records
from pipelines.api.lifecycle import fleet, lifecycle, pipelines, reconciling
from pipelines.api.migration import migrations
from pipelines.api.monitoring import alerts, charts, events, receivers, silences, watching
from pipelines.api.peek import peeks
from pipelines.api.positions import positions
from pipelines.api.preview import previews, testing
from pipelines.api.reprocessing import dead_letters, quarantine, range_replays
from pipelines.api.runs import logs, stacks
from pipelines.api.trace import traces
from pipelines.domain.access.secrets import ELSEWHERE, NAME


class NameConverter(StringConverter):
    """The name of a pipeline; what cannot be one has no address."""

    regex = "[a-z0-9][a-z0-9-]{0,62}"


class SecretConverter(StringConverter):
    """The name of a secret, in which slashes may be, or of a value that is kept elsewhere."""

    regex = rf"{ELSEWHERE}|{NAME}"


class DeadLetterIdConverter(StringConverter):
    """The id of a dead letter."""

    regex = "[0-9a-f]{1,64}"


class NumberConverter:
    """A number that every database can hold."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        """Read it."""
        return int(value)

    def to_url(self, value: int) -> str:
        """Write it."""
        return str(value)


register_converter(NameConverter, "name")
register_converter(DeadLetterIdConverter, "dead_letter")
register_converter(NumberConverter, "number")
register_converter(SecretConverter, "secret")

one = "pipelines/<name:name>"

v1 = [
    path("session", session.Session.as_view()),
    path("session/code", session.SessionCode.as_view()),
    path("session/proof", session.SessionProof.as_view()),
    path("session/password", session.SessionPassword.as_view()),
    path("session/second-factor", second_factor.SecondFactor.as_view()),
    path("session/second-factor/totp", second_factor.Enrolment.as_view()),
    path("session/second-factor/recovery-codes", second_factor.RecoveryCodes.as_view()),
    path("session/passkeys", passkeys.Passkeys.as_view()),
    path("session/passkeys/registration", passkeys.Registration.as_view()),
    path("session/passkeys/challenge", passkeys.Challenge.as_view()),
    path("session/passkeys/<number:passkey_id>", passkeys.PasskeyDetail.as_view()),
    path("session/oidc", oidc.OidcSignIn.as_view()),
    path("session/oidc/callback", oidc.callback),
    path("tokens", tokens.TokenList.as_view()),
    path("tokens/<slug:token_key>", tokens.TokenDetail.as_view()),
    path("users", users.UserList.as_view()),
    path("users/<str:username>", users.UserDetail.as_view()),
    path("teams", teams.TeamList.as_view()),
    path("teams/<name:team>", teams.TeamDetail.as_view()),
    path("teams/<name:team>/bindings", teams.BindingList.as_view()),
    path("teams/<name:team>/bindings/<number:binding_id>", teams.BindingDetail.as_view()),
    path("fleet", fleet.Fleet.as_view()),
    path("pipelines", pipelines.PipelineList.as_view()),
    path("pipelines/validate", pipelines.Validate.as_view()),
    path("imports/flume", imports.ImportFlume.as_view()),
    path("imports/connect", imports.ImportConnect.as_view()),
    path("pipelines/rehearse", rehearsals.Rehearse.as_view()),
    path(f"{one}/rehearse", rehearsals.RehearsePipeline.as_view()),
    path(one, pipelines.PipelineDetail.as_view()),
    path(f"{one}/team", pipelines.PipelineTeam.as_view()),
    path(f"{one}/status", pipelines.PipelineStatus.as_view()),
    path(f"{one}/diagnostics", bundles.PipelineDiagnostics.as_view()),
    path(f"{one}/series", pipelines.PipelineSeries.as_view()),
    path(f"{one}/charts", charts.PipelineCharts.as_view()),
    path(f"{one}/charts/partitions", charts.PipelinePartitionCharts.as_view()),
    path(f"{one}/lag", watching.PipelineLag.as_view()),
    path(f"{one}/ledger", records.Ledger.as_view()),
    path(f"{one}/ledger/summary", records.LedgerSummary.as_view()),
    path(f"{one}/ledger/flow", records.LedgerFlow.as_view()),
    path(f"{one}/topology", records.Topology.as_view()),
    path(f"{one}/dead-letters", dead_letters.DeadLetterList.as_view()),
    path(f"{one}/dead-letters/summary", dead_letters.DeadLettersSummary.as_view()),
    path(f"{one}/dead-letters/retry", dead_letters.RetryDeadLetters.as_view()),
    path(f"{one}/dead-letters/discard", dead_letters.DiscardDeadLetters.as_view()),
    path(f"{one}/dead-letters/<dead_letter:dead_letter_id>", dead_letters.DeadLetterDetail.as_view()),
    path(f"{one}/quarantine", quarantine.Quarantines.as_view()),
    path(f"{one}/positions", positions.Positions.as_view()),
    path(f"{one}/positions/plan", positions.PlanPositions.as_view()),
    path(f"{one}/positions/plans/<uuid:inspection_id>", positions.PositionsPlan.as_view()),
    path(f"{one}/positions/apply", positions.ApplyPositions.as_view()),
    path(f"{one}/reconcile", reconciling.Reconcile.as_view()),
    path(f"{one}/range-replays", range_replays.RangeReplays.as_view()),
    path(f"{one}/range-replays/plan", range_replays.RangeReplayPlan.as_view()),
    path(f"{one}/runs", records.PipelineRuns.as_view()),
    path(f"{one}/previews", previews.PreviewList.as_view()),
    path(f"{one}/previews/<uuid:preview_id>", previews.PreviewDetail.as_view()),
    path(f"{one}/previews/<uuid:preview_id>/differences", previews.PreviewDifferences.as_view()),
    path(f"{one}/traces", traces.TraceList.as_view()),
    path(f"{one}/traces/<uuid:trace_id>", traces.TraceDetail.as_view()),
    path(f"{one}/peeks", peeks.PeekList.as_view()),
    path(f"{one}/peeks/<uuid:peek_id>", peeks.PeekDetail.as_view()),
    path(f"{one}/guide", guide.Guide.as_view()),
    path("test-runs", testing.TestRunList.as_view()),
    path("test-runs/<uuid:test_run_id>", testing.TestRunDetail.as_view()),
    path(f"{one}/diff", revisions.DefinitionDiff.as_view()),
    path(f"{one}/revisions", revisions.RevisionList.as_view()),
    path(f"{one}/revisions/<number:number>", revisions.RevisionDetail.as_view()),
    path(f"{one}/revisions/<number:number>/diff", revisions.RevisionDiff.as_view()),
    path(f"{one}/start", lifecycle.StartPipeline.as_view()),
    path(f"{one}/pause", lifecycle.PausePipeline.as_view()),
    path(f"{one}/resume", lifecycle.ResumePipeline.as_view()),
    path(f"{one}/stop", lifecycle.StopPipeline.as_view()),
    path(f"{one}/force-stop", lifecycle.ForceStopPipeline.as_view()),
    path(f"{one}/restart", lifecycle.RestartPipeline.as_view()),
    path(f"{one}/break-glass", change_requests.BreakGlass.as_view()),
    path(f"{one}/change-requests", change_requests.PipelineRequests.as_view()),
    path(f"{one}/change-requests/<uuid:request_id>", change_requests.RequestDetail.as_view()),
    path(f"{one}/change-requests/<uuid:request_id>/approve", change_requests.ApproveRequest.as_view()),
    path(f"{one}/change-requests/<uuid:request_id>/deny", change_requests.DenyRequest.as_view()),
    path(f"{one}/change-requests/<uuid:request_id>/cancel", change_requests.CancelRequest.as_view()),
    path(f"{one}/change-requests/<uuid:request_id>/apply", change_requests.ApplyRequest.as_view()),
    path("change-requests", change_requests.RequestList.as_view()),
    path(f"{one}/declare-lost", hosts.DeclareLost.as_view()),
    path("archived-pipelines", pipelines.ArchivedPipelineList.as_view()),
    path("archived-pipelines/<uuid:pipeline_id>", pipelines.ArchivedPipelineDetail.as_view()),
    path("operations", lifecycle.OperationList.as_view()),
    path("operations/<uuid:operation_id>", lifecycle.OperationDetail.as_view()),
    path("migrations", migrations.MigrationList.as_view()),
    path("migrations/<uuid:migration_id>", migrations.MigrationDetail.as_view()),
    path("migrations/<uuid:migration_id>/plan", migrations.PlanMigration.as_view()),
    path("migrations/<uuid:migration_id>/approve", migrations.ApproveMigration.as_view()),
    path("migrations/<uuid:migration_id>/advance", migrations.AdvanceMigration.as_view()),
    path("migrations/<uuid:migration_id>/abort", migrations.AbortMigration.as_view()),
    path("migrations/<uuid:migration_id>/rollback", migrations.RollbackMigration.as_view()),
    path("migrations/<uuid:migration_id>/revert", migrations.RevertMigration.as_view()),
    path("migrations/<uuid:migration_id>/timeline", migrations.MigrationTimeline.as_view()),
    path("migrations/<uuid:migration_id>/evidence", migrations.MigrationEvidence.as_view()),
    path("evacuations", evacuations.EvacuationList.as_view()),
    path("evacuations/<uuid:evacuation_id>", evacuations.EvacuationDetail.as_view()),
    path("approval-policies", evacuations.PolicyList.as_view()),
    path("approval-policies/<number:policy_id>", evacuations.PolicyDetail.as_view()),
    path("freezes", evacuations.FreezeList.as_view()),
    path("freezes/<number:freeze_id>", evacuations.FreezeDetail.as_view()),
    path("runs/<number:run_id>", records.RunDetail.as_view()),
    path("runs/<number:run_id>/log", logs.RunLog.as_view()),
    path("runs/<number:run_id>/stacks", stacks.RunStacks.as_view()),
    path("events", events.Events.as_view()),
    path("alerts", alerts.AlertList.as_view()),
    path("alerts/counts", alerts.AlertCounts.as_view()),
    path("alerts/<number:alert_id>/acknowledge", alerts.AcknowledgeAlert.as_view()),
    path("alert-rules", alerts.AlertRules.as_view()),
    path("alert-rules/<slug:rule>", alerts.AlertRuleDetail.as_view()),
    path("consumer-groups", watching.ExternalGroups.as_view()),
    path("consumer-groups/<number:group_id>", watching.ExternalGroupDetail.as_view()),
    path("consumer-groups/<number:group_id>/lag", watching.ExternalGroupLag.as_view()),
    path("consumer-groups/<number:group_id>/plan", watching.ExternalGroupPlan.as_view()),
    path("receivers", receivers.ReceiverList.as_view()),
    path("receivers/<number:receiver_id>", receivers.ReceiverDetail.as_view()),
    path("receivers/<number:receiver_id>/test", receivers.ReceiverTest.as_view()),
    path("receivers/<number:receiver_id>/deliveries", receivers.DeliveryList.as_view()),
    path("receivers/<number:receiver_id>/deliveries/<number:delivery_id>", receivers.DeliveryDetail.as_view()),
    path("receivers/<number:receiver_id>/deliveries/<number:delivery_id>/retry", receivers.RetryDelivery.as_view()),
    path("silences", silences.SilenceList.as_view()),
    path("silences/<number:silence_id>", silences.SilenceDetail.as_view()),
    path("silences/<number:silence_id>/end", silences.EndSilence.as_view()),
    path("hosts", hosts.HostList.as_view()),
    path("hosts/<name:name>", hosts.HostDetail.as_view()),
    path("hosts/<name:name>/drain", hosts.DrainHost.as_view()),
    path("hosts/<name:name>/undrain", hosts.UndrainHost.as_view()),
    path("clusters", clusters.ClusterList.as_view()),
    path("clusters/<name:name>", clusters.ClusterDetail.as_view()),
    path("clusters/<name:name>/test", clusters.ClusterTest.as_view()),
    path("components", catalogue.ComponentList.as_view()),
    path("templates", catalogue.TemplateList.as_view()),
    path("templates/<name:name>", catalogue.TemplateDetail.as_view()),
    path("definition-schema", catalogue.DefinitionSchema.as_view()),
    path("allowed-roots", reach.AllowedRootList.as_view()),
    path("allowed-roots/<number:rule_id>", reach.AllowedRootDetail.as_view()),
    path("allowed-networks", reach.AllowedNetworkList.as_view()),
    path("allowed-networks/<number:rule_id>", reach.AllowedNetworkDetail.as_view()),
    path("secrets", secrets.SecretList.as_view()),
    path("secrets/rotate", secrets.SecretRotation.as_view()),
    path("secrets/<secret:name>", secrets.SecretDetail.as_view()),
    path("audit", audit.Audit.as_view()),
    path("audit/chain", audit.AuditChain.as_view()),
    path("audit/chain/verify", audit.VerifyAudit.as_view()),
    path("audit/export", audit.AuditExport.as_view()),
    path("audit/<number:row_id>", audit.AuditDetail.as_view()),
    path("diagnostics", bundles.InstallationDiagnostics.as_view()),
    path("installation", installation.Installation.as_view()),
    path("installation/interceptors", installation.InterceptorClasses.as_view()),
    path("installation/read-only", read_only.ReadOnlyMode.as_view()),
    path("installation/settings", installation.InstallationSettings.as_view()),
    path("signing-key", audit.SigningKey.as_view()),
    path("schema", Document.as_view(), name="schema"),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("docs", Docs.as_view()),
]
