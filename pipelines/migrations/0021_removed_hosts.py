from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0020_drain_on_timeout"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="removed_at",
            field=models.DateTimeField(
                blank=True, help_text="Since when nobody expects it back; its next beat ends that.", null=True
            ),
        ),
    ]
