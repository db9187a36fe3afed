"""Rows for tests, each valid by itself."""

# mypy: disable-error-code="attr-defined, no-untyped-call, misc"

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
from django.contrib.auth.models import User
from factory.django import DjangoModelFactory

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import LedgerState, OperationKind, RunRole, RunState
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.totals import TOTALS, sizes
from pipelines.domain.lifecycle.operations import steps_of
from pipelines.models import (
    DEFAULT_TEAM,
    DeadLetter,
    Event,
    Host,
    LedgerBatch,
    Operation,
    Pipeline,
    Position,
    Revision,
    RoleBinding,
    Run,
    Sample,
    Team,
)
from pipelines.services.base.totals import add


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def definition_data(name: str = "orders", **changes: Any) -> dict[str, Any]:
    """The smallest definition that is worth running, as a person would send it."""
    return {
        "api_version": "headgate/v1",
        "name": name,
        "sources": {
            "shop": {
                "type": "kafka",
                "bootstrap_servers": "127.0.0.1:9092",
                "topics": [f"{name}-in"],
                "group_id": f"headgate.{name}",
                "start_from": "earliest",
            }
        },
        "channels": {"main": {"type": "direct"}},
        "sinks": {
            "out": {"type": "kafka", "channel": "main", "bootstrap_servers": "127.0.0.1:9092", "topic": f"{name}-out"}
        },
        **changes,
    }


def definition(name: str = "orders", **changes: Any) -> Definition:
    """The same, validated."""
    validation = validate_data(definition_data(name, **changes))
    assert validation.definition is not None, validation.findings
    return validation.definition


