from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0019_webhooks"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="drain_on_timeout",
            field=models.CharField(
                choices=[("abort", "abort"), ("stop", "stop")],
                default="abort",
                help_text="What becomes of an agent that is to leave and does not end its batch in hand in time.",
                max_length=8,
            ),
        ),
    ]
