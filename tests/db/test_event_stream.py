"""The stream of events, over a real server and a real Redis."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client

from controlplane.install.services.redis import running_redis
from pipelines.api.monitoring import shared, stream
from pipelines.api.monitoring.shared import Period, Shared
from pipelines.api.monitoring.tail import Tail
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import Phase
from pipelines.foundation import clock, dispatch
from pipelines.models import AccessToken, Pipeline
from pipelines.selectors.runs.live import live_frame
from pipelines.services.base import events
from tests.db.conftest import Server
from tests.factories import EventFactory, PipelineFactory, RunFactory
from tests.waiting import wait_for

SECONDS = 60.0


class Listener:
    """A client that collects frames in the background."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.frames: queue.Queue[tuple[str, dict[str, Any], str | None]] = queue.Queue()
        self.ended = threading.Event()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    self.frames.put((fields["event"], json.loads(fields["data"]), fields.get("id")))
                    fields = {}
                else:
                    fields = {}
        except (httpx2.HTTPError, httpx2.StreamError):
            pass
        self.ended.set()

    def next(self, kind: str) -> tuple[dict[str, Any], str | None]:
        """The next frame of a kind; others are passed over."""
        while True:
            found, data, number = self.frames.get(timeout=SECONDS)
            if found == kind:
                return data, number


@contextmanager
def listening(server: Server, query: str = "", **headers: str) -> Iterator[Listener]:
    """Open a stream and wait for its greeting."""
    wanted = {**server.headers, "Accept": stream.MEDIA_TYPE, **headers}
    timeout = httpx2.Timeout(SECONDS)
    with (
        httpx2.Client(timeout=timeout) as client,
        client.stream("GET", f"{server.url}/api/v1/events{query}", headers=wanted) as response,
    ):
        assert response.status_code == 200
        assert response.headers["Content-Type"] == stream.MEDIA_TYPE
        listener = Listener(response)
        assert "server_time" in listener.next("hello")[0]
        try:
            yield listener
        finally:  # a mere close would wait for the thread that still reads
            response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            assert listener.ended.wait(SECONDS)


@pytest.fixture
def redis_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Redis of this test's own, used by server and services."""
    with running_redis(tmp_path) as url:
        use_redis(url, monkeypatch)
        yield url
    dispatch.event_stream.cache_clear()


def use_redis(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings
    from pydantic import SecretStr

    sent = threading.Event()  # what earlier tests published goes to their Redis, which is none, and not to this one
    dispatch.courier().send(sent.set)
    assert sent.wait(SECONDS)
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update={"redis_url": SecretStr(url)}))
    dispatch.event_stream.cache_clear()


def test_an_event_arrives_with_its_number_as_the_frames_id(server: Server, redis_url: str) -> None:
    pipeline = PipelineFactory.create(name="orders")
    with listening(server) as listener:
        event = events.record(kind="run.started", message="Run 1 began.", pipeline=pipeline)
        data, number = listener.next("event")

    assert number == str(event.pk)
    assert (data["id"], data["pipeline"], data["kind"]) == (event.pk, "orders", "run.started")


def test_a_stream_carries_only_the_kinds_asked_for(server: Server, redis_url: str) -> None:
    pipeline = PipelineFactory.create(name="orders")
    with listening(server, "?kind=migration.*&category=states", **{"Last-Event-ID": "0"}) as listener:
        for kind in ("alert.opened", "run.started", "migration.updated"):
            events.record(kind=kind, message=kind, pipeline=pipeline)
        assert [listener.next("event")[0]["kind"] for _ in range(2)] == ["run.started", "migration.updated"]


def test_a_stream_without_redis_carries_only_the_kinds_asked_for(server: Server) -> None:
    pipeline = PipelineFactory.create(name="orders")
    for kind in ("alert.opened", "run.started", "migration.updated"):
        events.record(kind=kind, message=kind, pipeline=pipeline)
    with listening(server, "?kind=migration.*&category=states", **{"Last-Event-ID": "0"}) as listener:
        assert [listener.next("event")[0]["kind"] for _ in range(2)] == ["run.started", "migration.updated"]


