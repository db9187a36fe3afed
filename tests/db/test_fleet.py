"""The fleet: what requires action, and what is known of the last 24 hours of every pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import pytest
import time_machine
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import ATTENTION_PHASES, DesiredState, Phase
from pipelines.domain.lifecycle.history import RANKS, SLOTS
from pipelines.models import Event, Host, Pipeline, Run, Supervision
from pipelines.selectors.lifecycle import fleet
from pipelines.services.lifecycle.transitions import set_phase
from pipelines.services.runs.observations import HostFacts, Retention, heartbeat, lease_of, prune
from tests.db.conftest import CommandLine
from tests.factories import EventFactory, HostFactory, PipelineFactory, RunFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 10, tzinfo=UTC)
"""The last slot began ten minutes ago, the first one begins 23 h 40 min ago."""
LONG_AGO = NOW - timedelta(days=30)


@pytest.fixture(autouse=True)
def at_a_fixed_time() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def alpha() -> Host:
    """A host that has been supervised without a gap for a month."""
    return HostFactory.create(seen_at=NOW, supervised_since=LONG_AGO)


def hours_ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def pipeline(phase: Phase, since: datetime = LONG_AGO, created: datetime = LONG_AGO, **fields: Any) -> Pipeline:
    made: Pipeline = PipelineFactory.create(phase=phase, phase_since=since, **fields)
    Pipeline.objects.filter(id=made.id).update(created_at=created)
    return made


def changed(of: Pipeline, hours: float, old: Phase, new: Phase, run: Run | None = None) -> None:
    """A change of phase as it is stored."""
    EventFactory.create(pipeline=of, at=hours_ago(hours), run=run, data={"old": old, "new": new})


def shown(client: APIClient, of: Pipeline) -> list[tuple[str | None, int]]:
    """The phases of a pipeline, each with how many slots have it one after the other."""
    (found,) = [each for each in rows(client) if each["name"] == of.name]
    assert len(found["history"]["phases"]) == SLOTS
    return [(phase, len(list(slots))) for phase, slots in groupby(found["history"]["phases"])]


def rows(client: APIClient, **query: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/fleet", {"limit": 1000, **query})
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


@pytest.mark.parametrize("phase", list(Phase))
def test_a_phase_that_has_not_changed_is_that_of_every_slot(viewer: APIClient, alpha: Host, phase: Phase) -> None:
    assert shown(viewer, pipeline(phase)) == [(phase, SLOTS)]


def test_the_slots_are_half_hours_of_which_the_last_is_not_over(viewer: APIClient, alpha: Host) -> None:
    pipeline(Phase.RUNNING)
    (found,) = rows(viewer)
    assert found["history"]["since"] == "2026-03-01T12:30:00Z"
    assert found["history"]["slot_seconds"] == 1800


def test_changes_of_phase_divide_the_day(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING, hours_ago(2.1))
    changed(found, 6.1, Phase.RUNNING, Phase.PAUSED)
    changed(found, 4.1, Phase.PAUSED, Phase.STOPPED)
    changed(found, 2.1, Phase.STOPPED, Phase.RUNNING)
    assert shown(viewer, found) == [("RUNNING", 35), ("PAUSED", 5), ("STOPPED", 4), ("RUNNING", 4)]


def test_a_slot_has_what_requires_action_first(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING, hours_ago(3))
    changed(found, 3.02, Phase.RUNNING, Phase.FAILED)
    changed(found, 3.01, Phase.FAILED, Phase.PREFLIGHT)
    changed(found, 3.00, Phase.PREFLIGHT, Phase.RUNNING)
    assert shown(viewer, found) == [("RUNNING", 41), ("FAILED", 1), ("RUNNING", 6)]
    assert sorted(RANKS, key=RANKS.__getitem__)[: len(ATTENTION_PHASES)] == [*ATTENTION_PHASES]
    assert set(RANKS) == set(Phase)


def test_there_is_nothing_before_a_pipeline_was_created(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING, hours_ago(1.9), created=hours_ago(2))
    changed(found, 1.9, Phase.STOPPED, Phase.RUNNING)
    assert shown(viewer, found) == [(None, 43), ("STOPPED", 1), ("RUNNING", 4)]


def test_a_new_pipeline_has_been_stopped_since_it_was_created(operator: APIClient) -> None:
    body = {"definition": {"api_version": "headgate/v1", "name": "new", **MINIMAL}}
    assert operator.post("/api/v1/pipelines", body, format="json").status_code == 201
    with time_machine.travel(NOW + timedelta(seconds=1), tick=False):
        assert shown(operator, Pipeline.objects.get()) == [(None, SLOTS - 1), ("STOPPED", 1)]


MINIMAL = {
    "sources": {"numbers": {"type": "sequence", "rate": 5}},
    "channels": {"main": {"type": "direct"}},
    "sinks": {"out": {"type": "null", "channel": "main"}},
}


def test_a_change_that_is_not_stored_leaves_the_time_before_the_next_unknown(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.PAUSED, hours_ago(2.1))
    changed(found, 8.1, Phase.RUNNING, Phase.STOPPED)
    changed(found, 4.1, Phase.DEGRADED, Phase.RUNNING)
    assert shown(viewer, found) == [("RUNNING", 31), ("UNKNOWN", 13), ("PAUSED", 4)]


def test_nothing_is_known_of_the_phases_before_the_only_one(viewer: APIClient, alpha: Host) -> None:
    assert shown(viewer, pipeline(Phase.RUNNING, hours_ago(2.1))) == [("UNKNOWN", 44), ("RUNNING", 4)]


def test_the_changes_of_a_run_that_was_deleted_are_unknown(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.STOPPED, hours_ago(2.1))
    run = RunFactory.create(pipeline=found)
    changed(found, 8.1, Phase.STOPPED, Phase.PREFLIGHT)
    changed(found, 8.0, Phase.PREFLIGHT, Phase.RUNNING, run)
    changed(found, 2.1, Phase.RUNNING, Phase.STOPPED, run)
    assert shown(viewer, found) == [("STOPPED", 32), ("RUNNING", 11), ("STOPPED", 5)]
    run.delete()
    assert shown(viewer, found) == [("STOPPED", 31), ("UNKNOWN", 13), ("STOPPED", 4)]


def test_a_change_that_names_no_phase_is_unknown(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING, hours_ago(2.1))
    EventFactory.create(pipeline=found, at=hours_ago(4.1), data={"old": "GONE"})
    assert shown(viewer, found) == [("UNKNOWN", 44), ("RUNNING", 4)]


def test_a_change_that_the_row_does_not_have_yet_counts(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING)
    changed(found, 1.1, Phase.RUNNING, Phase.FAILED)
    assert shown(viewer, found) == [("RUNNING", 45), ("FAILED", 3)]


class TestWithoutSupervisor:
    """Agents may do anything while nobody watches; where no process exists, nothing changes meanwhile."""

    @pytest.fixture(autouse=True)
    def gap(self) -> Host:
        """From six to four hours ago nobody watched."""
        host = HostFactory.create(seen_at=NOW, supervised_since=hours_ago(4.1))
        Supervision.objects.create(host=host, since=LONG_AGO, until=hours_ago(6.1))
        return host

    @pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.PAUSED, Phase.DEGRADED, Phase.STALLED, Phase.BACKOFF])
    def test_a_phase_in_which_a_process_may_exist_is_unknown(self, viewer: APIClient, phase: Phase) -> None:
        if phase in ATTENTION_PHASES and RANKS[phase] < RANKS[Phase.UNKNOWN]:
            expected = [(phase, 36), ("UNKNOWN", 3), (phase, 9)]
        elif RANKS[phase] > RANKS[Phase.UNKNOWN]:
            expected = [(phase, 35), ("UNKNOWN", 5), (phase, 8)]
        assert shown(viewer, pipeline(phase)) == expected

    @pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.BLOCKED, Phase.FAILED])
    def test_a_phase_without_processes_is_known(self, viewer: APIClient, phase: Phase) -> None:
        assert shown(viewer, pipeline(phase)) == [(phase, SLOTS)]

    def test_the_gap_of_another_host_does_not_count(self, viewer: APIClient) -> None:
        other = HostFactory.create(name="bravo", seen_at=NOW, supervised_since=LONG_AGO)
        assert shown(viewer, pipeline(Phase.RUNNING, host=other)) == [("RUNNING", SLOTS)]

    def test_the_host_of_the_run_at_that_time_counts(self, viewer: APIClient, gap: Host) -> None:
        other = HostFactory.create(name="bravo", seen_at=NOW, supervised_since=LONG_AGO)
        moved = pipeline(Phase.RUNNING, hours_ago(2), host=other)
        before = RunFactory.create(pipeline=moved, host=gap, state="ENDED")
        changed(moved, 2.1, Phase.RUNNING, Phase.STOPPED, before)
        changed(moved, 2, Phase.STOPPED, Phase.RUNNING, RunFactory.create(pipeline=moved))
        assert shown(viewer, moved) == [("RUNNING", 35), ("UNKNOWN", 5), ("RUNNING", 3), ("STOPPED", 1), ("RUNNING", 4)]

    def test_a_host_that_is_silent_now_is_unknown_since(self, viewer: APIClient, gap: Host) -> None:
        Host.objects.filter(name=gap.name).update(seen_at=hours_ago(1.1))
        found = pipeline(Phase.RUNNING)
        assert shown(viewer, found) == [("RUNNING", 35), ("UNKNOWN", 5), ("RUNNING", 5), ("UNKNOWN", 3)]
        assert (rows(viewer)[0]["supervised"], rows(viewer)[0]["attention"]) == (False, len(ATTENTION_PHASES))

    def test_a_host_of_which_nothing_is_stored_is_unknown(self, viewer: APIClient) -> None:
        HostFactory.create(name="old", seen_at=NOW)
        found = pipeline(Phase.RUNNING, host=Host.objects.get(name="old"))
        assert shown(viewer, found) == [("UNKNOWN", SLOTS)]


class TestHeartbeats:
    """A host's row says since when it has been seen without a gap."""

    FACTS = HostFacts("alpha", "/state", "1", 2, 1, {"pid": 1, "start_time": 1, "boot_id": "b"})

    def beat(self, seconds: float) -> Host:
        now = NOW + timedelta(seconds=seconds)
        assert heartbeat(facts=self.FACTS, seen=lease_of("alpha"), now=now, ttl=15, tick_ms=1) is not None
        return Host.objects.get()

    def test_a_gap_begins_a_new_time_and_keeps_the_one_before(self) -> None:
        for second in (0, 1, 31):
            assert self.beat(second).supervised_since == NOW
        assert not Supervision.objects.exists()
        assert self.beat(62).supervised_since == NOW + timedelta(seconds=62)
        kept = Supervision.objects.get()
        assert (kept.host_id, kept.since, kept.until) == ("alpha", NOW, NOW + timedelta(seconds=31))

    def test_a_beat_that_is_refused_keeps_nothing(self) -> None:
        seen = self.beat(0)
        self.beat(1)
        assert heartbeat(facts=self.FACTS, seen=seen, now=NOW + timedelta(hours=1), ttl=15, tick_ms=1) is None
        assert not Supervision.objects.exists()

    def test_what_is_over_for_two_days_is_deleted(self, alpha: Host) -> None:
        for days in (1, 3):
            Supervision.objects.create(host=alpha, since=LONG_AGO, until=NOW - timedelta(days=days))
        prune(now=NOW, retention=Retention())
        assert Supervision.objects.get().until == NOW - timedelta(days=1)


