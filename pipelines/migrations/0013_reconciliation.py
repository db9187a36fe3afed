import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0012_positions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Reconciliation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("believe", models.CharField(choices=[("host", "host"), ("database", "database")], max_length=16)),
                ("asked_by", models.CharField(max_length=150)),
                ("at", models.DateTimeField()),
                (
                    "pipeline",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reconciliation",
                        to="pipelines.pipeline",
                    ),
                ),
            ],
        ),
    ]
