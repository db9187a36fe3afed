"""A query that is built once answers each time as Django's own would."""

from __future__ import annotations

from threading import Thread
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import QuerySet

from pipelines.domain.base.states import DesiredState, Phase
from pipelines.models import Host, Pipeline
from pipelines.selectors.base.prepared import Prepared, Remembering, given
from pipelines.selectors.lifecycle import supervision
from tests.factories import HostFactory, PipelineFactory


def of_host() -> QuerySet[Pipeline]:
    found = Pipeline.objects.filter(host_id=given("host"), generation__lte=given("most"))
    return found.select_related("current_revision").defer("description").order_by("name")


def test_it_answers_with_what_is_there_now_of_what_each_call_names(db: None) -> None:
    asked = Prepared(of_host)
    HostFactory.create(name="alpha")
    HostFactory.create(name="beta")
    assert asked(host="alpha", most=10**6) == []
    first = PipelineFactory.create(name="p1", host_id="alpha", generation=1)
    second = PipelineFactory.create(name="p2", host_id="alpha", generation=2)
    other = PipelineFactory.create(name="p3", host_id="beta", generation=1)
    assert asked(host="alpha", most=2) == [first, second]
    assert asked(host="alpha", most=1) == [first]
    assert asked(host="beta", most=1) == [other]


def test_its_rows_have_what_was_selected_and_fetch_what_was_not(db: None, django_assert_num_queries: Any) -> None:
    made = PipelineFactory.create(host_id=HostFactory.create(name="alpha").name, description="x", labels={"a": "b"})
    with django_assert_num_queries(1):
        (found,) = Prepared(of_host)(host="alpha", most=10**6)
        assert (found.id, found.labels, found.current_revision) == (made.id, {"a": "b"}, made.current_revision)
    with django_assert_num_queries(1):
        assert found.description == "x"


def test_an_id_is_found_as_the_database_stores_it(db: None) -> None:
    made = PipelineFactory.create()
    asked = Prepared(lambda: Pipeline.objects.filter(id=given("id")))
    assert (asked(id=made.id), asked(id=uuid4())) == ([made], [])


def test_its_sql_is_built_once_and_not_before_it_is_asked(db: None) -> None:
    built = []

    def build() -> QuerySet[Host]:
        built.append(1)
        return Host.objects.filter(name=given("name"))

    asked = Prepared(build)
    assert built == []
    assert (asked(name="a"), asked(name="b"), built) == ([], [], [1])


def test_each_thread_asks_over_its_own_connection(db: None) -> None:
    asked, used = Prepared(lambda: Host.objects.filter(name=given("name"))), []

    def note(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        used.append(context["connection"])
        return execute(sql, params, many, context)

    def ask() -> None:
        with connection.execute_wrapper(note):
            asked(name="a")

    def ask_and_leave() -> None:
        ask()
        connection.close()

    ask()
    thread = Thread(target=ask_and_leave)
    thread.start()
    thread.join()
    assert len({id(each) for each in used}) == 2


def test_a_pipeline_that_rests_and_was_busy_has_its_place_among_those_that_do_not(db: None) -> None:
    HostFactory.create(name="alpha")
    rests = {"phase": Phase.STOPPED, "desired_state": DesiredState.STOPPED, "generation": 1, "observed_generation": 1}
    busy = PipelineFactory.create(name="a", host_id="alpha", **rests)
    PipelineFactory.create(name="b", host_id="alpha", **{**rests, "generation": 2})
    PipelineFactory.create(name="c", host_id="alpha", **rests)
    assert [row.pipeline.name for row in supervision.roster("alpha", set())] == ["b"]
    assert [row.pipeline.name for row in supervision.roster("alpha", {busy.id})] == ["a", "b"]
    assert [row.pipeline.name for row in supervision.roster("alpha", None)] == ["a", "b", "c"]


def test_pipelines_of_a_host_have_one_order_whatever_the_collation_of_the_database(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code points put `a-c` before `ab`; the collation of a language passes over the hyphen."""
    HostFactory.create(name="alpha")
    rests = {"phase": Phase.STOPPED, "desired_state": DesiredState.STOPPED, "generation": 1, "observed_generation": 1}
    made = [PipelineFactory.create(name=name, host_id="alpha", **rests) for name in ("a1", "ab", "a-c")]
    monkeypatch.setattr(supervision, "_pipelines", lambda host: made)
    for busy in (None, {pipeline.id for pipeline in made}):
        assert [row.pipeline.name for row in supervision.roster("alpha", busy)] == ["a-c", "a1", "ab"]


def of_one_host() -> QuerySet[Pipeline]:
    return Pipeline.objects.filter(host_id=given("host")).defer("description").order_by("name")


def made_of(asked: Remembering[Pipeline], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pipelines that an answer made models of; the others were as they were."""
    made, from_db = [], Pipeline.from_db.__func__  # type: ignore[attr-defined]

    def noting(cls: type[Pipeline], *arguments: Any) -> Pipeline:
        model = from_db(cls, *arguments)
        made.append(model.name)
        return cast("Pipeline", model)

    with monkeypatch.context() as patched:
        patched.setattr(Pipeline, "from_db", classmethod(noting))
        asked(host="alpha")
    return made


def test_only_rows_that_have_changed_are_made_models_again(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    HostFactory.create(name="alpha")
    for name in ("p1", "p2", "p3"):
        PipelineFactory.create(name=name, host_id="alpha", generation=1)
    asked = Remembering(of_one_host)
    assert made_of(asked, monkeypatch) == ["p1", "p2", "p3"]
    assert made_of(asked, monkeypatch) == []
    Pipeline.objects.filter(name="p2").update(conditions=[{"type": "Stable"}])
    assert made_of(asked, monkeypatch) == ["p2"]
    Pipeline.objects.filter(name="p1").update(host_id=None)
    assert [each.name for each in asked(host="alpha")] == ["p2", "p3"]
    assert asked(host="beta") == []


def test_what_is_done_to_a_model_is_gone_with_the_next_answer(db: None, django_assert_num_queries: Any) -> None:
    HostFactory.create(name="alpha")
    made = PipelineFactory.create(name="p1", host_id="alpha", generation=7, description="x")
    asked = Remembering(of_one_host)
    first, (second,) = asked(host="alpha")[0], asked(host="alpha")
    first.generation, first.current_revision = 8, None
    (third,) = asked(host="alpha")
    assert (second.generation, third.generation, third) == (7, 7, made)
    assert third.current_revision == made.current_revision
    with django_assert_num_queries(1):
        assert third.description == "x"
    third.phase = Phase.RUNNING
    third.save(update_fields=["phase"])
    (fourth,) = asked(host="alpha")
    assert fourth.phase == Phase.RUNNING
