"""Faults of the guided demo: one at a time, each state survives a restart of the stack, and each wait has a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import close_old_connections, connection
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.devstack.client import Api, Json, Refused
from controlplane.devstack.demo import Demo
from controlplane.devstack.guide.cards import FAULTS, Fault
from controlplane.devstack.guide.runner import UNDO_SECONDS, Guide
from controlplane.devstack.guide.site import Facts, Impossible, Keep, Notice, Site
from controlplane.install.services.interrupt import Interrupt
from pipelines.domain.base.roles import Role
from pipelines.domain.guide.faults import CARDS, LIMITS, NEXT, Card, FaultState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.models import AuditRow, DemoFault, Event, Pipeline
from pipelines.services.base.audit import Actor
from pipelines.services.guide import faults
from tests.db.conftest import CommandLine
from tests.factories import PipelineFactory

pytestmark = pytest.mark.django_db
GUIDE = "/api/v1/pipelines/demo/guide"
ROOT = Actor("root")


class FakeSite(Site):
    """A pipeline that is what the test says, and reads on."""

    phase = "RUNNING"
    records = 100
    missing = 0

    def __init__(self) -> None:
        interrupt = Interrupt()
        api = Api("http://127.0.0.1:1", "none", interrupt)
        super().__init__(api, Demo("demo", "none:1"), None, lambda _: None, lambda: None, interrupt)

    def pipeline(self) -> Json:
        return {"phase": type(self).phase, "headline": "Running."}

    def ledger(self) -> Json:
        FakeSite.records += 1
        return {"read": FakeSite.records}

    def marks(self) -> Facts:
        return {"source": {}, "sink": {}}

    def produced(self) -> dict[int, int]:
        return {0: 1}

    def counted(self, facts: Facts) -> Json:
        counts = {"records": 7, "duplicates": 0, "possible_duplicates": 0, "balanced": True}
        return {**counts, "missing": type(self).missing}


class FakeCard(Fault):
    """Breaks nothing; `undone` counts how often it was undone."""

    def __init__(self) -> None:
        self.undone = 0
        self.broken = 0
        self.notice: Notice | None = Notice("Seen.", "Explained.", "/pipelines/demo")
        self.breaks: Callable[[], None] = lambda: None
        self.undoes: Callable[[], None] = lambda: None

    def carry_out(self, site: Site, keep: Keep) -> str:
        self.broken += 1
        keep(thing=7)
        self.breaks()
        return "Broke it."

    def noticed(self, site: Site, facts: Facts) -> Notice | None:
        assert facts["thing"] == 7
        return self.notice

    def undo(self, site: Site, facts: Facts) -> None:
        self.undoes()
        self.undone += 1


@pytest.fixture(autouse=True)
def _site() -> Iterator[None]:
    yield
    FakeSite.phase, FakeSite.missing = "RUNNING", 0


@pytest.fixture
def demo(settings: Settings) -> Pipeline:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"demo_pipeline": "demo"})
    made: Pipeline = PipelineFactory.create(name="demo")
    return made


@pytest.fixture
def card() -> FakeCard:
    return FakeCard()


def stack(card: Fault) -> Guide:
    """A demo stack that has just started."""
    return Guide("demo", lambda _: FakeSite(), lambda _: None, Interrupt(), {Card.KILL_AGENT: card})


def fault() -> DemoFault:
    return DemoFault.objects.latest("requested_at")


def ask(demo: Pipeline) -> None:
    faults.request(pipeline=demo, card=Card.KILL_AGENT, actor=ROOT)


def late(by: float) -> None:
    """The state of the fault began so long ago."""
    DemoFault.objects.update(since=clock.now() - timedelta(seconds=by))


def test_every_card_has_a_text_and_is_carried_out() -> None:
    assert set(CARDS) == set(Card) == set(FAULTS)


def test_a_card_is_broken_noticed_recovered_and_counted(demo: Pipeline, card: FakeCard, operator: APIClient) -> None:
    answer = operator.post(GUIDE, {"card": "kill-agent"}, format="json")
    assert (answer.status_code, answer.json()["state"]) == (202, "REQUESTED")
    guide = stack(card)
    states = []
    for _ in range(5):
        guide.turn()
        states.append(fault().state)
    assert states == ["BROKEN", "NOTICED", "RECOVERED", "DONE", "DONE"]
    shown = operator.get(GUIDE).json()
    last = next(each["last"] for each in shown["cards"] if each["card"] == "kill-agent")
    assert shown["open"] is None
    assert (last["broken"], last["noticed"], last["explained"]) == ("Broke it.", "Seen.", "Explained.")
    assert (last["counted"]["records"], last["counted"]["missing"]) == (7, 0)
    assert last["broken_at"] <= last["noticed_at"] <= last["recovered_at"] <= last["ended_at"]
    assert (card.broken, card.undone) == (1, 1)
    assert [each.data["state"] for each in Event.objects.filter(kind="demo.fault").order_by("pk")] == [
        "REQUESTED",
        *NEXT.values(),
    ]
    row = AuditRow.objects.get(action="demo.broken")
    assert (row.actor, row.pipeline_name, row.after) == ("operator", "demo", {"card": "kill-agent"})


def test_it_can_be_repeated(demo: Pipeline, card: FakeCard) -> None:
    guide = stack(card)
    for _ in range(2):
        ask(demo)
        for _ in range(5):
            guide.turn()
    assert [each.state for each in DemoFault.objects.all()] == ["DONE", "DONE"]


@pytest.mark.parametrize("state", [state for state in NEXT if state is not FaultState.BREAKING])
def test_a_stack_that_was_killed_in_any_state_continues_the_fault(
    demo: Pipeline, card: FakeCard, state: FaultState
) -> None:
    ask(demo)
    guide = stack(card)
    while fault().state != state:
        guide.turn()
    again = stack(card)
    for _ in range(5):
        again.turn()
    assert fault().state == "DONE"
    assert card.broken == 1


def test_a_stack_that_was_killed_while_it_broke_the_pipeline_undoes_it(demo: Pipeline, card: FakeCard) -> None:
    """It is not known whether it had done so."""

    def killed() -> None:
        raise KeyboardInterrupt

    ask(demo)
    card.breaks = killed
    with pytest.raises(KeyboardInterrupt):
        stack(card).turn()
    assert (fault().state, fault().facts["thing"]) == ("BREAKING", 7)
    stack(card).turn()
    assert (fault().state, card.undone) == ("FAILED", 1)
    assert "stopped while it broke" in fault().error


def test_a_stop_of_the_stack_undoes_it(demo: Pipeline, card: FakeCard) -> None:
    ask(demo)
    guide = stack(card)
    guide.turn()
    guide.close()
    assert (fault().state, fault().error, card.undone) == ("FAILED", "The demo was stopped.", 1)


@pytest.mark.parametrize("state", list(LIMITS))
def test_no_state_lasts_longer_than_its_limit(demo: Pipeline, card: FakeCard, state: FaultState) -> None:
    ask(demo)
    guide = stack(card)
    while fault().state != state and state is not FaultState.BREAKING:
        guide.turn()
    card.notice, FakeSite.phase, FakeSite.missing = None, "BLOCKED", 3
    DemoFault.objects.update(state=state)
    late(LIMITS[state] + 1)
    guide.turn()
    assert (fault().state, card.undone > 0) == ("FAILED", True)
    assert fault().error


def test_a_missing_record_fails_the_card_and_is_counted(demo: Pipeline, card: FakeCard) -> None:
    ask(demo)
    guide = stack(card)
    FakeSite.missing = 2
    for _ in range(6):
        guide.turn()
    assert fault().state == "RECOVERED"
    late(LIMITS[FaultState.RECOVERED] + 1)
    guide.turn()
    assert fault().state == "FAILED"
    assert "2 missing" in fault().error


def test_what_cannot_be_broken_says_why_and_is_undone(demo: Pipeline, card: FakeCard) -> None:
    def impossible() -> None:
        raise Impossible("No run is alive.")

    ask(demo)
    card.breaks = impossible
    stack(card).turn()
    assert (fault().state, fault().error, card.undone) == ("FAILED", "No run is alive.", 1)


def test_a_server_that_is_away_is_asked_again_and_undoing_is_tried_for_a_while(demo: Pipeline, card: FakeCard) -> None:
    def away() -> None:
        raise Refused(503, {"title": "Away"})

    ask(demo)
    guide = stack(card)
    guide.turn()
    card.notice, card.undoes = None, away
    guide.turn()
    assert fault().state == "BROKEN"
    late(LIMITS[FaultState.BROKEN] + 1)
    guide.turn()
    assert fault().state == "BROKEN"
    late(LIMITS[FaultState.BROKEN] + UNDO_SECONDS + 1)
    guide.turn()
    assert fault().state == "FAILED"
    assert "could not be undone: HTTP 503" in fault().error


def test_a_second_card_is_refused_while_one_is_under_way(demo: Pipeline, operator: APIClient) -> None:
    assert operator.post(GUIDE, {"card": "kill-agent"}, format="json").status_code == 202
    refused = operator.post(GUIDE, {"card": "freeze-sink"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "demo_fault_open")
    assert AuditRow.objects.filter(action="demo.broken").count() == 1
    assert operator.get(GUIDE).json()["open"] == "kill-agent"


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_one_is_taken(demo: Pipeline) -> None:
    results: list[str] = []
    barrier = threading.Barrier(2)

    def request() -> None:
        barrier.wait(10)
        try:
            ask(demo)
            results.append("taken")
        except Conflict:
            results.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=request) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    close_old_connections()
    assert sorted(results) == ["refused", "taken"]
    assert DemoFault.objects.count() == 1


def test_a_fault_that_no_stack_took_makes_room_for_the_next(demo: Pipeline) -> None:
    ask(demo)
    with pytest.raises(Conflict):
        ask(demo)
    late(3600)
    ask(demo)
    assert sorted(each.state for each in DemoFault.objects.all()) == ["FAILED", "REQUESTED"]


def test_old_faults_are_forgotten(demo: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "KEPT", 2)
    for _ in range(4):
        ask(demo)
        faults.fail(fault(), "enough")
    assert DemoFault.objects.count() == 2


def test_two_stacks_change_a_state_once(demo: Pipeline) -> None:
    ask(demo)
    one, other = fault(), fault()
    assert faults.advance(one)
    assert not faults.advance(other)
    assert not faults.fail(other, "late")


def test_an_unknown_card_is_a_finding(demo: Pipeline, operator: APIClient) -> None:
    answer = operator.post(GUIDE, {"card": "pull-the-plug"}, format="json")
    assert (answer.status_code, answer.json()["findings"][0]["path"]) == (422, "card")


@pytest.mark.django_db(transaction=True)
def test_the_command_line_shows_and_breaks(demo: Pipeline, command_line: CommandLine) -> None:
    run = command_line("ana", Role.OPERATOR)
    shown = run("guide", "show")
    assert (shown.exit_code, "kill-agent" in shown.output) == (0, True), shown.output
    broken = run("guide", "break", "kill-agent")
    assert (broken.exit_code, "REQUESTED" in broken.output) == (0, True), broken.output
    assert fault().requested_by == "ana"
