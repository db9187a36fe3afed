from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0021_removed_hosts"),
    ]

    operations = [
        migrations.AddField(
            model_name="evacuation",
            name="rules",
            field=models.JSONField(default=dict),
        ),
    ]
