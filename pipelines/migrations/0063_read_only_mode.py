from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0062_peeks")]

    operations = [
        migrations.CreateModel(
            name="ReadOnlyMode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("on", models.BooleanField(default=False)),
                ("reason", models.CharField(max_length=1000)),
                ("set_by", models.CharField(max_length=150)),
                ("since", models.DateTimeField(help_text="When it was last turned on or off.")),
                (
                    "version",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Grows with every write; for compare-and-swap."
                    ),
                ),
            ],
        ),
    ]
