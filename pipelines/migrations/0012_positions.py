"""Which logs positions are offsets of, looks at positions, and lineages that a decision has ended."""

from __future__ import annotations

import uuid

import django.db.models.deletion
from django.db import migrations, models

from pipelines.domain.base.states import InspectionState, LedgerState


def choices(enum):
    return [(member.value, member.value) for member in enum]


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0011_purged")]

    operations = [
        migrations.AddField(
            "pipeline",
            "closed_lineage",
            models.PositiveBigIntegerField(
                default=0,
                help_text="Checkpoints of this lineage and of older ones are not continued: a decision has ended them.",
            ),
        ),
        migrations.AlterField("ledgerbatch", "state", models.CharField(choices=choices(LedgerState), max_length=16)),
        migrations.CreateModel(
            "LogIdentity",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.CharField(max_length=100)),
                ("topic", models.CharField(max_length=249)),
                ("topic_id", models.CharField(max_length=64)),
                ("cluster_id", models.CharField(max_length=64)),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log_identities",
                        to="pipelines.pipeline",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["pipeline", "source", "topic"], name="one_identity_per_topic"),
                ],
            },
        ),
        migrations.CreateModel(
            "PositionLook",
            [
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("target", models.JSONField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(choices=choices(InspectionState), default=InspectionState.PENDING, max_length=16),
                ),
                ("asked_by", models.CharField(max_length=150)),
                ("asked_at", models.DateTimeField()),
                ("deadline", models.DateTimeField()),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                ("survey", models.JSONField(blank=True, null=True)),
                ("moves", models.JSONField(default=list)),
                ("impossible", models.JSONField(default=list)),
                ("findings", models.JSONField(default=list)),
                ("basis", models.JSONField(default=dict)),
                ("hash", models.CharField(blank=True, default="", max_length=64)),
                ("error", models.JSONField(blank=True, null=True)),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="position_looks",
                        to="pipelines.pipeline",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["pipeline", "-asked_at"], name="position_looks_by_time"),
                    models.Index(fields=["pipeline", "hash"], name="position_looks_by_hash"),
                    models.Index(
                        condition=models.Q(("state", InspectionState.PENDING)),
                        fields=["pipeline"],
                        name="pending_position_looks",
                    ),
                ],
            },
        ),
    ]
