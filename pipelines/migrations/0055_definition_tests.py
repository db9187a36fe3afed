import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0054_output_verdicts"),
    ]

    operations = [
        migrations.CreateModel(
            name="CaseRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("candidate", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("PENDING", "PENDING"),
                            ("RUNNING", "RUNNING"),
                            ("DONE", "DONE"),
                            ("FAILED", "FAILED"),
                        ],
                        default="PENDING",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("requested_by", models.CharField(max_length=150)),
                ("requested_at", models.DateTimeField()),
                ("deadline", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField()),
                ("result", models.JSONField(blank=True, null=True)),
                ("error", models.JSONField(blank=True, null=True)),
                ("passed", models.BooleanField(default=False)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.host"
                    ),
                ),
                (
                    "pipeline",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="pipelines.pipeline",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.team"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "digest", "-requested_at"], name="case_runs_by_digest"),
                    models.Index(fields=["expires_at"], name="case_runs_by_expiry"),
                    models.Index(
                        condition=models.Q(("state__in", ["PENDING", "RUNNING"])),
                        fields=["host"],
                        name="open_case_runs",
                    ),
                ],
            },
        ),
    ]
