from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0014_range_replays"),
    ]

    operations = [
        migrations.AddField(
            model_name="pipeline",
            name="after_timeout",
            field=models.CharField(
                blank=True,
                choices=[("RUNNING", "RUNNING"), ("PAUSED", "PAUSED"), ("STOPPED", "STOPPED")],
                default="",
                help_text="What is wanted once drain_timeout has passed over a pause or a drain; empty: a drain climbs.",
                max_length=16,
            ),
        ),
    ]
