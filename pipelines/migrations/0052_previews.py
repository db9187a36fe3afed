import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0051_totals_by_component")]

    operations = [
        migrations.AddField(model_name="accesstoken", name="sees_records", field=models.BooleanField(default=True)),
        migrations.AddField(model_name="rolebinding", name="sees_records", field=models.BooleanField(default=True)),
        migrations.CreateModel(
            name="Preview",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("candidate", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("source", models.CharField(blank=True, default="", max_length=63)),
                ("selection", models.JSONField()),
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
                (
                    "base",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="pipelines.revision"
                    ),
                ),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="previews", to="pipelines.pipeline"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PreviewDifference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("kinds", models.TextField()),
                ("components", models.TextField()),
                ("shown", models.JSONField()),
                (
                    "preview",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="differences", to="pipelines.preview"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="preview",
            index=models.Index(fields=["pipeline", "-requested_at"], name="previews_by_time"),
        ),
        migrations.AddIndex(
            model_name="preview",
            index=models.Index(fields=["expires_at"], name="previews_by_expiry"),
        ),
        migrations.AddIndex(
            model_name="preview",
            index=models.Index(
                condition=models.Q(("state__in", ["PENDING", "RUNNING"])), fields=["pipeline"], name="open_previews"
            ),
        ),
        migrations.AddConstraint(
            model_name="previewdifference",
            constraint=models.UniqueConstraint(
                fields=("preview", "number"), name="differences_of_a_preview_are_numbered"
            ),
        ),
    ]
