from django.db import migrations, models
from django.db.models import Case, F, Q, When


def epochs_are_numbers(apps, schema_editor):
    """Until now every run was ACTIVE from its beginning, and its number was its epoch.

    In one statement: PostgreSQL checks the references of a row again at the end of a transaction that has changed it
    twice, and allows no constraint to be added before that.
    """
    whole = Case(When(Q(state="ENDED") & ~Q(outcome="LOST"), then=True), default=False)
    apps.get_model("pipelines", "Run").objects.update(epoch=F("number"), journal_whole=whole)


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0016_told_at_decision"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="epoch",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="promoted_at",
            field=models.DateTimeField(blank=True, help_text="When a standby became the ACTIVE run.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="discarded_at",
            field=models.DateTimeField(blank=True, help_text="Since when a standby is not wanted any more.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="journal_whole",
            field=models.BooleanField(default=False, help_text="It has ended, and all of its journal was taken in."),
        ),
        migrations.RunPython(epochs_are_numbers, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(fields=("pipeline_name", "epoch"), name="epochs_are_unique"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=Q(("epoch__isnull", False), ("role", "ACTIVE"))
                | Q(("epoch__isnull", True), ("role", "STANDBY")),
                name="only_active_runs_have_an_epoch",
            ),
        ),
    ]
