"""Dumps of a run's stacks, and stops by force."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0008_quarantine")]

    operations = [
        migrations.AddField(
            model_name="pipeline",
            name="force_stop",
            field=models.BooleanField(default=False, help_text="The present run is to be killed at once."),
        ),
        migrations.AddField(
            model_name="run",
            name="dumps",
            field=models.JSONField(
                default=list, help_text="protocol.Dump of each dump of its stacks that was recorded."
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="dumped_at",
            field=models.FloatField(default=0.0, help_text="Wall seconds of the last of them."),
        ),
        migrations.AlterField(
            model_name="operation",
            name="kind",
            field=models.CharField(
                choices=[
                    ("start", "start"),
                    ("pause", "pause"),
                    ("resume", "resume"),
                    ("stop", "stop"),
                    ("force-stop", "force-stop"),
                    ("restart", "restart"),
                    ("replay", "replay"),
                ],
                max_length=16,
            ),
        ),
    ]
