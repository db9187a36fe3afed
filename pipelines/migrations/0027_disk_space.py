from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0026_channel_totals"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="disk",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="The disk of its runs and checkpoints: state, path, free, total and margin in bytes, at.",
            ),
        ),
        migrations.AddField(
            model_name="pipeline",
            name="restart_cause",
            field=models.TextField(
                blank=True, default="", help_text="How the last run ended that Headgate restarts or restarted."
            ),
        ),
    ]
