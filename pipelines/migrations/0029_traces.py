"""The trace of an operation and of a migration, and what is still to be exported of it."""

from django.db import migrations, models


def _trace(model: str) -> list[migrations.AddField]:
    traceparent = models.CharField(
        blank=True, default="", help_text="The trace that the request has named.", max_length=55
    )
    request = models.JSONField(blank=True, default=dict, help_text="The request that made it: audit.Actor.request.")
    return [
        migrations.AddField(model_name=model, name="traceparent", field=traceparent),
        migrations.AddField(model_name=model, name="request", field=request),
    ]


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0028_receivers")]

    operations = [
        *_trace("operation"),
        *_trace("migration"),
        migrations.AddField(
            model_name="host",
            name="spans_exported",
            field=models.PositiveBigIntegerField(default=0, help_text="Spans that its worker has exported."),
        ),
        migrations.AddField(
            model_name="host",
            name="spans_dropped",
            field=models.PositiveBigIntegerField(default=0, help_text="Spans that it could not export in time."),
        ),
        migrations.CreateModel(
            name="PendingTrace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.UUIDField(help_text="The id of the operation or migration.")),
                ("host", models.CharField(blank=True, default="", max_length=63)),
                ("whole", models.BooleanField(default=False)),
                ("since", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["host", "since"], name="pending_traces_of_a_host")],
                "constraints": [models.UniqueConstraint(fields=("subject", "host"), name="one_pending_trace_per_host")],
            },
        ),
    ]
