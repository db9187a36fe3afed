from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0048_what_teams_own"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledgerbatch",
            name="components",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="ledgerbatch",
            name="unattributed",
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
