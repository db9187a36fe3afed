import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q, Sum

COUNTERS = (
    "read",
    "added",
    "delivered",
    "routed_elsewhere",
    "filtered",
    "unrouted",
    "dead_lettered",
    "dropped_optional",
    "duplicates_max",
    "gaps",
    "overlaps",
)


def add_up(apps, schema_editor):
    """Totals continue from what the ledger has; of durations it kept none."""
    batches = apps.get_model("pipelines", "LedgerBatch").objects.filter(state__in=["done", "abandoned"])
    sums = {f"sum_{name}": Sum(name) for name in COUNTERS}
    number = Sum(F("last_batch") - F("first_batch") + 1, filter=Q(state="done"), default=0)
    rows = batches.order_by().values("pipeline_id", "source", "channel").annotate(batches=number, **sums)
    totals = apps.get_model("pipelines", "ChannelTotals").objects
    totals.bulk_create(
        [
            totals.model(
                pipeline_id=row["pipeline_id"],
                source=row["source"],
                channel=row["channel"],
                batches=row["batches"],
                **{name: row[f"sum_{name}"] for name in COUNTERS},
            )
            for row in rows
        ],
        batch_size=500,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0025_glossary"),
    ]

    operations = [
        migrations.AddField(
            model_name="pipeline",
            name="restarts",
            field=models.PositiveBigIntegerField(default=0, help_text="Every restart after a failure; it only grows."),
        ),
        migrations.CreateModel(
            name="ChannelTotals",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.CharField(max_length=63)),
                ("channel", models.CharField(max_length=63)),
                ("read", models.PositiveBigIntegerField(default=0)),
                ("added", models.PositiveBigIntegerField(default=0)),
                ("delivered", models.PositiveBigIntegerField(default=0)),
                ("routed_elsewhere", models.PositiveBigIntegerField(default=0)),
                ("filtered", models.PositiveBigIntegerField(default=0)),
                ("unrouted", models.PositiveBigIntegerField(default=0)),
                ("dead_lettered", models.PositiveBigIntegerField(default=0)),
                ("dropped_optional", models.PositiveBigIntegerField(default=0)),
                ("duplicates_max", models.PositiveBigIntegerField(default=0)),
                ("gaps", models.PositiveBigIntegerField(default=0)),
                ("overlaps", models.PositiveBigIntegerField(default=0)),
                ("batches", models.PositiveBigIntegerField(default=0)),
                ("milliseconds", models.PositiveBigIntegerField(default=0)),
                ("within_100ms", models.PositiveBigIntegerField(default=0)),
                ("within_250ms", models.PositiveBigIntegerField(default=0)),
                ("within_500ms", models.PositiveBigIntegerField(default=0)),
                ("within_1s", models.PositiveBigIntegerField(default=0)),
                ("within_2500ms", models.PositiveBigIntegerField(default=0)),
                ("within_5s", models.PositiveBigIntegerField(default=0)),
                ("within_10s", models.PositiveBigIntegerField(default=0)),
                ("within_30s", models.PositiveBigIntegerField(default=0)),
                ("within_60s", models.PositiveBigIntegerField(default=0)),
                ("within_300s", models.PositiveBigIntegerField(default=0)),
                ("longer", models.PositiveBigIntegerField(default=0)),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channel_totals",
                        to="pipelines.pipeline",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("pipeline", "source", "channel"), name="one_total_per_channel")
                ],
            },
        ),
        migrations.RunPython(add_up, migrations.RunPython.noop),
    ]
