from django.db import migrations, models


def split(apps, schema_editor):
    """The ranges stood twice in a row; what else was planned gets columns of its own."""
    batches = apps.get_model("pipelines", "LedgerBatch").objects.filter(state="planned", planned__isnull=False)
    for batch in batches.iterator(chunk_size=500):
        batch.sink_ends = batch.planned.get("sink_ends", {})
        batch.open_ended = batch.planned.get("open_ended", False)
        batch.save(update_fields=["sink_ends", "open_ended"])


def join(apps, schema_editor):
    for batch in apps.get_model("pipelines", "LedgerBatch").objects.filter(state="planned").iterator(chunk_size=500):
        names = ("source", "channel", "ranges", "sink_ends", "open_ended")
        batch.planned = {"batch": batch.first_batch} | {name: getattr(batch, name) for name in names}
        batch.save(update_fields=["planned"])


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0023_on_timeout"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledgerbatch",
            name="open_ended",
            field=models.BooleanField(default=False, help_text="Open batch: its ranges end where it will have ended."),
        ),
        migrations.AddField(
            model_name="ledgerbatch",
            name="sink_ends",
            field=models.JSONField(
                blank=True, default=dict, help_text="Open batch: end offsets of its sinks before it."
            ),
        ),
        migrations.RunPython(split, join),
        migrations.RemoveField(model_name="ledgerbatch", name="planned"),
    ]