class UserFactory(DjangoModelFactory[User]):
    """A user; `role`, or None, is the one in every team, `in_teams` names those in single teams."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user{n}")
    password = factory.django.Password("correct horse battery")

    @factory.post_generation
    def role(self: User, create: bool, extracted: Role | None, **_: Any) -> None:
        """Bind the role in every team."""
        if create and extracted is not None:
            bind(self, extracted)

    @factory.post_generation
    def in_teams(self: User, create: bool, extracted: dict[Team, Role] | None, **_: Any) -> None:
        """Bind a role in each of the teams."""
        if create:
            for team, role in (extracted or {}).items():
                bind(self, role, team)


def bind(user: User, role: Role, team: Team | None = None) -> RoleBinding:
    """A role of the user in a team, or in all of them."""
    return RoleBinding.objects.create(user=user, team=team, role=role, created_at=now(), created_by="system")


class TeamFactory(DjangoModelFactory[Team]):
    """A team that owns nothing yet."""

    class Meta:
        model = Team

    name = factory.Sequence(lambda n: f"team-{n}")
    created_at = factory.LazyFunction(now)
    created_by = "ana"


class HostFactory(DjangoModelFactory[Host]):
    """A host that was seen just now. `responding`: for as long as any test may take, however slow the machine is."""

    class Meta:
        model = Host
        django_get_or_create = ("name",)

    class Params:
        responding = factory.Trait(seen_at=factory.LazyFunction(lambda: now() + timedelta(hours=1)))

    name = "alpha"
    seen_at = factory.LazyFunction(now)
    state_dir = "/var/lib/headgate"
    version = "0.1.0"
    cores = 2


class PipelineFactory(DjangoModelFactory[Pipeline]):
    """A stopped pipeline of the default team with its first revision; `host=None`: one that was never placed."""

    class Meta:
        model = Pipeline
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"pipeline-{n}")
    team = factory.LazyFunction(lambda: Team.objects.get(name=DEFAULT_TEAM))
    phase_since = factory.LazyFunction(now)
    host = factory.SubFactory(HostFactory)

    @factory.post_generation
    def current_revision(self: Pipeline, create: bool, extracted: Any, **_: Any) -> None:
        """Add revision 1 unless one is given."""
        if create:
            self.current_revision = extracted or RevisionFactory.create(pipeline=self)
            self.save(update_fields=["current_revision"])


class RevisionFactory(DjangoModelFactory[Revision]):
    """A revision with the smallest definition."""

    class Meta:
        model = Revision

    pipeline = factory.SubFactory(PipelineFactory)
    number = 1
    definition = factory.LazyAttribute(lambda row: definition(row.pipeline.name).plain())
    digest = factory.LazyAttribute(lambda row: definition(row.pipeline.name).digest())
    created_by = "ana"


class RunFactory(DjangoModelFactory[Run]):
    """A living run of a pipeline."""

    class Meta:
        model = Run

    pipeline = factory.SubFactory(PipelineFactory)
    pipeline_name = factory.SelfAttribute("pipeline.name")
    number = factory.Sequence(lambda n: n + 1)
    epoch = factory.LazyAttribute(lambda row: row.number if row.role == RunRole.ACTIVE else None)
    role = RunRole.ACTIVE
    revision = factory.SelfAttribute("pipeline.current_revision")
    host = factory.SelfAttribute("pipeline.host")
    lineage = factory.SelfAttribute("number")
    token = factory.LazyFunction(lambda: uuid.uuid4().hex)
    run_dir = factory.LazyAttribute(lambda row: f"/var/lib/headgate/runs/{row.pipeline_name}/{row.number}")
    generation = 1
    state = RunState.LIVE


class OperationFactory(DjangoModelFactory[Operation]):
    """An open start."""

    class Meta:
        model = Operation

    pipeline = factory.SubFactory(PipelineFactory)
    kind = OperationKind.START
    generation = 1
    steps = factory.LazyAttribute(lambda row: steps_of(OperationKind(row.kind)))
    created_by = "ana"


class LedgerBatchFactory(DjangoModelFactory[LedgerBatch]):
    """A balanced batch of ten records."""

    class Meta:
        model = LedgerBatch
        skip_postgeneration_save = True

    run = factory.SubFactory(RunFactory)
    pipeline = factory.SelfAttribute("run.pipeline")
    lineage = factory.SelfAttribute("run.lineage")
    source = "shop"
    channel = "main"
    first_batch = factory.Sequence(int)
    last_batch = factory.SelfAttribute("first_batch")
    state = LedgerState.DONE
    ranges = factory.LazyFunction(lambda: [{"topic": "orders-in", "partition": 0, "start": 0, "end": 10}])
    read = 10
    delivered = 10
    sink = "out"
    attempts = 1
    done_at = factory.LazyFunction(now)

    @factory.post_generation
    def totals(self: LedgerBatch, create: bool, *_: Any, **__: Any) -> None:
        """The running totals of its channel have it, as those of a batch whose journal was ingested."""
        if create and self.state in (LedgerState.DONE, LedgerState.ABANDONED):
            counts = {name: getattr(self, name) for name in TOTALS if hasattr(self, name)} | sizes(self.counts)
            counts["batches"] = self.last_batch - self.first_batch + 1 if self.state == LedgerState.DONE else 0
            add({(self.pipeline_id, self.source, self.channel): counts})


class DeadLetterFactory(DjangoModelFactory[DeadLetter]):
    """A letter that nobody has looked at yet."""

    class Meta:
        model = DeadLetter

    run = factory.SubFactory(RunFactory)
    pipeline = factory.SelfAttribute("run.pipeline")
    dead_letter_id = factory.LazyFunction(lambda: uuid.uuid4().hex)
    source = "shop"
    channel = "main"
    component = "sinks.out"
    cause = "too large"
    topic = "orders-in"
    partition = 0
    offset = factory.Sequence(int)
    at = factory.LazyFunction(now)
    key = b"k"
    headers = factory.LazyFunction(lambda: [["h", "dg=="]])
    body = factory.LazyAttribute(lambda row: f"body {row.offset}".encode())
    size = factory.LazyAttribute(lambda row: len(row.body))
    location = "/dead/day.jsonl:0"


class PositionFactory(DjangoModelFactory[Position]):
    """The position of one partition."""

    class Meta:
        model = Position

    pipeline = factory.SubFactory(PipelineFactory)
    source = "shop"
    channel = "main"
    topic = "orders-in"
    partition = factory.Sequence(int)
    next_offset = 10
    lineage = 1


class SampleFactory(DjangoModelFactory[Sample]):
    """One point of a chart."""

    class Meta:
        model = Sample

    pipeline = factory.SubFactory(PipelineFactory)
    at = factory.LazyFunction(now)
    records_per_second = 1000.0
    lag_records = 5


class EventFactory(DjangoModelFactory[Event]):
    """Something that happened to a pipeline."""

    class Meta:
        model = Event

    pipeline = factory.SubFactory(PipelineFactory)
    at = factory.LazyFunction(now)
    kind = "phase.changed"
    message = "It is running."
