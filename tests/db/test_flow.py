"""What was read in a while and what became of it, by channel, component and sink."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from pipelines.domain.base.positions import Frozen
from pipelines.domain.ledger.ledger import CAUSES, COUNTERS
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, Pipeline, Run
from pipelines.selectors.ledger.flow import flow, pipeline_topology
from tests.db.test_component_totals import FIRST, counts, pipeline, run, with_interceptors
from tests.db.test_journals import done, planned, rng, take
from tests.factories import RunFactory

pytestmark = pytest.mark.django_db
FLOW = "/api/v1/pipelines/orders/ledger/flow"
__all__ = ["pipeline", "run"]


def finish(run: Run, *entries: Frozen, ago: timedelta = timedelta(seconds=1)) -> None:
    """Take entries of a journal as batches that were finished so long ago."""
    before = set(LedgerBatch.objects.filter(run=run).values_list("pk", flat=True))
    take(run, *entries)
    taken = LedgerBatch.objects.filter(run=run, done_at__isnull=False).exclude(pk__in=before)
    taken.update(done_at=clock.now() - ago)


def test_only_what_was_finished_meanwhile_counts(run: Run) -> None:
    finish(run, done(0, rng(0, 10), counts=counts(first={"filtered": 9})), ago=timedelta(hours=1))
    finish(run, done(1, rng(10, 20), counts=counts(first={"filtered": 2})), done(2, rng(20, 30), sink="other"))
    take(run, planned(3, rng(30, 40)))
    (channel,) = flow(run.pipeline, 15).channels
    assert (channel.batches, channel.read, channel.delivered, channel.filtered) == (2, 20, 18, 2)
    assert channel.delivered_by == {"out": 8, "other": 10}
    assert [(each.component, each.filtered) for each in channel.components] == [(FIRST, 2)]
    (channel,) = flow(run.pipeline, 120).channels
    assert (channel.batches, channel.read, channel.filtered) == (3, 30, 11)


def test_two_components_of_one_path_are_told_apart_and_parts_equal_sums(pipeline: Pipeline) -> None:
    for number, regex in ((2, "a"), (3, "b")):
        revised = with_interceptors(pipeline, number, {"type": "regex_filter", "regex": regex})
        finish(revised, done(0, rng(number * 10, number * 10 + 10), counts=counts(first={"filtered": number})))
    (channel,) = flow(pipeline, 15).channels
    assert [(each.first_revision, each.type, each.filtered) for each in channel.components] == [
        (2, "regex_filter", 2),
        (3, "regex_filter", 3),
    ]
    assert channel.not_by_component == {}
    for cause in CAUSES:
        assert getattr(channel, cause) == sum(getattr(each, cause) for each in channel.components)


def test_what_no_component_counted_is_told(run: Run) -> None:
    finish(run, done(0, rng(0, 10), counts=counts(first={"filtered": 2}).model_copy(update={"components": None})))
    (channel,) = flow(run.pipeline, 15).channels
    assert channel.not_by_component == {"filtered": 2}


def test_a_pipeline_that_read_nothing_has_no_flow(pipeline: Pipeline, viewer: APIClient) -> None:
    found = viewer.get(FLOW, {"minutes": 1}).json()
    assert found["channels"] == []
    assert found["since"] < found["until"]


def test_it_takes_three_queries_whatever_was_read(run: Run, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(5):
        finish(run, done(number, rng(number * 10, number * 10 + 10), counts=counts(first={"filtered": 1})))
    pipeline = run.pipeline
    with django_assert_num_queries(3):
        assert flow(pipeline, 15).channels[0].read == 50


@pytest.mark.parametrize("minutes", ["0", "-5", "x", "9999999"])
def test_a_time_that_is_none_is_refused(pipeline: Pipeline, viewer: APIClient, minutes: str) -> None:
    response = viewer.get(FLOW, {"minutes": minutes})
    assert response.status_code == 400
    assert response.json()["findings"][0]["path"] == "minutes"


def test_every_counter_is_shown(run: Run) -> None:
    finish(run, done(0, rng(0, 10)))
    (channel,) = flow(run.pipeline, 15).channels
    shown = {name: getattr(channel, name) for name in COUNTERS}
    assert shown == {**dict.fromkeys(COUNTERS, 0), "read": 10, "delivered": 10}


def test_the_graph_has_the_figures_of_the_published_revision_alone(pipeline: Pipeline, viewer: APIClient) -> None:
    before = with_interceptors(pipeline, 2, {"type": "regex_filter", "regex": "a"})
    finish(before, done(0, rng(0, 10), counts=counts(first={"filtered": 9})))
    run = with_interceptors(pipeline, 3, {"type": "regex_filter", "regex": "b"})
    pipeline.current_revision = run.revision
    pipeline.save(update_fields=["current_revision"])
    finish(run, done(0, rng(10, 20), counts=counts(first={"filtered": 4}), sink="lake"))
    found = viewer.get("/api/v1/pipelines/orders/topology", {"minutes": 5}).json()
    assert found["revision"] == 3
    shown = {node["path"]: (node["received"], node["filtered"], node["passed"]) for node in found["nodes"]}
    assert shown["sources.shop"] == (10, 0, 10)
    assert shown[FIRST] == (10, 4, 6)
    assert [edge["records"] for edge in found["edges"] if edge["target"].startswith("sinks.")] == [6]


def listed(viewer: APIClient, **query: Any) -> list[dict[str, Any]]:
    found = viewer.get("/api/v1/pipelines/orders/ledger", query)
    assert found.status_code == 200, found.json()
    batches: list[dict[str, Any]] = found.json()["results"]
    return batches


def test_the_batches_of_each_outcome_add_up_to_the_flow(run: Run, viewer: APIClient) -> None:
    finish(run, done(0, rng(0, 10), counts=counts(first={"filtered": 9})), ago=timedelta(hours=1))
    finish(run, done(1, rng(10, 20), counts=counts(first={"filtered": 2}, second={"filtered": 1, "dead_lettered": 3})))
    finish(run, done(2, rng(20, 30), sink="other"))
    finish(run, done(3, rng(30, 40), counts=counts(first={"added": 4}, selector={"unrouted": 1})))
    take(run, planned(4, rng(40, 50)))
    (channel,) = flow(run.pipeline, 15).channels
    own = {"source": channel.source, "channel": channel.channel, "minutes": 15}
    for outcome in COUNTERS:
        batches = listed(viewer, **own, outcome=outcome)
        assert sum(each[outcome] for each in batches) == getattr(channel, outcome)
        assert all(each[outcome] for each in batches)
    for part in channel.components:
        for cause in CAUSES:
            batches = listed(viewer, **own, outcome=cause, component=part.component)
            found = [each["components"][part.component][cause] for each in batches]
            assert (sum(found), 0 in found) == (getattr(part, cause), False)
    for sink, delivered in channel.delivered_by.items():
        batches = listed(viewer, **own, outcome="delivered", component=f"sinks.{sink}")
        assert sum(each["delivered"] for each in batches) == delivered
    assert [each["first_batch"] for each in listed(viewer, minutes=15)] == [3, 2, 1]
    assert listed(viewer, source="another") == []


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("component", {"component": "sinks.out"}),
        ("component", {"component": "sinks.out", "outcome": "read"}),
        ("outcome", {"outcome": "lost"}),
        ("minutes", {"minutes": "0"}),
    ],
)
def test_an_outcome_that_is_none_is_refused(
    pipeline: Pipeline, viewer: APIClient, path: str, query: dict[str, str]
) -> None:
    response = viewer.get("/api/v1/pipelines/orders/ledger", query)
    assert (response.status_code, [each["path"] for each in response.json()["findings"]]) == (400, [path])


def test_a_pipeline_without_a_revision_has_an_empty_graph(pipeline: Pipeline, viewer: APIClient) -> None:
    pipeline.current_revision = None
    pipeline.save(update_fields=["current_revision"])
    found = viewer.get("/api/v1/pipelines/orders/topology").json()
    assert (found["revision"], found["nodes"], found["edges"]) == (None, [], [])


@pytest.mark.parametrize(
    ("began", "ended", "expected"), [(20, None, 20), (600, None, 60), (20, 5, 20), (None, None, 60)]
)
def test_rates_are_of_the_time_in_which_there_was_something_to_count(
    pipeline: Pipeline, began: int | None, ended: int | None, expected: int
) -> None:
    moment = {name: clock.now() - timedelta(seconds=ago) for name, ago in (("b", began), ("e", ended)) if ago}
    run = RunFactory.create(pipeline=pipeline, first_record_at=moment.get("b"), ended_at=moment.get("e"))
    pipeline.current_revision = run.revision
    found = pipeline_topology(pipeline, 1)
    assert (found.until - found.since).total_seconds() == pytest.approx(expected, abs=3)
