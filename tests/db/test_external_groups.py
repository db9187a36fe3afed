"""Consumer groups of others: looks, what happened between them, and the plan of a reset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring.alert_rules import AlertState
from pipelines.domain.monitoring.lag import from_rows
from pipelines.domain.monitoring.watching import Description
from pipelines.models import Alert, AuditRow, Event, ExternalGroup, GroupSnapshot
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import watching
from pipelines.services.monitoring.watching import ExternalGroupSettings
from tests.db.test_lag import NoSecrets
from tests.factories import HostFactory, PipelineFactory, PositionFactory
from tests.fakes.brokers import AtOnce, FakeBrokers
from workers.adapters.secrets import backends
from workers.supervisor.background.external_groups import GroupWatch
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
GROUPS = "/api/v1/consumer-groups"
KEY = TopicPartition("orders-in", 0)
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()


class Bench:
    """A host that looks at one group of a log with a million records, one a second until BEGIN."""

    def __init__(self, name: str = "billing", **wanted: Any) -> None:
        HostFactory.create(name="alpha")
        self.seconds = 0.0
        self.brokers = FakeBrokers(times={KEY: [BEGIN - 1_000_000 + number for number in range(1_000_000)]})
        self.brokers.committed[KEY] = 500_000
        self.pauses: list[float] = []
        self.watch = GroupWatch(
            "alpha",
            self.brokers,
            References(backends({}, None, NoSecrets())),
            AtOnce(),
            seconds=lambda: self.seconds,
            wall=lambda: BEGIN + self.seconds,
            pause=self.pauses.append,
        )
        self.group = watching.watch(wanted=ExternalGroupSettings(name, "broker:9092", **wanted), actor=ANA)

    def inspection(self, after: float = 60.0, **committed: int | None) -> list[str]:
        """The kinds of the events of a look, `after` seconds later."""
        known = Event.objects.count()
        self.seconds += after
        self.watch.turn()
        self.watch._forget({self.group.pk})
        return list(Event.objects.order_by("id").values_list("kind", flat=True)[known:])

    def commit(self, at: int | None) -> None:
        self.brokers.committed = {} if at is None else {KEY: at}


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    assert made.inspection(0.0) == []
    return made


def test_a_group_that_is_added_is_claimed_and_looked_at_when_it_is_due(bench: Bench) -> None:
    group = ExternalGroup.objects.get()
    assert (group.host_id, group.error) == ("alpha", "")
    bench.inspection(59.0)
    assert GroupSnapshot.objects.count() == 1
    bench.inspection(1.0)
    snapshot = GroupSnapshot.objects.latest("at")
    assert GroupSnapshot.objects.count() == 2
    assert (snapshot.state, snapshot.coordinator, snapshot.records) == ("STABLE", "1 broker:9092", 500_000)
    (part,) = from_rows(snapshot.partitions)
    assert (part.position, part.end, part.records) == (500_000, 1_000_000, 500_000)
    assert part.seconds is not None
    assert 500_000 <= part.seconds <= 700_000


def test_a_missing_commit_is_not_believed_until_it_is_missing_three_times(bench: Bench) -> None:
    bench.brokers.wrong = [{}, {}]
    assert bench.inspection() == []
    assert len(bench.pauses) == 2
    assert bench.brokers.calls[-6:-1] == ["commits", "describe", "commits", "describe", "commits"]
    bench.commit(None)
    assert bench.inspection() == ["group.commit_vanished", "alert.opened"]
    event = Event.objects.get(kind="group.commit_vanished")
    assert (event.data["before"], event.data["after"], event.data["group"]) == (500_000, None, "billing")
    assert bench.inspection() == []


def test_an_alert_stands_for_as_long_as_a_commit_is_gone(bench: Bench) -> None:
    bench.commit(None)
    bench.inspection()
    alert = Alert.objects.get()
    assert (alert.rule, alert.state) == ("group_lost", AlertState.OPEN)
    bench.commit(500_000)
    assert bench.inspection() == ["group.commit_back", "alert.resolved"]


def test_jumps_are_events_with_before_and_after_and_coordinator(bench: Bench) -> None:
    bench.commit(0)
    bench.brokers.description = Description("STABLE", "2 broker:9093")
    assert bench.inspection() == ["group.jumped_back", "alert.opened"]
    data = Event.objects.get(kind="group.jumped_back").data
    assert (data["before"], data["after"]) == (500_000, 0)
    assert (data["coordinator_before"], data["coordinator"]) == ("1 broker:9092", "2 broker:9093")
    bench.commit(1_000_000)
    assert bench.inspection() == ["group.jumped_forward"]


def test_an_alert_about_a_jump_is_over_an_hour_later(bench: Bench) -> None:
    bench.commit(0)
    bench.inspection()
    Alert.objects.update(changed_at=datetime.now(UTC) - timedelta(minutes=59))
    assert bench.inspection() == []
    Alert.objects.update(changed_at=datetime.now(UTC) - timedelta(minutes=61))
    assert bench.inspection() == ["alert.resolved"]


def test_a_lag_that_leaps_within_one_look_is_an_event(bench: Bench) -> None:
    bench.brokers.times[KEY] += [BEGIN + 30] * 100_001
    assert bench.inspection() == ["group.lag_leapt", "alert.opened"]


def test_a_cluster_that_is_away_is_told_of_and_what_was_seen_stays(bench: Bench) -> None:
    bench.brokers.away = True
    assert bench.inspection() == []
    group = ExternalGroup.objects.get()
    assert "is away" in group.error
    bench.brokers.away = False
    assert bench.inspection() == []
    assert ExternalGroup.objects.get().error == ""


def test_a_mirror_of_ours_is_compared_with_the_ledger_which_may_be_a_little_late() -> None:
    bench = Bench(name="headgate.orders")
    pipeline = PipelineFactory.create(name="orders")
    position = PositionFactory.create(pipeline=pipeline, topic="orders-in", partition=0, next_offset=500_000)
    bench.inspection(0.0)
    bench.commit(900_000)

    def ingest(_: float) -> None:
        position.next_offset = 900_000
        position.save()

    bench.watch.pause = ingest
    assert bench.inspection() == []
    bench.commit(900_001)
    assert bench.inspection() == ["group.jumped_forward", "alert.opened"]


def test_a_worker_that_starts_anew_goes_on_where_the_last_one_was(bench: Bench) -> None:
    bench.watch = GroupWatch(
        "alpha",
        bench.brokers,
        References(backends({}, None, NoSecrets())),
        AtOnce(),
        seconds=lambda: bench.seconds,
        wall=lambda: BEGIN + bench.seconds,
        pause=bench.pauses.append,
    )
    bench.commit(0)
    assert bench.inspection() == ["group.jumped_back", "alert.opened"]


def test_a_group_of_a_lost_host_is_looked_at_by_another(bench: Bench) -> None:
    HostFactory.create(name="beta")
    assert watching.claim("beta") == 0
    lost = HostFactory._meta.model.objects.filter(name="alpha")
    lost.update(seen_at=datetime.now(UTC) - timedelta(minutes=1))
    assert watching.claim("beta") == 1
    assert ExternalGroup.objects.get().host_id == "beta"


def test_a_look_that_two_workers_make_is_written_once(bench: Bench) -> None:
    stale = ExternalGroup.objects.get()
    bench.commit(0)
    bench.inspection()
    bench.watch.inspect(stale)
    assert Event.objects.filter(kind="group.jumped_back").count() == 1


def body(**changes: Any) -> dict[str, Any]:
    return {"group": "billing", "bootstrap_servers": "broker:9092", **changes}


def test_groups_are_added_listed_shown_and_removed_by_operators(operator: APIClient, viewer: APIClient) -> None:
    assert viewer.post(GROUPS, body(), format="json").status_code == 403
    made = operator.post(GROUPS, body(interval=5, leap_records=10), format="json")
    assert made.status_code == 201, made.content
    again = operator.post(GROUPS, body(), format="json")
    assert (again.status_code, again.json()["code"]) == (409, "already_monitored")
    (listed,) = viewer.get(GROUPS).json()["results"]
    assert (listed["group"], listed["interval"], listed["leap_records"]) == ("billing", 5, 10)
    address = f"{GROUPS}/{listed['id']}"
    assert viewer.get(address).json()["partitions"] == []
    assert viewer.get(f"{address}/lag").json()["points"] == []
    plan = operator.post(f"{address}/plan", {"to": "before=1"}, format="json")
    assert (plan.status_code, plan.json()["code"]) == (404, "event_not_found")
    assert viewer.delete(address).status_code == 403
    assert operator.delete(address).status_code == 204
    assert viewer.get(address).status_code == 404
    changes = AuditRow.objects.filter(action__startswith="group.")
    assert list(changes.values_list("action", flat=True)) == ["group.watch", "group.unwatch"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"options": {"sasl.password": "hunter2"}},
        {"options": {"sasl.jaas.config": "x"}},
        {"bootstrap_servers": "x"},
        {"interval": 0.1},
        {"options": {"security.protocol": "PLAIN"}},
        {"host": "nowhere"},
        {"group": ""},
    ],
)
def test_a_group_that_could_do_harm_or_cannot_be_is_refused(operator: APIClient, wrong: dict[str, Any]) -> None:
    refused = operator.post(GROUPS, body(**wrong), format="json")
    assert refused.status_code in {404, 422}
    assert "hunter2" not in refused.content.decode()
    assert not ExternalGroup.objects.exists()


def test_a_plan_goes_back_to_what_the_group_had_committed_then_and_tells_what_duplicates_do(
    operator: APIClient,
) -> None:
    bench = Bench(name="headgate.orders")
    PipelineFactory.create(name="orders")
    bench.inspection(0.0)
    for commit in (600_000, 700_000, 990_000):
        bench.commit(commit)
        bench.inspection()
    event = Event.objects.create(at=datetime.fromtimestamp(BEGIN + 180, UTC), kind="x", message="It began.")
    address = f"{GROUPS}/{bench.group.pk}/plan"
    plan = operator.post(address, {"to": f"before={event.pk}-90s"}, format="json").json()
    (part,) = plan["partitions"]
    assert (part["committed"], part["target"], part["basis"], part["replay"]) == (990_000, 600_000, "snapshot", 390_000)
    assert plan["reset_csv"] == "orders-in,0,600000\n"
    (sink,) = plan["sinks"]
    assert (sink["pipeline"], sink["sink"], sink["duplicates_max"]) == ("orders", "out", 390_000)
    assert "headgate positions plan orders" in " ".join(plan["warnings"])
    bench.brokers.starts[KEY] = 650_000
    bench.inspection()
    cut = operator.post(address, {"to": f"before={event.pk}-90s"}, format="json").json()["partitions"][0]
    assert (cut["target"], cut["gone"]) == (650_000, 50_000)


def test_before_a_jump_is_the_look_before_the_one_that_found_it(bench: Bench, operator: APIClient) -> None:
    bench.commit(10)
    bench.inspection()
    event = Event.objects.get(kind="group.jumped_back")
    plan = operator.post(f"{GROUPS}/{bench.group.pk}/plan", {"to": f"before={event.pk}"}, format="json").json()
    (part,) = plan["partitions"]
    assert (part["committed"], part["target"], part["basis"], part["skip"]) == (10, 500_000, "snapshot", 499_990)


def test_a_plan_to_before_the_group_was_watched_goes_by_the_time_of_the_records(operator: APIClient) -> None:
    bench = Bench()
    bench.inspection(0.0)
    event = Event.objects.create(at=datetime.fromtimestamp(BEGIN + 60, UTC), kind="x", message="It began.")
    plan = operator.post(f"{GROUPS}/{bench.group.pk}/plan", {"to": f"before={event.pk}-31m"}, format="json").json()
    (part,) = plan["partitions"]
    assert part["basis"] == "record_times"
    assert 1_000_000 - 3600 <= part["target"] <= 1_000_000 - 1800
    bad = operator.post(f"{GROUPS}/{bench.group.pk}/plan", {"to": "before=yesterday"}, format="json")
    assert (bad.status_code, bad.json()["code"]) == (400, "bad_target")