def test_the_door_of_phases_is_where_the_day_comes_from(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING)
    with time_machine.travel(hours_ago(1.1), tick=False):
        set_phase(pipeline_id=found.id, expected=Phase.RUNNING, new=Phase.STALLED, reason="r", message="m")
    assert Event.objects.get().kind == "phase.changed"
    assert shown(viewer, found) == [("RUNNING", 45), ("STALLED", 3)]


def test_what_was_before_the_changes_that_are_read_is_unknown(
    viewer: APIClient, alpha: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "MOST_CHANGES", 2)
    found, quiet = pipeline(Phase.RUNNING, hours_ago(2.1)), pipeline(Phase.STOPPED)
    changed(found, 6.1, Phase.RUNNING, Phase.PAUSED)
    changed(found, 4.1, Phase.PAUSED, Phase.STOPPED)
    changed(found, 2.1, Phase.STOPPED, Phase.RUNNING)
    assert shown(viewer, found) == [("UNKNOWN", 40), ("STOPPED", 4), ("RUNNING", 4)]
    assert shown(viewer, quiet) == [("UNKNOWN", 40), ("STOPPED", 8)]


def test_the_number_of_queries_does_not_depend_on_that_of_pipelines(
    viewer: APIClient, alpha: Host, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        found = pipeline(Phase.RUNNING, hours_ago(number / 2))
        changed(found, number / 2, Phase.STOPPED, Phase.RUNNING)
    for limit in (2, 20):
        with django_assert_num_queries(5):  # role, pipelines, changes, hosts, supervisions
            assert len(rows(viewer, limit=limit)) == limit


def test_lists_and_the_fleet_agree_on_what_requires_action(viewer: APIClient, alpha: Host) -> None:
    silent = HostFactory.create(name="bravo", seen_at=hours_ago(1))
    for phase in Phase:
        for host in (alpha, silent):
            pipeline(phase, host=host, desired_state=DesiredState.STOPPED)
    listed = viewer.get("/api/v1/pipelines", {"limit": 1000}).json()["results"]
    assert {each["name"]: each["attention"] for each in listed} == {
        each["name"]: each["attention"] for each in rows(viewer)
    }
    urgent = {(each["phase"], each["supervised"]): each["attention"] for each in listed}
    assert [urgent[phase, True] for phase in ATTENTION_PHASES] == [0, 1, 2, 3, 4]
    assert urgent["RUNNING", True] is None
    assert urgent["RUNNING", False] == 5
    assert urgent["STOPPED", False] is None


def test_pipelines_of_other_teams_and_deleted_ones_are_not_there(alpha: Host) -> None:
    mine, other = TeamFactory.create(), TeamFactory.create()
    own = pipeline(Phase.RUNNING, team=mine)
    for hidden in (pipeline(Phase.RUNNING, team=other), pipeline(Phase.STOPPED, team=mine, archived_at=NOW)):
        changed(hidden, 1, Phase.STOPPED, Phase.RUNNING)
    client = APIClient()
    client.force_authenticate(UserFactory.create(role=None, in_teams={mine: Role.VIEWER}))
    assert [each["name"] for each in rows(client)] == [own.name]


def test_the_fleet_is_narrowed_like_the_list(viewer: APIClient, alpha: Host) -> None:
    found = pipeline(Phase.RUNNING, labels={"tier": "1"})
    pipeline(Phase.FAILED, labels={"tier": "2"})
    for query in ({"phase": "RUNNING"}, {"label": "tier:1"}, {"q": found.name}):
        assert [each["name"] for each in rows(viewer, **query)] == [found.name]


def test_the_command_line_shows_it_by_group(command_line: CommandLine) -> None:
    run = command_line("ana", Role.VIEWER)
    host = HostFactory.create(seen_at=NOW, supervised_since=LONG_AGO)
    pipeline(Phase.RUNNING, name="calm", host=host, labels={"tier": "1"})
    pipeline(Phase.FAILED, name="broken", host=host)
    text = run("fleet").stdout
    assert text.startswith("All: 2 pipelines (1 FAILED, 1 RUNNING); 1 of them requires action")
    assert text.index("broken") < text.index("calm")
    assert "!" * SLOTS in text
    assert "=" * SLOTS in text
    by_label = run("fleet", "--group-by", "label:tier").stdout
    assert by_label.startswith("None: 1 pipeline (1 FAILED)") or "1: 1 pipeline (1 RUNNING); none requires" in by_label
    assert run("fleet", "--group-by", "colour").exit_code == 2
    assert '"attention": 1' in run("fleet", "-o", "json").stdout
