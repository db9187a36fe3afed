from django.db import migrations, models
from django.db.models import Case, F, Value, When


def split(apps, schema_editor):
    """What was wanted afterwards held both: nothing for a drain that climbs, the same state for a pause that stays."""
    pipelines = apps.get_model("pipelines", "Pipeline").objects
    follows = Case(
        When(desired_before="", then=Value("stop")),
        When(desired_before="PAUSED", desired_state="PAUSED", then=Value("stay")),
        default=Value("abort"),
    )
    before = Case(When(desired_before="", then=Value("RUNNING")), default=F("desired_before"))
    pipelines.update(on_timeout=follows, desired_before=before)


def join(apps, schema_editor):
    afterwards = Case(
        When(on_timeout="stop", then=Value("")),
        When(on_timeout="stay", then=Value("PAUSED")),
        default=F("desired_before"),
    )
    apps.get_model("pipelines", "Pipeline").objects.update(desired_before=afterwards)


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0022_evacuation_rules"),
    ]

    operations = [
        migrations.RenameField(model_name="host", old_name="drain_on_timeout", new_name="on_timeout"),
        migrations.RenameField(model_name="pipeline", old_name="after_timeout", new_name="desired_before"),
        migrations.AddField(
            model_name="pipeline",
            name="on_timeout",
            field=models.CharField(
                choices=[("abort", "abort"), ("stay", "stay"), ("stop", "stop")],
                default="stop",
                help_text="What follows where a pause or a drain takes longer than drain_timeout.",
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="pipeline",
            name="desired_before",
            field=models.CharField(
                choices=[("RUNNING", "RUNNING"), ("PAUSED", "PAUSED"), ("STOPPED", "STOPPED")],
                default="RUNNING",
                help_text="What was wanted before the pause or the drain; wanted again where that is aborted.",
                max_length=16,
            ),
        ),
        migrations.RunPython(split, join),
    ]