def test_live_figures_arrive_without_a_number_and_only_of_the_pipeline_asked_for(
    server: Server, redis_url: str
) -> None:
    with listening(server, "?pipeline=orders") as listener:

        def send() -> bool:
            dispatch.publish("live", {"pipeline": "other", "phase": "RUNNING"})
            dispatch.publish("live", {"pipeline": "orders", "phase": "RUNNING"})
            return not listener.frames.empty()

        wait_for(send, "a live frame arrives")
        data, number = listener.next("live")

    assert (data["pipeline"], number) == ("orders", None)


def test_a_client_that_comes_back_gets_what_it_missed_in_order_and_once(server: Server, redis_url: str) -> None:
    known, *missed = [EventFactory.create() for _ in range(stream.PAGE + 20)]
    with listening(server, **{"Last-Event-ID": str(known.pk)}) as listener:
        later = events.record(kind="run.started", message="Later.")
        numbers = [listener.next("event")[0]["id"] for _ in range(len(missed) + 1)]

    assert numbers == [*[event.pk for event in missed], later.pk]


def test_without_redis_events_and_figures_come_from_the_database(server: Server) -> None:
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING)
    RunFactory.create(pipeline=pipeline, observed={"at": 1.0, "queries": [], "components": []})
    with listening(server) as listener:
        event = EventFactory.create(pipeline=pipeline)
        assert listener.next("event")[0]["id"] == event.pk

    with listening(server) as listener:
        assert listener.next("live")[0]["pipeline"] == "orders"


def test_a_stream_outlives_redis(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_redis(tmp_path / "first") as url:
        use_redis(url, monkeypatch)
        context = listening(server)
        listener = context.__enter__()
        first = events.record(kind="run.started", message="With Redis.")
        assert listener.next("event")[0]["id"] == first.pk

    second = events.record(kind="run.ended", message="Without Redis.")
    data, _ = listener.next("event")
    context.__exit__(None, None, None)
    dispatch.event_stream.cache_clear()

    assert data["id"] == second.pk


def test_a_client_that_leaves_releases_its_place(server: Server) -> None:
    user = User.objects.get().username
    with listening(server):
        assert stream.open_streams[user] == 1
    wait_for(lambda: stream.open_streams[user] == 0, "the place is free again")


def test_the_number_of_streams_of_a_user_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAMS_PER_USER", 1)
    headers = {**server.headers, "Accept": stream.MEDIA_TYPE}
    with listening(server):
        response = httpx2.get(f"{server.url}/api/v1/events", headers=headers, timeout=SECONDS)

    assert (response.status_code, response.json()["code"]) == (429, "too_many_streams")
    assert response.headers["Retry-After"]


def test_a_stream_ends_when_its_token_is_revoked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.1)
    with listening(server) as listener:
        AccessToken.objects.all().delete()
        assert listener.ended.wait(SECONDS)


def test_nobody_listens_without_a_login(server: Server) -> None:
    response = httpx2.get(f"{server.url}/api/v1/events", headers={"Accept": stream.MEDIA_TYPE}, timeout=SECONDS)

    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_page_listens_by_its_session_until_it_logs_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.1)
    client = Client()
    user = User.objects.get()
    client.force_login(user)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    with listening(replace(server, token=""), Cookie=cookie, Authorization="") as listener:
        assert stream.open_streams[user.username] == 1
        client.logout()
        assert listener.ended.wait(SECONDS)


def test_the_oldest_numbers_are_forgotten() -> None:
    sent = stream.Sent()
    for number in range(stream.REMEMBERED + 1):
        sent.add(number)
    assert [number in sent for number in (0, 1, stream.REMEMBERED)] == [False, True, True]


