"""Hosts, and the runs of agents on them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import RunOutcome, RunRole, RunState
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.models.definition import choices


class Host(models.Model):
    """A machine with a worker. `lease_*` name the one supervisor process that may tick for it; `lease_epoch` grows with
    every process that takes the lease, and fences the ones before."""

    name = models.CharField(max_length=63, primary_key=True)
    state_dir = models.TextField(default="")
    version = models.CharField(max_length=32, default="")
    cores = models.PositiveIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    boot_id = models.CharField(max_length=64, blank=True, default="")
    seen_at = models.DateTimeField(null=True, blank=True)
    supervised_since = models.DateTimeField(
        null=True, blank=True, help_text="Since when it has been seen without a gap."
    )
    lease_owner = models.JSONField(null=True, blank=True, help_text="pid, start_time and boot_id of the owner.")
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_epoch = models.PositiveBigIntegerField(default=0)
    slots = models.PositiveIntegerField(null=True, blank=True, help_text="The most agents; empty: no limit.")
    memory_limit = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Bytes that its agents may take together; empty: no limit."
    )
    drained_at = models.DateTimeField(null=True, blank=True, help_text="Since when it takes no new agents.")
    drained_by = models.CharField(max_length=150, blank=True, default="")
    on_timeout = models.CharField(
        max_length=8,
        choices=[(each.value, each.value) for each in (OnTimeout.ABORT, OnTimeout.STOP)],
        default=OnTimeout.ABORT,
        help_text="What becomes of an agent that is to leave and does not end its batch in hand in time.",
    )
    removed_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when nobody expects it back; its next beat ends that."
    )
    tick_ms = models.FloatField(null=True, blank=True, help_text="Duration of the last tick.")
    messages = models.JSONField(
        default=dict,
        blank=True,
        help_text="Whether messages reach the worker: state, detail, since, at, round_trip_ms.",
    )
    spans_exported = models.PositiveBigIntegerField(default=0, help_text="Spans that its worker has exported.")
    spans_dropped = models.PositiveBigIntegerField(default=0, help_text="Spans that it could not export in time.")
    disk = models.JSONField(
        default=dict,
        blank=True,
        help_text="The disk of its runs and checkpoints: state, path, free, total and margin in bytes, at.",
    )
    output_checked_at = models.DateTimeField(
        null=True, blank=True, help_text="When its worker last checked the output of its pipelines."
    )
    isolation = models.JSONField(
        default=dict, blank=True, help_text="Whether its agents run as users of their own: state, detail, hint."
    )

    def __str__(self) -> str:
        return self.name


class Supervision(models.Model):
    """A time in which a host was seen without a gap, and that is over; Host has the present one."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="supervisions")
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["until"], name="supervisions_by_end")]

    def __str__(self) -> str:
        return f"{self.host_id} {self.since} {self.until}"


class Run(models.Model):
    """One life of an agent. `number` grows per pipeline name for ever. `epoch`, the fencing token, is of the same
    sequence: the number itself where the run began as ACTIVE, a new one where a standby was promoted. A standby has
    no epoch, and the lineage 0.

    `observed` is the agent's last status (queries, components, proof of pause), `journal_seq` and `journal_offset` say
    how far its journal has been taken in.
    """

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="runs")
    pipeline_name = models.CharField(max_length=63)
    number = models.PositiveBigIntegerField()
    role = models.CharField(max_length=16, choices=choices(RunRole), default=RunRole.ACTIVE)
    epoch = models.PositiveBigIntegerField(null=True, blank=True)
    revision = models.ForeignKey("pipelines.Revision", on_delete=models.PROTECT, related_name="runs")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="runs")
    lineage = models.PositiveBigIntegerField()
    token = models.CharField(max_length=64, unique=True)
    run_dir = models.TextField()
    generation = models.PositiveBigIntegerField()
    cluster_version = models.PositiveIntegerField(null=True, blank=True, help_text="Of the cluster that it was given.")
    secret_versions = models.JSONField(default=dict, blank=True, help_text="Name: version of the secrets it was given.")

    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.PENDING)
    outcome = models.CharField(max_length=16, choices=choices(RunOutcome), null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    exit_reason = models.TextField(blank=True, default="")
    stop_stage = models.CharField(max_length=16, blank=True, default="")

    keeper_pid = models.PositiveIntegerField(null=True, blank=True)
    driver_pid = models.PositiveIntegerField(null=True, blank=True)
    identity = models.JSONField(null=True, blank=True)
    observed = models.JSONField(null=True, blank=True)

    start_requested_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    first_record_at = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    warm = models.BooleanField(
        default=False, help_text="A standby that lifecycle.standby asks for, and not a migration."
    )
    promoted_at = models.DateTimeField(null=True, blank=True, help_text="When a standby became the ACTIVE run.")
    discarded_at = models.DateTimeField(null=True, blank=True, help_text="Since when a standby is not wanted any more.")

    in_flight = models.JSONField(
        default=list, help_text="crashes.InFlightBatch of each batch that it left when it ended by itself."
    )
    dumps = models.JSONField(default=list, help_text="protocol.Dump of each dump of its stacks that was recorded.")
    dumped_at = models.FloatField(default=0.0, help_text="Wall seconds of the last of them.")
    journal_seq = models.PositiveBigIntegerField(default=0)
    journal_offset = models.PositiveBigIntegerField(default=0)
    journal_whole = models.BooleanField(default=False, help_text="It has ended, and all of its journal was taken in.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline_name", "number"], name="run_numbers_are_unique"),
            models.UniqueConstraint(
                fields=["pipeline", "role"],
                condition=~Q(state=RunState.ENDED) & Q(discarded_at=None),
                name="one_live_run_per_pipeline_and_role",
            ),
            models.UniqueConstraint(fields=["pipeline_name", "epoch"], name="epochs_are_unique"),
            models.CheckConstraint(
                condition=Q(role=RunRole.ACTIVE, epoch__isnull=False) | Q(role=RunRole.STANDBY, epoch__isnull=True),
                name="only_active_runs_have_an_epoch",
            ),
        ]
        indexes = [models.Index(fields=["pipeline", "-number"])]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.pipeline_name}/{self.number}"


class RunNumber(models.Model):
    """The last run number of a name whose pipelines were purged, so that a new one never meets their directories."""

    pipeline_name = models.CharField(max_length=63, primary_key=True)
    last = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.pipeline_name}/{self.last}"
