import uuid

import django.db.models.deletion
from django.db import migrations, models

OPEN = [
    "APPLYING",
    "APPROVED",
    "DRAFT",
    "NEEDS_ATTENTION",
    "PAUSE_PROVEN",
    "PAUSING",
    "PLANNED",
    "PREFLIGHT",
    "READY_TO_CUT_OVER",
    "RESUMING",
    "ROLLING_BACK",
    "SNAPSHOT",
    "VERIFYING",
]


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0017_standby"),
    ]

    operations = [
        migrations.CreateModel(
            name="ApprovalPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(blank=True, default="", max_length=200)),
                ("pipeline_name", models.CharField(blank=True, default="", max_length=63)),
                ("approvers", models.PositiveSmallIntegerField(default=1)),
                (
                    "expiry_seconds",
                    models.PositiveIntegerField(default=86400, help_text="How long an approval counts."),
                ),
                ("updated_by", models.CharField(max_length=150)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("label", "pipeline_name"), name="one_approval_policy_of_a_scope"),
                    models.CheckConstraint(
                        condition=models.Q(("label", ""), ("pipeline_name", ""), _connector="OR"),
                        name="an_approval_policy_has_one_scope",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FreezeWindow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(blank=True, default="", max_length=200)),
                ("pipeline_name", models.CharField(blank=True, default="", max_length=63)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.TextField()),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="a_freeze_is_not_empty"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("label", ""), ("pipeline_name", ""), _connector="OR"),
                        name="a_freeze_has_one_scope",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Evacuation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("at_once", models.PositiveIntegerField(default=1)),
                ("go_on", models.BooleanField(default=False, help_text="Do not stop at the first failure.")),
                ("names", models.JSONField(default=list)),
                ("left", models.JSONField(default=dict)),
                ("reason", models.TextField()),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "outcome",
                    models.CharField(blank=True, default="", help_text="done, stopped or cancelled.", max_length=16),
                ),
                ("version", models.PositiveBigIntegerField(default=0)),
                (
                    "host",
                    models.ForeignKey(
                        related_name="evacuations", on_delete=django.db.models.deletion.PROTECT, to="pipelines.host"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("host",),
                        name="one_open_evacuation_of_a_host",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Migration",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("revision", "revision"),
                            ("host", "host"),
                            ("cluster", "cluster"),
                            ("position", "position"),
                            ("software", "software"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("DRAFT", "DRAFT"),
                            ("PLANNED", "PLANNED"),
                            ("APPROVED", "APPROVED"),
                            ("PREFLIGHT", "PREFLIGHT"),
                            ("PAUSING", "PAUSING"),
                            ("PAUSE_PROVEN", "PAUSE_PROVEN"),
                            ("SNAPSHOT", "SNAPSHOT"),
                            ("APPLYING", "APPLYING"),
                            ("READY_TO_CUT_OVER", "READY_TO_CUT_OVER"),
                            ("RESUMING", "RESUMING"),
                            ("VERIFYING", "VERIFYING"),
                            ("COMMITTED", "COMMITTED"),
                            ("ROLLING_BACK", "ROLLING_BACK"),
                            ("ROLLED_BACK", "ROLLED_BACK"),
                            ("NEEDS_ATTENTION", "NEEDS_ATTENTION"),
                            ("ABORTED", "ABORTED"),
                        ],
                        default="DRAFT",
                        max_length=20,
                    ),
                ),
                ("stage_since", models.DateTimeField()),
                (
                    "version",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Grows with every write; for compare-and-swap."
                    ),
                ),
                ("spec", models.JSONField(default=dict)),
                ("plan", models.JSONField(default=dict)),
                ("plan_hash", models.CharField(blank=True, default="", max_length=64)),
                ("planned_at", models.DateTimeField(blank=True, null=True)),
                ("steps", models.JSONField(default=list)),
                (
                    "passed",
                    models.JSONField(default=list, help_text="Gates that a person has passed: [{stage, by, at}]."),
                ),
                ("snapshot", models.JSONField(blank=True, null=True)),
                ("observed", models.JSONField(blank=True, help_text="The last look of the observation.", null=True)),
                ("message", models.TextField(blank=True, default="")),
                ("findings", models.JSONField(default=list, help_text="Why it failed, or what it needs a person for.")),
                ("old_desired", models.CharField(blank=True, default="", max_length=16)),
                ("runner_host", models.CharField(blank=True, default="", max_length=63)),
                ("runner_epoch", models.PositiveBigIntegerField(default=0)),
                ("reason", models.TextField()),
                ("created_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField()),
                ("begun_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "pipeline",
                    models.ForeignKey(
                        related_name="migrations", on_delete=django.db.models.deletion.CASCADE, to="pipelines.pipeline"
                    ),
                ),
                (
                    "old_revision",
                    models.ForeignKey(
                        null=True,
                        related_name="+",
                        on_delete=django.db.models.deletion.PROTECT,
                        to="pipelines.revision",
                    ),
                ),
                (
                    "new_revision",
                    models.ForeignKey(
                        null=True,
                        related_name="+",
                        on_delete=django.db.models.deletion.PROTECT,
                        to="pipelines.revision",
                    ),
                ),
                (
                    "old_host",
                    models.ForeignKey(
                        null=True, related_name="+", on_delete=django.db.models.deletion.PROTECT, to="pipelines.host"
                    ),
                ),
                (
                    "new_host",
                    models.ForeignKey(
                        null=True, related_name="+", on_delete=django.db.models.deletion.PROTECT, to="pipelines.host"
                    ),
                ),
                (
                    "old_run",
                    models.ForeignKey(
                        null=True, related_name="+", on_delete=django.db.models.deletion.SET_NULL, to="pipelines.run"
                    ),
                ),
                (
                    "new_run",
                    models.ForeignKey(
                        null=True, related_name="+", on_delete=django.db.models.deletion.SET_NULL, to="pipelines.run"
                    ),
                ),
                (
                    "reverts",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        related_name="reverted_by",
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="pipelines.migration",
                    ),
                ),
                (
                    "evacuation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        related_name="migrations",
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="pipelines.evacuation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["pipeline", "-created_at"], name="pipelines_migration_of"),
                    models.Index(condition=models.Q(("stage__in", OPEN)), fields=["stage"], name="open_migrations"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("stage__in", OPEN)),
                        fields=("pipeline",),
                        name="one_open_migration_per_pipeline",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MigrationApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by", models.CharField(max_length=150)),
                ("hash", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                (
                    "migration",
                    models.ForeignKey(
                        related_name="approvals", on_delete=django.db.models.deletion.CASCADE, to="pipelines.migration"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("migration", "by", "hash"), name="one_approval_of_a_person_and_plan"
                    )
                ],
            },
        ),
    ]
