"""Webhooks become one kind of receivers; silences; notes of acknowledgements."""

import django.db.models.deletion
from django.db import migrations, models

from pipelines.domain.monitoring.receivers import ReceiverKind
from pipelines.domain.monitoring.webhooks import DeliveryState


def rename_alert(apps, schema_editor):
    _rename(apps, "webhook", "receiver")


def rename_alert_back(apps, schema_editor):
    _rename(apps, "receiver", "webhook")


def _rename(apps, old, new):
    """The alerts that `enable` resolves are found by these names."""
    for alert in apps.get_model("pipelines", "Alert").objects.filter(rule=f"{old}_disabled"):
        alert.rule, alert.key = f"{new}_disabled", alert.key.replace(old, new)
        if old in alert.data:
            alert.data[new] = alert.data.pop(old)
        alert.save(update_fields=["rule", "key", "data"])


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0027_disk_space"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="delivery", name="an_event_goes_to_an_endpoint_once"),
        migrations.RemoveIndex(model_name="delivery", name="deliveries_of_a_webhook"),
        migrations.RenameModel(old_name="Webhook", new_name="Receiver"),
        migrations.RenameField(model_name="delivery", old_name="webhook", new_name="receiver"),
        migrations.AddField(
            model_name="receiver",
            name="kind",
            field=models.CharField(
                choices=[
                    ("webhook", "webhook"),
                    ("slack", "slack"),
                    ("pagerduty", "pagerduty"),
                    ("email", "email"),
                ],
                default=ReceiverKind["WEBHOOK"],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="receiver", name="url", field=models.CharField(blank=True, default="", max_length=2000)
        ),
        migrations.AddField(model_name="receiver", name="matchers", field=models.JSONField(default=dict)),
        migrations.AddField(model_name="receiver", name="email", field=models.JSONField(default=dict)),
        migrations.AddField(
            model_name="alert",
            name="acknowledged_note",
            field=models.CharField(blank=True, default="", max_length=1000),
        ),
        migrations.CreateModel(
            name="Silence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("matchers", models.JSONField(default=dict)),
                ("comment", models.CharField(max_length=1000)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
                ("ends_at", models.DateTimeField(db_index=True)),
                (
                    "ended_by",
                    models.CharField(blank=True, default="", help_text="Who ended it early.", max_length=150),
                ),
            ],
        ),
        migrations.AddField(
            model_name="delivery",
            name="alert",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="deliveries",
                to="pipelines.alert",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="silence",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="deliveries",
                to="pipelines.silence",
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("WAITING", "WAITING"),
                    ("SENDING", "SENDING"),
                    ("DELIVERED", "DELIVERED"),
                    ("FAILED", "FAILED"),
                    ("SUPPRESSED", "SUPPRESSED"),
                ],
                default=DeliveryState["WAITING"],
                max_length=16,
            ),
        ),
        migrations.AddIndex(
            model_name="delivery", index=models.Index(fields=["receiver", "-id"], name="deliveries_of_a_receiver")
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("ended_at", None), ("state", "SUPPRESSED")),
                fields=["silence"],
                name="deliveries_held_back",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("receiver", "event"), name="an_event_goes_to_a_receiver_once"),
        ),
        migrations.RunPython(rename_alert, rename_alert_back),
    ]
