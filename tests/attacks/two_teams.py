"""Rows of every kind for one team, with the team's mark in every text of them."""

# mypy: disable-error-code="attr-defined, no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from rest_framework.test import APIClient

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import (
    DesiredState,
    InspectionState,
    MigrationKind,
    MigrationStage,
    OperationState,
    Phase,
    RunState,
)
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.monitoring.watching import Description, GroupInspection
from pipelines.foundation import clock
from pipelines.models import (
    Alert,
    AlertSetting,
    ApprovalPolicy,
    CaseRun,
    ChangeRequest,
    Delivery,
    Evacuation,
    ExternalGroup,
    FreezeWindow,
    Host,
    LagPoint,
    Migration,
    Peek,
    PositionInspection,
    Preview,
    Quarantine,
    Receiver,
    RecordTrace,
    Revision,
    Secret,
    Silence,
    Team,
)
from pipelines.services.access import access
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from tests.factories import (
    DeadLetterFactory,
    EventFactory,
    LedgerBatchFactory,
    OperationFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    SampleFactory,
    TeamFactory,
    UserFactory,
    definition,
)

ROLES = (Role.VIEWER, Role.OPERATOR, Role.APPROVER, Role.ADMIN)


@dataclass
class Side:
    """A team with what it owns. `mark` is in every text; `values` names what addresses, queries and bodies can name."""

    mark: str
    team: Team
    users: Mapping[str, User]
    values: dict[str, str] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts by which it is told."""
        return (self.mark, *self.ids)


def client_of(who: User) -> APIClient:
    """A client of the API as this user."""
    client = APIClient()
    client.force_authenticate(who)
    return client


def user(*teams: Team, role: Role = Role.ADMIN) -> APIClient:
    """A client of a new user with this role in each of the teams."""
    return client_of(UserFactory.create(in_teams=dict.fromkeys(teams, role)))


def side(mark: str) -> Side:
    """A team with users of every role."""
    team = TeamFactory.create(name=f"{mark}-team", created_by=mark, description=mark)
    users: dict[str, User] = {
        role.word: UserFactory.create(username=f"{mark}-{role.word}", in_teams={team: role}) for role in ROLES
    }
    return Side(mark, team, users)


def fill(found: Side, host: Host) -> None:
    """Give a team rows of every kind, on a host that others use as well."""
    mark, now = found.mark, clock.now()
    name = f"{mark}-orders"
    spec = definition(
        name, description=mark, labels={f"{mark}-label": mark, "tier": "gold"}, sinks=_sinks(mark, name)
    ).plain()
    pipeline = PipelineFactory.create(
        name=name,
        team=found.team,
        description=mark,
        labels={f"{mark}-label": mark, "tier": "gold"},
        host=host,
        phase=Phase.RUNNING,
        desired_state=DesiredState.RUNNING,
        phase_message=mark,
        findings=[{"path": mark, "code": mark, "message": mark, "severity": "error", "suggestion": mark}],
    )
    Revision.objects.filter(pipeline=pipeline).update(definition=spec, note=mark, created_by=mark)
    revision = Revision.objects.get(pipeline=pipeline)
    run = RunFactory.create(
        pipeline=pipeline, host=host, revision=revision, state=RunState.LIVE, exit_reason=mark, run_dir=f"/{mark}"
    )
    archived = PipelineFactory.create(
        name=f"{mark}-archived", team=found.team, description=mark, archived_at=now, host=None
    )
    operation = OperationFactory.create(pipeline=pipeline, created_by=mark, message=mark, state=OperationState.RUNNING)
    LedgerBatchFactory.create(run=run, sink=mark)
    letter = DeadLetterFactory.create(run=run, cause=mark, topic=mark, body=mark.encode())
    PositionFactory.create(pipeline=pipeline, topic=mark)
    SampleFactory.create(pipeline=pipeline)
    LagPoint.objects.create(pipeline=pipeline, at=now, step=60, partitions=[["shop", "main", mark, 0, 1, 2, 1, 1.0]])
    Quarantine.objects.create(
        pipeline=pipeline,
        source="shop",
        channel="main",
        topic=mark,
        partition=0,
        start=1,
        end=2,
        cause=mark,
        created_at=now,
        created_by=mark,
    )
    inspection = PositionInspection.objects.create(
        pipeline=pipeline,
        state=InspectionState.PENDING,
        asked_by=mark,
        asked_at=now,
        deadline=now,
        target={"goal": "earliest", "source": None},
    )
    preview = Preview.objects.create(
        pipeline=pipeline,
        base=revision,
        candidate={},
        digest=mark,
        source=mark,
        selection={"last": 10},
        requested_by=mark,
        requested_at=now,
        deadline=now,
        expires_at=now + timedelta(days=1),
    )
    trace = RecordTrace.objects.create(
        pipeline=pipeline,
        question={"at": {"topic": mark, "partition": 0, "offset": 1}},
        requested_by=mark,
        requested_at=now,
        deadline=now,
        expires_at=now + timedelta(days=1),
    )
    peek = Peek.objects.create(
        pipeline=pipeline,
        question={"of": "sources.shop", "contains": mark},
        requested_by=mark,
        requested_at=now,
        deadline=now,
        expires_at=now + timedelta(days=1),
    )
    tests = CaseRun.objects.create(
        team=found.team,
        host=host,
        candidate={"name": mark},
        digest=mark,
        requested_by=mark,
        requested_at=now,
        deadline=now,
        expires_at=now + timedelta(days=1),
    )
    migration = Migration.objects.create(
        pipeline=pipeline,
        kind=MigrationKind.SOFTWARE,
        stage=MigrationStage.PLANNED,
        stage_since=now,
        created_at=now,
        created_by=mark,
        reason=mark,
        message=mark,
        plan_hash=f"{mark}-hash",
        old_revision=revision,
        old_host=host,
    )
    request = ChangeRequest.objects.create(
        pipeline=pipeline,
        kind=ChangeKind.START,
        summary=mark,
        basis={"revision": 1, "generation": 1},
        hash=mark,
        reason=mark,
        created_by=mark,
        created_at=now,
        expires_at=now + timedelta(days=1),
    )
    event = EventFactory.create(pipeline=pipeline, run=run, message=mark, actor=mark, data={"topic": mark})
    alert = Alert.objects.create(
        rule="lag", key=f"{mark}-key", pipeline=pipeline, message=mark, data={"t": mark}, opened_at=now, changed_at=now
    )
    AlertSetting.objects.create(rule="lag", pipeline_name=name, values={"records": 7}, updated_by=mark)
    silence = Silence.objects.create(
        team=found.team,
        matchers={"pipelines": [name]},
        comment=mark,
        created_at=now,
        created_by=mark,
        ends_at=now + timedelta(days=1),
    )
    receiver = _receiver(found, now)
    delivery = Delivery.objects.create(
        receiver=receiver, event=event, alert=alert, silence=silence, message_id=f"{mark}-message", created_at=now
    )
    group = ExternalGroup.objects.create(
        team=found.team,
        name=f"{mark}-group",
        bootstrap_servers=f"{mark}:9092",
        host=host,
        error=mark,
        created_by=mark,
        last=GroupInspection(1.0, Description("Stable", mark, members=((mark, mark),))).plain(),
    )
    EventFactory.create(
        pipeline=None,
        team=found.team,
        kind="group.moved",
        message=mark,
        data={"external_group": group.pk, "group": mark},
    )
    policy = ApprovalPolicy.objects.create(pipeline_name=name, approvers=2, updated_by=mark)
    freeze = FreezeWindow.objects.create(
        pipeline_name=name, starts_at=now, ends_at=now + timedelta(days=1), reason=mark, created_by=mark, created_at=now
    )
    stamps = {"created_at": now, "created_by": mark, "updated_at": now, "updated_by": mark}
    for purpose in (Purpose.PIPELINES, Purpose.RECEIVERS):
        Secret.objects.create(name=f"{mark}-secret", purpose=purpose, team=found.team, ciphertext="x", **stamps)
    row = audit.record(actor=Actor(mark), action="pipeline.start", pipeline_name=name, after={"t": mark})
    audit.record(actor=Actor(f"{mark}-admin"), action="session.login", after={"t": mark})
    token = access.create_token(user=found.users["admin"], name=mark, expires=None)
    named = (
        pipeline.id,
        archived.id,
        operation.pk,
        migration.pk,
        inspection.pk,
        preview.pk,
        trace.pk,
        peek.pk,
        request.pk,
    )
    found.ids = [str(each) for each in (*named, tests.pk)]
    found.values = {
        "pipelines.name": name,
        "pipelines.number": "1",
        "pipelines.dead_letter_id": letter.dead_letter_id,
        "pipelines.inspection_id": str(inspection.pk),
        "pipelines.preview_id": str(preview.pk),
        "pipelines.trace_id": str(trace.pk),
        "pipelines.peek_id": str(peek.pk),
        "pipelines.request_id": str(request.pk),
        "test-runs.test_run_id": str(tests.pk),
        "archived-pipelines.pipeline_id": str(archived.pk),
        "operations.operation_id": str(operation.pk),
        "migrations.migration_id": str(migration.pk),
        "runs.run_id": str(run.pk),
        "audit.row_id": str(row.pk),
        "alerts.alert_id": str(alert.pk),
        "alert-rules.rule": "lag",
        "templates.name": "kafka-to-kafka",
        "consumer-groups.group_id": str(group.pk),
        "receivers.receiver_id": str(receiver.pk),
        "receivers.delivery_id": str(delivery.pk),
        "silences.silence_id": str(silence.pk),
        "approval-policies.policy_id": str(policy.pk),
        "freezes.freeze_id": str(freeze.pk),
        "secrets.name": f"{mark}-secret",
        "tokens.token_key": token[:8],
        "teams.team": f"{mark}-team",
        "teams.binding_id": str(found.team.bindings.order_by("pk")[0].pk),
        "team": f"{mark}-team",
        "users.username": f"{mark}-admin",
        "hosts.name": host.name,
        "clusters.name": "shared-cluster",
        "evacuations.evacuation_id": str(_evacuation(host, found, name)),
        "allowed-roots.rule_id": "1",
        "allowed-networks.rule_id": "1",
        "session.passkey_id": "1",
        "id": str(request.pk),
        "pipeline": name,
        "q": mark,
        "text": mark,
        "label": f"{mark}-label",
        "actor": mark,
        "user": f"{mark}-admin",
        "group": f"{mark}-group",
        "event": str(event.pk),
    }


def _sinks(mark: str, name: str) -> dict[str, Any]:
    return {
        "out": {
            "type": "kafka",
            "channel": "main",
            "bootstrap_servers": f"{mark}:9092",
            "topic": f"{name}-out",
            "options": {"sasl.password": f"${{secret:{mark}-secret}}"},
        }
    }


def _receiver(found: Side, now: datetime) -> Receiver:
    mark = found.mark
    return Receiver.objects.create(
        team=found.team,
        url=f"https://{mark}.example/hook",
        events=["*"],
        secrets=[f"${{secret:{mark}-secret}}"],
        matchers={},
        description=mark,
        created_at=now,
        created_by=mark,
        updated_at=now,
        updated_by=mark,
    )


def _evacuation(host: Host, found: Side, name: str) -> UUID:
    """One of the installation, which names pipelines of every team."""
    row = Evacuation.objects.filter(host=host).first() or Evacuation.objects.create(
        host=host, reason="Maintenance.", created_by="root", created_at=clock.now()
    )
    row.names = [*row.names, name]
    row.left = {**row.left, f"{found.mark}-left": f"The pipeline {found.mark} is tied."}
    row.save()
    return row.pk
