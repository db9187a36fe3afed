"""No frame of another team leaves the server, whichever way it came, and a stream ends with the role that opened it."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import pytest

from pipelines.api.monitoring import stream
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import Phase
from pipelines.foundation import dispatch
from pipelines.models import Event, RoleBinding, Team
from pipelines.services.access import access
from pipelines.services.base import events
from tests.db.conftest import Server
from tests.db.test_event_stream import SECONDS, Listener, listening
from tests.db.test_event_stream import redis_url as redis_url
from tests.factories import EventFactory, PipelineFactory, RunFactory, TeamFactory, UserFactory
from tests.waiting import wait_for

REPORTED = {"at": 1.0, "queries": [], "components": []}
ENDS_WITHIN = 5.0


@pytest.fixture
def amber(transactional_db: None) -> Team:
    """The team that listens."""
    team: Team = TeamFactory.create(name="amber-team")
    PipelineFactory.create(name="amber-orders", team=team)
    return team


@pytest.fixture
def cobalt(transactional_db: None) -> Team:
    """Another one, with a pipeline that runs."""
    team: Team = TeamFactory.create(name="cobalt-team")
    pipeline = PipelineFactory.create(name="cobalt-orders", team=team, phase=Phase.RUNNING)
    RunFactory.create(pipeline=pipeline, observed=REPORTED)
    return team


def of(server: Server, team: Team, role: Role = Role.ADMIN) -> Server:
    """The server, asked by a new user of a team."""
    user = UserFactory.create(in_teams={team: role})
    return replace(server, token=access.create_token(user=user, name="test", expires=None))


def happen(team: Team) -> None:
    """Everything that a stream carries, of a team, of its pipeline, and of the installation."""
    pipeline = team.pipelines.get()
    frame = {"pipeline": pipeline.name, "phase": "RUNNING"}
    dispatch.publish("live", {dispatch.OWNER: team.pk, **frame})
    events.record(kind="run.started", message=pipeline.name, pipeline=pipeline, data={"at": pipeline.name})
    events.record(kind="silence.created", message=team.name, team=team.pk)
    events.record(kind="host.evacuation", message=f"{pipeline.name} stays", data={"left": {pipeline.name: ""}})


def hears(listener: Listener, team: Team) -> bool:
    """Whether a frame through Redis has come; another one is sent."""
    dispatch.publish("live", {dispatch.OWNER: team.pk, "pipeline": "amber-orders", "phase": "RUNNING"})
    return not listener.frames.empty()


def until_own(listener: Listener, own: Event) -> str:
    """Every frame up to the event of the listener's own team, as text."""
    seen = ""
    while True:
        kind, data, number = listener.frames.get(timeout=SECONDS)
        seen += f"{kind} {data} {number}\n"
        if data.get("id") == own.pk:
            return seen


@pytest.mark.parametrize("with_redis", [True, False])
def test_a_stream_has_nothing_of_another_team(
    server: Server, amber: Team, cobalt: Team, with_redis: bool, request: pytest.FixtureRequest
) -> None:
    if with_redis:
        request.getfixturevalue("redis_url")
    with listening(of(server, amber)) as listener:
        if with_redis:
            wait_for(lambda: hears(listener, amber), "what goes through Redis arrives")
        happen(cobalt)
        own = events.record(kind="run.started", message="Own.", pipeline=amber.pipelines.get())
        seen = until_own(listener, own)
    assert "cobalt" not in seen

    with listening(of(server, cobalt)) as listener:
        happen(cobalt)
        assert listener.next("event")[0]["pipeline"] == "cobalt-orders"


def test_what_was_missed_has_nothing_of_another_team(server: Server, amber: Team, cobalt: Team) -> None:
    EventFactory.create(pipeline=cobalt.pipelines.get(), message="cobalt")
    EventFactory.create(pipeline=None, message="cobalt")
    own = EventFactory.create(pipeline=amber.pipelines.get())
    with listening(of(server, amber), **{"Last-Event-ID": "0"}) as listener:
        assert "cobalt" not in until_own(listener, own)


def test_the_pipeline_of_another_team_is_listened_to_like_one_that_does_not_exist(
    server: Server, redis_url: str, amber: Team, cobalt: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.5)
    with listening(of(server, amber), "?pipeline=cobalt-orders", **{"Last-Event-ID": "0"}) as listener:
        for _ in range(5):
            happen(cobalt)
            assert listener.frames.get(timeout=SECONDS)[0] == "heartbeat"


def test_a_stream_ends_within_seconds_of_the_role_that_opened_it(server: Server, amber: Team) -> None:
    with listening(of(server, amber, Role.VIEWER)) as listener:
        RoleBinding.objects.filter(team=amber).delete()
        removed_at = monotonic()
        assert listener.ended.wait(SECONDS)
    assert monotonic() - removed_at < ENDS_WITHIN


def test_a_stream_ends_when_one_of_two_roles_is_taken_back(server: Server, amber: Team, cobalt: Team) -> None:
    user = UserFactory.create(in_teams={amber: Role.VIEWER, cobalt: Role.VIEWER})
    both = replace(server, token=access.create_token(user=user, name="test", expires=None))
    with listening(both) as listener:
        RoleBinding.objects.filter(team=cobalt, user=user).delete()
        assert listener.ended.wait(SECONDS)
    with listening(both) as listener:
        own = events.record(kind="run.started", message="Own.", pipeline=amber.pipelines.get())
        assert "cobalt" not in until_own(listener, own)