def test_streams_with_the_same_question_ask_once_per_period() -> None:
    asked: list[str] = []

    def ask(questions: Shared, period: float, question: str) -> Coroutine[Any, Any, None]:
        return questions.ask(period, question, lambda: asked.append(question))

    async def tabs() -> None:
        questions = Shared()
        first = asyncio.create_task(ask(questions, 7, "ana"))
        others = [asyncio.create_task(ask(questions, 7, "ana")) for _ in range(3)]
        await asyncio.sleep(0)
        first.cancel()
        assert await asyncio.gather(*others, ask(questions, 7, "bea")) == [None] * 4
        await ask(questions, 8, "ana")

    asyncio.run(tabs())
    assert asked == ["ana", "bea", "ana"]


def test_a_period_begins_at_the_same_moment_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 103.0
    monkeypatch.setattr(shared, "monotonic", lambda: now)
    early = Period(10)
    now = 108.0
    late = Period(10)
    assert [early.due(), late.due()] == [False, False]
    now = 110.0
    assert [early.due(), late.due(), early.number, late.number] == [True, True, 11, 11]
    assert [early.due(), late.due()] == [False, False]


def test_streams_share_what_they_read_only_where_the_same_exists_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.Feed, "_page", lambda feed, start: [{"seen by": feed._subscription.access}])
    everything, one, other = Access(Role.VIEWER), Access(teams={1: Role.VIEWER}), Access(teams={2: Role.VIEWER})

    async def read() -> list[Access]:
        caller, found = stream.Caller("ana", "session", None), []
        for access in (everything, one, other):
            wanted = stream.Subscription(place="", caller=caller, access=access, pipeline=None, after=0)
            found += await stream.Feed(wanted, Tail())._read(0, 7)
        return [each["seen by"] for each in found]

    assert asyncio.run(read()) == [everything, one, other]


QUERIES = [{"cause": 'he said ,"queries":[ and left', "positions": []}]
FIGURES = {"phase": "RUNNING", "updated_at": ',"queries":[', "queries": QUERIES}


def test_figures_come_with_the_queries_of_the_pipeline_that_is_watched_alone(server: Server, redis_url: str) -> None:
    """Those of others are left out, whatever texts stand in them."""
    with listening(server, "?queries=orders") as listener:

        def send() -> bool:
            dispatch.publish("live", {"pipeline": "orders", **FIGURES})
            dispatch.publish("live", {"pipeline": "other", **FIGURES})
            return listener.frames.qsize() > 1

        wait_for(send, "live frames arrive")
        seen = dict(sorted((data["pipeline"], data) for data, _ in (listener.next("live"), listener.next("live"))))

    assert seen["orders"]["queries"] == QUERIES
    assert seen["other"] == {"pipeline": "other", "phase": "RUNNING", "updated_at": ',"queries":['}


def test_pages_that_watch_no_pipeline_get_the_figures_of_all_and_every_event(server: Server, redis_url: str) -> None:
    """What they have in common is made once for all of them."""
    with listening(server, "?queries=-") as first, listening(server, "?queries=-") as second:

        def send() -> bool:
            dispatch.publish("live", {"pipeline": "orders", **FIGURES})
            return not (first.frames.empty() or second.frames.empty())

        wait_for(send, "live frames arrive")
        event = events.record(
            kind="run.started", message="Run 1 began.", pipeline=PipelineFactory.create(name="orders")
        )
        for listener in (first, second):
            data, _ = listener.next("live")
            assert data == {"pipeline": "orders", "phase": "RUNNING", "updated_at": ',"queries":['}
            assert listener.next("event")[0]["id"] == event.pk


def test_without_redis_the_queries_of_others_are_left_out_too(server: Server) -> None:
    for name in ("orders", "other"):
        pipeline = PipelineFactory.create(name=name, phase=Phase.RUNNING)
        RunFactory.create(pipeline=pipeline, observed={"at": 1.0, "queries": [], "components": []})
    with listening(server, "?queries=other") as listener:
        seen = {data["pipeline"]: data for data, _ in (listener.next("live"), listener.next("live"))}
    assert ["queries" in seen[name] for name in ("orders", "other")] == [False, True]


def test_a_frame_has_its_queries_last() -> None:
    """What is cut off without being parsed."""
    assert list(live_frame(Pipeline(name="orders", updated_at=clock.now()), [], None))[-1] == "queries"
