from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0009_dumps_and_force"),
    ]

    operations = [
        migrations.CreateModel(
            name="Purged",
            fields=[
                ("pipeline_id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=63)),
                ("last_run", models.PositiveBigIntegerField(default=0)),
                ("storages", models.JSONField(default=list)),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
