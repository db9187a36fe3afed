import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0007_host_lease_epoch"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="in_hand",
            field=models.JSONField(
                default=list, help_text="crashes.InHand of each batch that it left when it ended by itself."
            ),
        ),
        migrations.CreateModel(
            name="Quarantine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.CharField(max_length=63)),
                ("channel", models.CharField(max_length=63)),
                ("topic", models.CharField(max_length=249)),
                ("partition", models.PositiveBigIntegerField()),
                ("start", models.PositiveBigIntegerField()),
                ("end", models.PositiveBigIntegerField()),
                ("cause", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="quarantines",
                        to="pipelines.pipeline",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="quarantine",
            constraint=models.UniqueConstraint(
                fields=("pipeline", "source", "channel", "topic", "partition", "start", "end"),
                name="a_range_is_in_quarantine_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="quarantine",
            constraint=models.CheckConstraint(
                condition=models.Q(("end__gt", models.F("start"))), name="a_quarantine_is_not_empty"
            ),
        ),
    ]
