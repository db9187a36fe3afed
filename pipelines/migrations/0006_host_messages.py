from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0006_watching"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="messages",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="Whether messages reach the worker: state, detail, since, at, round_trip_ms.",
            ),
        ),
    ]
