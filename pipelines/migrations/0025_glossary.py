"""The words of the glossary. Tables keep their names."""

from django.db import migrations, models

from pipelines.domain.base.states import DeadLetterState

STOP_STAGES = {"token": "DRAIN", "sigterm": "INTERRUPT", "sigkill": "KILL"}


def retry(apps, schema_editor):
    runs = apps.get_model("pipelines", "Run").objects
    for old, new in STOP_STAGES.items():
        runs.filter(stop_stage=old).update(stop_stage=new)
    apps.get_model("pipelines", "Operation").objects.filter(kind="replay").update(kind="retry")
    apps.get_model("pipelines", "DeadLetter").objects.filter(state="REPLAYED").update(state="RETRIED")


def replay(apps, schema_editor):
    runs = apps.get_model("pipelines", "Run").objects
    for old, new in STOP_STAGES.items():
        runs.filter(stop_stage=new).update(stop_stage=old)
    apps.get_model("pipelines", "Operation").objects.filter(kind="retry").update(kind="replay")
    apps.get_model("pipelines", "DeadLetter").objects.filter(state="RETRIED").update(state="REPLAYED")


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0024_open_batches"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="deadletter", name="a_dead_letter_is_listed_once"),
        migrations.RemoveConstraint(model_name="operation", name="one_open_operation_per_pipeline"),
        migrations.RemoveConstraint(model_name="operation", name="one_open_side_operation_of_a_kind"),
        migrations.AlterModelTable(name="watchedgroup", table="pipelines_watchedgroup"),
        migrations.RenameModel(old_name="WatchedGroup", new_name="ExternalGroup"),
        migrations.AlterModelTable(name="positionlook", table="pipelines_positionlook"),
        migrations.RenameModel(old_name="PositionLook", new_name="PositionInspection"),
        migrations.RenameField(model_name="externalgroup", old_name="looked_at", new_name="inspected_at"),
        migrations.RenameField(model_name="deadletter", old_name="letter_id", new_name="dead_letter_id"),
        migrations.RenameField(model_name="migration", old_name="begun_at", new_name="started_at"),
        migrations.RenameField(model_name="position", old_name="told_at_decision", new_name="reported_at_decision"),
        migrations.RenameField(model_name="reconciliation", old_name="believe", new_name="source_of_truth"),
        migrations.RenameField(model_name="run", old_name="rung", new_name="stop_stage"),
        migrations.RenameField(model_name="run", old_name="in_hand", new_name="in_flight"),
        migrations.RenameField(model_name="webhook", old_name="cursor", new_name="position"),
        migrations.AlterField(
            model_name="deadletter",
            name="state",
            field=models.CharField(
                choices=[("NEW", "NEW"), ("RETRIED", "RETRIED"), ("DISCARDED", "DISCARDED")],
                default=DeadLetterState.NEW,
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="externalgroup",
            name="host",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.deletion.PROTECT,
                related_name="external_groups",
                to="pipelines.host",
            ),
        ),
        migrations.AlterField(
            model_name="operation",
            name="kind",
            field=models.CharField(
                choices=[
                    ("start", "start"),
                    ("pause", "pause"),
                    ("resume", "resume"),
                    ("stop", "stop"),
                    ("force-stop", "force-stop"),
                    ("restart", "restart"),
                    ("retry", "retry"),
                    ("replay_range", "replay_range"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="in_flight",
            field=models.JSONField(
                default=list, help_text="crashes.InFlightBatch of each batch that it left when it ended by itself."
            ),
        ),
        migrations.RunPython(retry, replay),
        migrations.AddConstraint(
            model_name="deadletter",
            constraint=models.UniqueConstraint(
                fields=("pipeline", "dead_letter_id"), name="a_dead_letter_is_listed_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("state__in", ["PENDING", "RUNNING"]),
                    models.Q(("kind__in", ["replay_range", "retry"]), _negated=True),
                ),
                fields=("pipeline",),
                name="one_open_operation_per_pipeline",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["PENDING", "RUNNING"]), ("kind__in", ["replay_range", "retry"])),
                fields=("pipeline", "kind"),
                name="one_open_side_operation_of_a_kind",
            ),
        ),
    ]
