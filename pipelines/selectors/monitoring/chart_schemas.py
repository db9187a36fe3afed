"""What the API answers about a pipeline over a range of time."""

from __future__ import annotations

from datetime import datetime

from pipelines.domain.ledger.ledger import BatchStep
from pipelines.selectors.base.schemas import Schema


class MarkSchema(Schema):
    """An event that may explain a bend in a line. `state`: the phase that it led to; empty for other kinds."""

    id: int
    at: datetime
    kind: str
    state: str
    message: str


class ChartsSchema(Schema):
    """A pipeline over a range of time, in columns: each has a value for each time in `at`, which is the beginning of
    `step` seconds. null: nobody has measured it; 0 is measured.

    `read_per_second`, `delivered_per_second`: means of the ledger, while an agent ran. `lag_records`, `lag_seconds`:
    the most. `batch_seconds`: of a batch in the mean, by step. `restarts`: after failures.

    `marks`: the newest of the range; `marks_left_out`: there are older ones. `created_at`: of the pipeline; `ran`: an
    agent ran in the range; `lag_kept_since`, `events_kept_since`: what is older is deleted.
    """

    since: datetime
    until: datetime
    step: int
    at: list[datetime]
    read_per_second: list[float | None]
    delivered_per_second: list[float | None]
    lag_records: list[int | None]
    lag_seconds: list[float | None]
    batches: list[int | None]
    batch_seconds: dict[BatchStep, list[float | None]]
    restarts: list[int | None]
    marks: list[MarkSchema]
    marks_left_out: bool
    created_at: datetime
    ran: bool
    lag_kept_since: datetime
    events_kept_since: datetime


class PartitionColumnsSchema(Schema):
    """The lag of one partition over time."""

    source: str
    channel: str
    topic: str
    partition: int
    records: list[int | None]
    seconds: list[float | None]


class PartitionChartsSchema(Schema):
    """The lag of every partition over a range of time, in columns as those of the charts: the most of each `step`
    seconds. `left_out`: partitions with less lag, where there are too many for one answer."""

    since: datetime
    until: datetime
    step: int
    at: list[datetime]
    partitions: list[PartitionColumnsSchema]
    left_out: int
