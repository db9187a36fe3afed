"""One row of everything that an address can name, so that no right is hidden by what does not exist."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.contrib.auth.models import User
from fido2.cose import ES256
from fido2.webauthn import AttestedCredentialData

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import MigrationKind, OperationKind
from pipelines.domain.positions.plan import Goal
from pipelines.models import (
    Alert,
    AlertSetting,
    AllowedNetwork,
    AllowedRoot,
    ApprovalPolicy,
    CaseRun,
    ChangeRequest,
    Delivery,
    Evacuation,
    ExternalGroup,
    FreezeWindow,
    Migration,
    Passkey,
    Peek,
    PositionInspection,
    Preview,
    Receiver,
    RecordTrace,
    Secret,
    Silence,
)
from pipelines.services.access import access, clusters
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from tests.factories import (
    DeadLetterFactory,
    EventFactory,
    HostFactory,
    OperationFactory,
    PipelineFactory,
    RevisionFactory,
    RunFactory,
    TeamFactory,
    UserFactory,
    bind,
    now,
)

ROOT = Actor("root")


def world() -> dict[str, dict[str, str]]:
    """Make it. For each collection of the API what names the row in an address."""
    made = {"created_by": "root", "created_at": now()}
    changed = {"updated_by": "root", "updated_at": now()}
    host = HostFactory.create(responding=True)
    pipeline = PipelineFactory.create(name="orders", host=host)
    revision = RevisionFactory.create(pipeline=pipeline, number=2)
    run = RunFactory.create(pipeline=pipeline, run_dir=str(settings.HEADGATE.state / "runs" / "orders" / "world"))
    Path(run.run_dir).mkdir(parents=True, exist_ok=True)
    Path(run.run_dir, "agent.log").write_text("line\n")
    letter = DeadLetterFactory.create(run=run)
    archived = PipelineFactory.create(name="old", host=None, archived_at=now())
    operation = OperationFactory.create(pipeline=pipeline, kind=OperationKind.START)
    migration = Migration.objects.create(
        pipeline=pipeline, kind=MigrationKind.REVISION, stage_since=now(), reason="why", **made
    )
    evacuation = Evacuation.objects.create(host=host, reason="why", **made)
    inspection = PositionInspection.objects.create(
        pipeline=pipeline,
        asked_by="root",
        asked_at=now(),
        deadline=now() + timedelta(hours=1),
        target={"goal": Goal.LEDGER},
    )
    preview = Preview.objects.create(
        pipeline=pipeline,
        base=revision,
        candidate={},
        digest="f00d",
        selection={"last": 10},
        requested_by="root",
        requested_at=now(),
        deadline=now() + timedelta(hours=1),
        expires_at=now() + timedelta(days=1),
    )
    trace = RecordTrace.objects.create(
        pipeline=pipeline,
        question={"at": {"topic": "orders-in", "partition": 0, "offset": 1}},
        requested_by="root",
        requested_at=now(),
        deadline=now() + timedelta(hours=1),
        expires_at=now() + timedelta(days=1),
    )
    peek = Peek.objects.create(
        pipeline=pipeline,
        question={"of": "sources.shop"},
        requested_by="eve",
        requested_at=now(),
        deadline=now() + timedelta(hours=1),
        expires_at=now() + timedelta(days=1),
    )
    tests = CaseRun.objects.create(
        team=pipeline.team,
        host=host,
        pipeline=pipeline,
        candidate={"name": "orders"},
        digest="f00d",
        requested_by="root",
        requested_at=now(),
        deadline=now() + timedelta(hours=1),
        expires_at=now() + timedelta(days=1),
    )
    request = ChangeRequest.objects.create(
        pipeline=pipeline,
        kind="stop",
        reason="why",
        basis={},
        hash="f00d",
        expires_at=now() + timedelta(days=1),
        **made,
    )
    event = EventFactory.create(pipeline=pipeline)
    alert = Alert.objects.create(
        rule="lag", key="orders", pipeline=pipeline, message="", opened_at=now(), changed_at=now()
    )
    AlertSetting.objects.create(rule="lag", values={"severity": "critical"}, updated_by="root")
    receiver = Receiver.objects.create(url="https://receiver.invalid/", events=["*"], secrets=[], **made, **changed)
    delivery = Delivery.objects.create(receiver=receiver, event=event, message_id="m1", created_at=now())
    silence = Silence.objects.create(comment="why", ends_at=now() + timedelta(hours=1), **made)
    group = ExternalGroup.objects.create(name="billing", bootstrap_servers="broker:9092", created_by="root")
    policy = ApprovalPolicy.objects.create(label="tier", updated_by="root")
    freeze = FreezeWindow.objects.create(
        label="tier", starts_at=now() + timedelta(days=1), ends_at=now() + timedelta(days=2), reason="why", **made
    )
    root = AllowedRoot.objects.create(path="/data", mode="read", **made)
    network = AllowedNetwork.objects.create(target="10.1.0.0/16", **made)
    secret = Secret.objects.create(name="shop", ciphertext="x", **made, **changed)
    clusters.put(name="analytics", spec={"master": "spark://spark.internal:7077"}, actor=ROOT)
    other = UserFactory.create(username="other", role=Role.VIEWER)
    team = TeamFactory.create(name="payments")
    binding = bind(other, Role.VIEWER, team)
    row = audit.record(actor=ROOT, action="pipeline.start", pipeline_name=pipeline.name)
    return {
        "audit": {"row_id": str(row.pk)},
        "pipelines": {
            "name": pipeline.name,
            "number": "2",
            "dead_letter_id": letter.dead_letter_id,
            "inspection_id": str(inspection.pk),
            "preview_id": str(preview.pk),
            "trace_id": str(trace.pk),
            "peek_id": str(peek.pk),
            "request_id": str(request.pk),
        },
        "test-runs": {"test_run_id": str(tests.pk)},
        "archived-pipelines": {"pipeline_id": str(archived.pk)},
        "runs": {"run_id": str(run.pk)},
        "operations": {"operation_id": str(operation.pk)},
        "migrations": {"migration_id": str(migration.pk)},
        "evacuations": {"evacuation_id": str(evacuation.pk)},
        "hosts": {"name": host.name},
        "alerts": {"alert_id": str(alert.pk)},
        "alert-rules": {"rule": "lag"},
        "receivers": {"receiver_id": str(receiver.pk), "delivery_id": str(delivery.pk)},
        "silences": {"silence_id": str(silence.pk)},
        "consumer-groups": {"group_id": str(group.pk)},
        "approval-policies": {"policy_id": str(policy.pk)},
        "freezes": {"freeze_id": str(freeze.pk)},
        "allowed-roots": {"rule_id": str(root.pk)},
        "allowed-networks": {"rule_id": str(network.pk)},
        "secrets": {"name": secret.name},
        "clusters": {"name": "analytics"},
        "users": {"username": other.username},
        "teams": {"team": team.name, "binding_id": str(binding.pk)},
        "templates": {"name": "kafka-to-kafka"},
    }


def own_rows(user: User) -> dict[str, dict[str, str]]:
    """The same for what users have for themselves."""
    token = access.create_token(user=user, name="other", expires=None)
    public = ES256.from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())  # type: ignore[no-untyped-call]
    credential = AttestedCredentialData.create(bytes(16), user.username.encode(), public)
    passkey = Passkey.objects.create(user=user, name="key", credential="a2V5", public=credential, created_at=now())
    return {"tokens": {"token_key": token[:15]}, "session": {"passkey_id": str(passkey.pk)}}


def address(path: str, rows: dict[str, dict[str, str]]) -> str:
    """The address of a path of the API's description, with the rows that it names."""
    return path.format(**rows.get(path.removeprefix("/api/v1/").split("/")[0], {}))
