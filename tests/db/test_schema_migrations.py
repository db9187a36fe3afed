"""What an installation holds already survives the schema migrations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps.registry import Apps
from django.contrib.auth.models import Group
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from pipelines.domain.base.roles import Role
from pipelines.models import (
    DEFAULT_TEAM,
    Alert,
    AllowedRoot,
    ChannelTotals,
    Host,
    LedgerBatch,
    Pipeline,
    Receiver,
    Revision,
    RoleBinding,
    Run,
    Team,
)
from tests.factories import definition

BEFORE_STANDBYS = ("pipelines", "0016_told_at_decision")
BEFORE_ON_TIMEOUT = ("pipelines", "0022_evacuation_rules")
BEFORE_OPEN_BATCHES = ("pipelines", "0023_on_timeout")
BEFORE_RECEIVERS = ("pipelines", "0026_channel_totals")
BEFORE_CHANNEL_TOTALS = ("pipelines", "0025_glossary")
BEFORE_TEXTS = ("pipelines", "0060_supervision")
BEFORE_TEAMS = ("pipelines", "0044_audit_forwarding")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def migrate_to(*targets: tuple[str, str]) -> Apps:
    executor = MigrationExecutor(connection)
    return executor.migrate(list(targets or executor.loader.graph.leaf_nodes())).apps


def at(target: tuple[str, str]) -> Iterator[Apps]:
    """The schema as it was; whatever happens, the newest one is there afterwards."""
    try:
        yield migrate_to(target)
    finally:
        migrate_to()


def rows_of(apps: Apps, model: str) -> Any:
    """The rows of a model as it was, with fields that the present one does not have."""
    return apps.get_model("pipelines", model).objects


@pytest.fixture
def before_standbys(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_STANDBYS)


@pytest.fixture
def before_on_timeout(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_ON_TIMEOUT)


@pytest.fixture
def before_open_batches(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_OPEN_BATCHES)


@pytest.fixture
def before_receivers(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_RECEIVERS)


@pytest.fixture
def before_channel_totals(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_CHANNEL_TOTALS)


@pytest.fixture
def before_teams(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_TEAMS)


@pytest.fixture
def before_texts(transactional_db: None) -> Iterator[Apps]:
    yield from at(BEFORE_TEXTS)


def test_pipelines_of_before_have_the_default_team_and_groups_of_roles_become_bindings(before_teams: Apps) -> None:
    pipeline = rows_of(before_teams, "Pipeline").create(name="orders", phase_since=NOW)
    rows_of(before_teams, "Revision").create(pipeline=pipeline, number=1, definition={}, digest="d", required_role=3)
    groups = before_teams.get_model("auth", "Group").objects
    users = before_teams.get_model("auth", "User").objects
    for name, own in {"ana": ["admin", "viewer"], "ben": ["operator"], "eva": ["oidc:orders"]}.items():
        users.create(username=name).groups.set([groups.get_or_create(name=group)[0] for group in own])
    migrate_to()
    assert Pipeline.objects.get().team == Team.objects.get(name=DEFAULT_TEAM)
    assert Revision.objects.get().required_role == Role.ADMIN
    bound = RoleBinding.objects.order_by("user__username").values_list("user__username", "team", "role")
    assert [*bound] == [("ana", None, Role.ADMIN.value), ("ben", None, Role.OPERATOR.value)]  # type: ignore[comparison-overlap]
    assert [group.name for group in Group.objects.all()] == ["oidc:orders"]


def test_runs_of_before_have_epochs_and_those_that_ended_well_whole_journals(before_standbys: Apps) -> None:
    host = before_standbys.get_model("pipelines", "Host").objects.create(name="alpha", seen_at=NOW)
    pipeline = before_standbys.get_model("pipelines", "Pipeline").objects.create(
        name="orders", host=host, created_at=NOW, updated_at=NOW, phase_since=NOW
    )
    revision = before_standbys.get_model("pipelines", "Revision").objects.create(
        pipeline=pipeline, number=1, definition={}, created_at=NOW
    )
    runs = before_standbys.get_model("pipelines", "Run").objects
    for number, (state, outcome) in enumerate([("ENDED", "CLEAN"), ("ENDED", "LOST"), ("LIVE", "")], 1):
        runs.create(
            pipeline=pipeline,
            pipeline_name="orders",
            number=number,
            revision=revision,
            host=host,
            lineage=1,
            token=str(number),
            run_dir="",
            generation=1,
            state=state,
            outcome=outcome,
        )
    migrate_to()
    found = Run.objects.order_by("number").values_list("role", "epoch", "journal_whole")
    assert list(found) == [("ACTIVE", 1, True), ("ACTIVE", 2, False), ("ACTIVE", 3, False)]


def test_what_was_asked_of_a_late_drain_or_pause_holds_afterwards_and_on_the_way_back(before_on_timeout: Apps) -> None:
    rows_of(before_on_timeout, "Host").create(name="alpha", drain_on_timeout="stop")
    old = rows_of(before_on_timeout, "Pipeline")
    asked = {
        "climbs": ("STOPPED", "", ("stop", "RUNNING")),
        "given-up": ("STOPPED", "PAUSED", ("abort", "PAUSED")),
        "paused": ("PAUSED", "RUNNING", ("abort", "RUNNING")),
        "stays": ("PAUSED", "PAUSED", ("stay", "PAUSED")),
    }
    for name, (desired, after, _) in asked.items():
        old.create(name=name, desired_state=desired, after_timeout=after, updated_at=NOW, phase_since=NOW)
    migrate_to()
    found = Pipeline.objects.values_list("name", "on_timeout", "desired_before")
    assert {name: (follows, before) for name, follows, before in found} == {
        name: follows for name, (_, _, follows) in asked.items()
    }
    assert Host.objects.get().on_timeout == "stop"
    again = rows_of(migrate_to(BEFORE_ON_TIMEOUT), "Pipeline")
    kept = dict(again.values_list("name", "after_timeout"))
    assert kept == {name: after for name, (_, after, _) in asked.items()}


def test_an_open_batch_of_before_keeps_what_was_planned(before_open_batches: Apps) -> None:
    host = before_open_batches.get_model("pipelines", "Host").objects.create(name="alpha", seen_at=NOW)
    pipeline = before_open_batches.get_model("pipelines", "Pipeline").objects.create(
        name="orders", host=host, created_at=NOW, updated_at=NOW, phase_since=NOW
    )
    revision = before_open_batches.get_model("pipelines", "Revision").objects.create(
        pipeline=pipeline, number=1, definition={}, created_at=NOW
    )
    run = before_open_batches.get_model("pipelines", "Run").objects.create(
        pipeline=pipeline, revision=revision, host=host, number=1, generation=1, epoch=1, lineage=0, token="t"
    )
    ends = {"lake": [{"topic": "lake", "partition": 0, "offset": 7}]}
    rows_of(before_open_batches, "LedgerBatch").create(
        run=run,
        pipeline=pipeline,
        lineage=0,
        source="shop",
        channel="main",
        first_batch=3,
        last_batch=3,
        state="planned",
        planned={"batch": 3, "ranges": [], "sink_ends": ends, "open_ended": True},
    )
    migrate_to()
    batch = LedgerBatch.objects.get()
    assert (batch.sink_ends, batch.open_ended) == (ends, True)


def test_totals_of_channels_continue_from_what_the_ledger_has(before_channel_totals: Apps) -> None:
    host = rows_of(before_channel_totals, "Host").create(name="alpha", seen_at=NOW)
    pipeline = rows_of(before_channel_totals, "Pipeline").create(
        name="orders", host=host, updated_at=NOW, phase_since=NOW
    )
    revision = rows_of(before_channel_totals, "Revision").create(pipeline=pipeline, number=1, definition={})
    run = rows_of(before_channel_totals, "Run").create(
        pipeline=pipeline, revision=revision, host=host, number=1, generation=1, epoch=1, lineage=0, token="t"
    )
    for first, last, state, read in [(0, 9, "done", 40), (10, 10, "done", 2), (11, 11, "abandoned", 0)]:
        rows_of(before_channel_totals, "LedgerBatch").create(
            run=run,
            pipeline=pipeline,
            lineage=0,
            source="shop",
            channel="main",
            first_batch=first,
            last_batch=last,
            state=state,
            read=read,
            delivered=read,
            duplicates_max=first,
        )
    migrate_to()
    (row,) = ChannelTotals.objects.values()
    assert (row["source"], row["channel"], row["batches"], row["read"], row["delivered"]) == (
        "shop",
        "main",
        11,
        42,
        42,
    )
    assert (row["duplicates_max"], row["milliseconds"], row["longer"]) == (21, 0, 0)


def test_webhooks_become_receivers_with_their_deliveries_and_their_alerts(before_receivers: Apps) -> None:
    stamps = {"created_at": NOW, "created_by": "ana", "updated_at": NOW, "updated_by": "ana"}
    webhook = rows_of(before_receivers, "Webhook").create(
        url="https://a.example", events=["alert.*"], secrets=["${secret:hooks}"], enabled=False, **stamps
    )
    event = rows_of(before_receivers, "Event").create(at=NOW, kind="alert.opened", message="x")
    rows_of(before_receivers, "Delivery").create(webhook=webhook, event=event, message_id="msg_1", created_at=NOW)
    key, data = f"webhook {webhook.pk}", {"webhook": webhook.pk, "reason": "x"}
    times = {"opened_at": NOW, "changed_at": NOW}
    rows_of(before_receivers, "Alert").create(rule="webhook_disabled", key=key, message="x", data=data, **times)
    migrate_to()
    receiver = Receiver.objects.get()
    assert (receiver.kind, receiver.url, receiver.secrets) == ("webhook", "https://a.example", ["${secret:hooks}"])
    assert receiver.deliveries.get().message_id == "msg_1"
    alert = Alert.objects.get()
    assert (alert.rule, alert.key) == ("receiver_disabled", f"receiver {receiver.pk}")
    assert alert.data == {"receiver": receiver.pk, "reason": "x"}
    migrate_to(BEFORE_RECEIVERS)
    assert rows_of(before_receivers, "Alert").get().key == key
    assert rows_of(before_receivers, "Delivery").get().webhook_id == webhook.pk


def test_texts_that_may_not_be_shown_are_removed(before_texts: Apps) -> None:
    team = rows_of(before_texts, "Team").get(name=DEFAULT_TEAM)
    pipeline = rows_of(before_texts, "Pipeline").create(name="orders", team=team, phase_since=NOW)
    texts = {
        1: ("name: orders  # of the shop", ""),
        2: ("name: orders  # Password: hunter2", ""),
        3: ("name: orders", "another"),
        4: ("name: orders\n# token of Eva = t0", ""),
    }
    for number, (text, former) in texts.items():
        rows_of(before_texts, "Revision").create(
            pipeline=pipeline, number=number, definition={}, digest="d", source_text=text, former_digest=former
        )
    migrate_to()
    kept = dict(Revision.objects.values_list("number", "source_text"))
    assert kept == {1: texts[1][0], 2: "", 3: "", 4: ""}


@pytest.mark.django_db(transaction=True)
def test_what_a_definition_names_is_allowed_by_the_update_however_it_is_written() -> None:
    for apps in at(("pipelines", "0036_audit_chain")):
        lake = {"type": "file", "channel": "main", "path": "/data/lake/"}
        plain = definition(sinks={"out": lake}).plain()
        pipeline = rows_of(apps, "Pipeline").create(name="orders", phase_since=NOW)
        revision = rows_of(apps, "Revision").create(pipeline=pipeline, number=1, digest="d", definition=plain)
        rows_of(apps, "Pipeline").update(current_revision=revision)
    assert list(AllowedRoot.objects.values_list("path", "mode")) == [("/data/lake", "write")]
