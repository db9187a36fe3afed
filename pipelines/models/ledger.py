"""The books in the database: batches, positions, and the series behind the charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.ledger import COUNTERS, Counts
from pipelines.models.definition import choices


class LedgerBatch(models.Model):
    """One batch, or several adjoining finished ones of a run that were taken in together.

    `ranges` is `[{topic, partition, start, end}]`. Rows count, not offsets: read is what the source gave. `components`:
    what each component has counted, null where it was not counted by component or there is nothing of it;
    `unattributed`: by how many records that differs from the sums. `delivered_bytes`: null where they were not counted
    or nothing was delivered. `spent`: milliseconds of the batches by `BatchStep`; null where they were not measured.
    `operation`: of a batch that was replayed, the replay.
    """

    run = models.ForeignKey("pipelines.Run", on_delete=models.CASCADE, related_name="batches")
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="batches")
    lineage = models.PositiveBigIntegerField()
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    first_batch = models.PositiveBigIntegerField()
    last_batch = models.PositiveBigIntegerField()
    state = models.CharField(max_length=16, choices=choices(LedgerState))
    ranges = models.JSONField(default=list)
    read = models.PositiveBigIntegerField(default=0)
    added = models.PositiveBigIntegerField(default=0)
    delivered = models.PositiveBigIntegerField(default=0)
    routed_elsewhere = models.PositiveBigIntegerField(default=0)
    filtered = models.PositiveBigIntegerField(default=0)
    unrouted = models.PositiveBigIntegerField(default=0)
    dead_lettered = models.PositiveBigIntegerField(default=0)
    dropped_optional = models.PositiveBigIntegerField(default=0)
    duplicates_max = models.PositiveBigIntegerField(default=0)
    gaps = models.PositiveBigIntegerField(default=0)
    overlaps = models.PositiveBigIntegerField(default=0)
    components = models.JSONField(null=True, blank=True)
    unattributed = models.PositiveBigIntegerField(default=0)
    delivered_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    spent = models.JSONField(null=True, blank=True)
    sink = models.CharField(max_length=63, blank=True, default="")
    attempts = models.PositiveIntegerField(default=0)
    sink_ends = models.JSONField(default=dict, blank=True, help_text="Open batch: end offsets of its sinks before it.")
    open_ended = models.BooleanField(default=False, help_text="Open batch: its ranges end where it will have ended.")
    planned_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    operation = models.ForeignKey(
        "pipelines.Operation", null=True, blank=True, on_delete=models.CASCADE, related_name="batches"
    )
    rolled = models.PositiveSmallIntegerField(default=0, help_text="How often it was merged with its neighbours.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operation", "first_batch"],
                condition=Q(operation__isnull=False),
                name="a_replayed_batch_is_there_once",
            ),
        ]
        indexes = [
            models.Index(fields=["pipeline", "-id"]),
            models.Index(fields=["pipeline", "source", "channel", "-id"]),
            models.Index(fields=["pipeline"], condition=Q(state=LedgerState.PLANNED), name="open_batches"),
            models.Index(fields=["rolled", "done_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.source}.{self.channel} {self.first_batch}-{self.last_batch}"

    @property
    def counts(self) -> Counts:
        """Its counters, with their parts and bytes."""
        sums = {name: getattr(self, name) for name in COUNTERS}
        return Counts(**sums, components=self.components, delivered_bytes=self.delivered_bytes)

    @property
    def balanced(self) -> bool:
        """Every record has one verdict, every part is counted, and it begins where the one before it ended."""
        return not (self.counts.difference or self.unattributed or self.gaps or self.overlaps)

    def add(self, counts: Counts) -> None:
        """Count more batches in this row."""
        total = self.counts + counts
        for name in (*COUNTERS, "components", "delivered_bytes"):
            setattr(self, name, getattr(total, name))
        self.unattributed += counts.unattributed

    def add_spent(self, spent: Mapping[str, int]) -> None:
        """Count the time of more batches in this row."""
        self.spent = dict(Counter(self.spent or {}) + Counter(spent))

    @property
    def most_twice(self) -> int:
        """The most records that a sink has twice where this batch was begun, and is read again."""
        return self.duplicates_max or sum(each["end"] - each["start"] for each in self.ranges)


class Position(models.Model):
    """The next offset to read of one partition, per (source, channel): Headgate's own copy, and the one that counts."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="positions")
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    topic = models.CharField(max_length=249)
    partition = models.PositiveBigIntegerField(help_text="A number that the source gives: an inode has 64 bits.")
    next_offset = models.PositiveBigIntegerField()
    lineage = models.PositiveBigIntegerField()
    reported_at_decision = models.PositiveBigIntegerField(
        null=True, help_text="The furthest offset that anything told of when a person decided where to go on."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pipeline", "source", "channel", "topic", "partition"], name="one_position_per_partition"
            ),
            models.CheckConstraint(condition=Q(next_offset__gte=0), name="positions_are_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.next_offset}"


class ChannelTotals(models.Model):
    """The ledger totals of a (source, channel) as they grow: finished and abandoned batches, in the transaction that
    records them. `sized`: delivered records whose bytes are counted. `within_*` and `longer`: batches by duration
    (`domain.ledger.totals.DURATIONS`), since these columns exist."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="channel_totals")
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    read = models.PositiveBigIntegerField(default=0)
    added = models.PositiveBigIntegerField(default=0)
    delivered = models.PositiveBigIntegerField(default=0)
    routed_elsewhere = models.PositiveBigIntegerField(default=0)
    filtered = models.PositiveBigIntegerField(default=0)
    unrouted = models.PositiveBigIntegerField(default=0)
    dead_lettered = models.PositiveBigIntegerField(default=0)
    dropped_optional = models.PositiveBigIntegerField(default=0)
    duplicates_max = models.PositiveBigIntegerField(default=0)
    gaps = models.PositiveBigIntegerField(default=0)
    overlaps = models.PositiveBigIntegerField(default=0)
    unattributed = models.PositiveBigIntegerField(default=0)
    delivered_bytes = models.PositiveBigIntegerField(default=0)
    sized = models.PositiveBigIntegerField(default=0)
    batches = models.PositiveBigIntegerField(default=0)
    milliseconds = models.PositiveBigIntegerField(default=0)
    within_100ms = models.PositiveBigIntegerField(default=0)
    within_250ms = models.PositiveBigIntegerField(default=0)
    within_500ms = models.PositiveBigIntegerField(default=0)
    within_1s = models.PositiveBigIntegerField(default=0)
    within_2500ms = models.PositiveBigIntegerField(default=0)
    within_5s = models.PositiveBigIntegerField(default=0)
    within_10s = models.PositiveBigIntegerField(default=0)
    within_30s = models.PositiveBigIntegerField(default=0)
    within_60s = models.PositiveBigIntegerField(default=0)
    within_300s = models.PositiveBigIntegerField(default=0)
    longer = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline", "source", "channel"], name="one_total_per_channel"),
        ]

    def __str__(self) -> str:
        return f"{self.source}.{self.channel} {self.batches}"


class ComponentTotals(models.Model):
    """What a component has counted of a (source, channel), in the transaction that records it. One row per revision:
    another revision may have put another component at the same path."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="component_totals")
    revision = models.ForeignKey("pipelines.Revision", on_delete=models.CASCADE, related_name="component_totals")
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    component = models.CharField(max_length=150, help_text="Its path in the definition, or quarantine.")
    added = models.PositiveBigIntegerField(default=0)
    routed_elsewhere = models.PositiveBigIntegerField(default=0)
    filtered = models.PositiveBigIntegerField(default=0)
    unrouted = models.PositiveBigIntegerField(default=0)
    dead_lettered = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "source", "channel", "component"], name="one_total_per_component"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source}.{self.channel} {self.component}"


class Sample(models.Model):
    """One point of a pipeline's rate and lag. `step`: seconds that it is the mean of; 0 for a single look."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    records_per_second = models.FloatField()
    lag_records = models.PositiveBigIntegerField(null=True, blank=True)
    step = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["pipeline", "at"]), models.Index(fields=["step", "at"])]

    def __str__(self) -> str:
        return f"{self.pipeline_id} {self.at}"
