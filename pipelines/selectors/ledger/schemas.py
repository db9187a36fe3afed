"""What the API answers about the ledger: batches, totals, positions, series."""

from __future__ import annotations

from datetime import datetime

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.topology import NodeKind
from pipelines.selectors.base.schemas import Schema


class RangeSchema(Schema):
    """The half-open range [start, end) of offsets of one partition."""

    topic: str
    partition: int
    start: int
    end: int


class LedgerBatchSchema(Schema):
    """One batch, or several adjoining ones of a run taken in together. `run` is the run's number, `components` what
    each component has counted, by path; null: it was not counted by component. `delivered_bytes`: of the bodies that
    were delivered; null: not counted."""

    id: int
    run: int
    source: str
    channel: str
    first_batch: int
    last_batch: int
    state: LedgerState
    read: int
    added: int
    delivered: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped_optional: int
    components: dict[str, dict[str, int]] | None
    delivered_bytes: int | None
    duplicates_max: int
    gaps: int
    overlaps: int
    ranges: list[RangeSchema]
    sink: str
    attempts: int
    planned_at: datetime | None
    done_at: datetime | None
    balanced: bool


class ComponentTotalsSchema(Schema):
    """What a component has counted. `component`: its path in the definition, or `quarantine`; `type`: empty for that.
    Revisions from `first_revision` to `last_revision` define it alike; what else they put there has totals of its own.
    """

    component: str
    type: str
    first_revision: int
    last_revision: int
    added: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int


class ChannelLedgerTotals(Schema):
    """The ledger totals of one (source, channel). `open_batches`: planned and not acknowledged yet. `components`: the
    parts of what components decide; `not_by_component`: records of each sum that no component has counted, as those
    that agents of earlier versions counted. `delivered_bytes`: of the bodies that were delivered, but for those of
    `delivered_without_bytes` records, whose bytes were not counted; null where that is all of them."""

    source: str
    channel: str
    read: int
    added: int
    delivered: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped_optional: int
    duplicates_max: int
    gaps: int
    overlaps: int
    batches: int
    open_batches: int
    delivered_bytes: int | None
    delivered_without_bytes: int
    components: list[ComponentTotalsSchema]
    not_by_component: dict[str, int]
    balanced: bool


class PositionSchema(Schema):
    """The next offset to read of one partition."""

    source: str
    channel: str
    topic: str
    partition: int
    next_offset: int
    updated_at: datetime


class ChannelFlow(Schema):
    """What a (source, channel) read in a while and what became of it. `delivered_by`: by sink; `components`: the parts
    of what components decide."""

    source: str
    channel: str
    batches: int
    read: int
    added: int
    delivered: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped_optional: int
    delivered_by: dict[str, int]
    components: list[ComponentTotalsSchema]
    not_by_component: dict[str, int]


class FlowSchema(Schema):
    """What a pipeline read from `since` to `until` and what became of it: the batches that were finished meanwhile.
    Older rows of the ledger hold several batches; one counts as a whole when its last batch was finished in between."""

    since: datetime
    until: datetime
    channels: list[ChannelFlow]


class NodeSchema(Schema):
    """A component of the graph by its `path` in the definition, and what became of the events that it received:
    `passed` is what the next component received, or what a sink delivered."""

    path: str
    kind: NodeKind
    name: str
    type: str
    received: int
    added: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped: int
    passed: int


class EdgeSchema(Schema):
    """What went from one component to another, each by its path."""

    origin: str
    target: str
    records: int


class TopologySchema(Schema):
    """The graph of the revision that is published, in the order in which events go through it. Its figures are of the
    batches of this revision that were finished from `since` to `until`. `revision`: null where none is published."""

    revision: int | None
    since: datetime
    until: datetime
    nodes: list[NodeSchema]
    edges: list[EdgeSchema]


class LedgerTotalsSchema(Schema):
    """The ledger totals of a pipeline over all its runs. `balanced`: every record has one verdict, no gap and no
    overlap."""

    channels: list[ChannelLedgerTotals]
    read: int
    delivered: int
    filtered: int
    delivered_bytes: int | None
    delivered_without_bytes: int
    duplicates_max: int
    gaps: int
    overlaps: int
    balanced: bool
    positions: list[PositionSchema]


class PointSchema(Schema):
    """One point of a chart."""

    at: datetime
    records_per_second: float
    lag_records: int | None


class SeriesSchema(Schema):
    """Rate and lag over time, oldest first."""

    points: list[PointSchema]
