from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0057_shadows"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledgerbatch",
            name="spent",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
