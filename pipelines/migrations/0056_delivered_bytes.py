from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0055_definition_tests"),
    ]

    operations = [
        migrations.AddField(
            model_name="channeltotals",
            name="delivered_bytes",
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="channeltotals",
            name="sized",
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="ledgerbatch",
            name="delivered_bytes",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
