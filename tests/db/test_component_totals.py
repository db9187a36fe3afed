"""The totals of components grow with the ledger, add up to its sums, and never mix two components of one path."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.states import RunState
from pipelines.domain.ledger.ledger import CAUSES, Counts
from pipelines.models import ChannelTotals, ComponentTotals, Pipeline, Run
from pipelines.selectors.ledger.ledger import ledger_totals
from pipelines.selectors.monitoring.metrics import snapshot
from tests.db.test_journals import done, rng, take
from tests.factories import PipelineFactory, RevisionFactory, RunFactory

pytestmark = pytest.mark.django_db
FIRST, SECOND = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]"
SELECTOR = "sources.shop.selector"


def with_interceptors(pipeline: Pipeline, number: int, *interceptors: dict[str, Any]) -> Run:
    """A run of a further revision with these interceptors."""
    revision = RevisionFactory.create(pipeline=pipeline, number=number)
    revision.definition["sources"]["shop"]["interceptors"] = list(interceptors)
    revision.save(update_fields=["definition"])
    return after(pipeline, revision=revision)


def after(pipeline: Pipeline, **fields: Any) -> Run:
    """The next run of a pipeline, whose run before is over."""
    Run.objects.filter(pipeline=pipeline).update(state=RunState.ENDED)
    return RunFactory.create(pipeline=pipeline, **fields)


def counts(**parts: dict[Any, int]) -> Counts:
    """Ten records, of which components have decided these."""
    paths = {"first": FIRST, "second": SECOND, "selector": SELECTOR}
    components = {paths[name]: each for name, each in parts.items()}
    sums = {name: sum(each.get(name, 0) for each in parts.values()) for name in CAUSES}
    left = 10 + sums["added"] - sum(number for name, number in sums.items() if name != "added")
    return Counts(read=10, delivered=left, components=components, **sums)


@pytest.fixture
def pipeline() -> Pipeline:
    return PipelineFactory.create(name="orders")


@pytest.fixture
def run(pipeline: Pipeline) -> Run:
    return RunFactory.create(pipeline=pipeline)


def test_the_parts_of_a_channel_add_up_to_its_sums(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=counts(first={"filtered": 2, "added": 1}, selector={"unrouted": 1})))
    take(run, done(1, rng(10, 20), counts=counts(first={"filtered": 1}, second={"filtered": 3, "dead_lettered": 1})))
    take(run, done(2, rng(20, 30)))
    (channel,) = ledger_totals(run.pipeline).channels
    found = {each.component: each for each in channel.components}
    assert sorted(found) == [FIRST, SECOND, SELECTOR]
    for name in CAUSES:
        assert sum(getattr(each, name) for each in found.values()) == getattr(channel, name)
    assert (found[FIRST].filtered, found[FIRST].added, found[SECOND].dead_lettered) == (3, 1, 1)
    assert (channel.not_by_component, channel.balanced) == ({}, True)
    assert found[FIRST].first_revision == found[FIRST].last_revision == 1


def test_two_runs_of_a_revision_count_together(pipeline: Pipeline) -> None:
    for number in range(2):
        run = after(pipeline)
        take(run, done(number, rng(10 * number, 10 * number + 10), counts=counts(first={"filtered": 4})))
    (row,) = ComponentTotals.objects.all()
    assert (row.component, row.filtered) == (FIRST, 8)


def test_what_agents_of_earlier_versions_counted_is_not_counted_by_component(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=Counts(read=10, delivered=4, filtered=6)))
    take(run, done(1, rng(10, 20), counts=counts(first={"filtered": 1})))
    (channel,) = ledger_totals(run.pipeline).channels
    assert (channel.filtered, channel.not_by_component, channel.balanced) == (7, {"filtered": 6}, True)


def test_parts_that_differ_from_their_sum_unbalance_totals_and_metrics(run: Run) -> None:
    wrong = counts(first={"filtered": 4}).model_copy(update={"components": {FIRST: {"filtered": 3}}})
    take(run, done(0, rng(0, 10), counts=wrong))
    (channel,) = ledger_totals(run.pipeline).channels
    assert (channel.not_by_component, channel.balanced) == ({"filtered": 1}, False)
    assert ChannelTotals.objects.get().unattributed == 1


def test_a_revision_that_puts_another_component_at_a_path_begins_another_total(pipeline: Pipeline) -> None:
    debug = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
    info = {"type": "regex_filter", "regex": "INFO", "exclude_events": True}
    revisions = {2: (debug,), 3: (debug, info), 4: (info, debug)}
    for number, interceptors in revisions.items():
        run = with_interceptors(pipeline, number, *interceptors)
        take(run, done(number, rng(10 * number, 10 * number + 10), counts=counts(first={"filtered": number})))
    (channel,) = ledger_totals(pipeline).channels
    assert [(each.first_revision, each.last_revision, each.type, each.filtered) for each in channel.components] == [
        (2, 3, "regex_filter", 5),
        (4, 4, "regex_filter", 4),
    ]
    metrics = [(each.component, each.outcome, each.records) for each in snapshot().components]
    assert metrics == [(FIRST, "filtered", 4)], "of the revision that ran last"


def test_the_api_shows_the_parts_of_batches_and_of_channels(run: Run, viewer: APIClient) -> None:
    take(run, done(0, rng(0, 10), counts=Counts(read=10, delivered=4, filtered=6)))
    take(run, done(1, rng(10, 20), counts=counts(first={"filtered": 2}), sink="other"), done(2, rng(20, 30)))
    batches = viewer.get("/api/v1/pipelines/orders/ledger").json()["results"]
    assert [each["components"] for each in batches] == [{}, {FIRST: {"filtered": 2}}, None]
    (channel,) = viewer.get("/api/v1/pipelines/orders/ledger/summary").json()["channels"]
    assert channel["not_by_component"] == {"filtered": 6}
    (part,) = channel["components"]
    assert part | {"type": ""} == {
        "component": FIRST,
        "type": "",
        "first_revision": 1,
        "last_revision": 1,
        "added": 0,
        "routed_elsewhere": 0,
        "filtered": 2,
        "unrouted": 0,
        "dead_lettered": 0,
    }
