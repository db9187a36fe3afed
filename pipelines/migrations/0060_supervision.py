import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0059_demo_faults"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="supervised_since",
            field=models.DateTimeField(blank=True, help_text="Since when it has been seen without a gap.", null=True),
        ),
        migrations.CreateModel(
            name="Supervision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="supervisions",
                        to="pipelines.host",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["until"], name="supervisions_by_end")],
            },
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["kind", "-at"], name="events_by_kind_and_time"),
        ),
    ]
