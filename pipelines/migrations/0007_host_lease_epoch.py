"""Leases of hosts that fence, and how much may run on a host."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0006_host_messages")]

    operations = [
        migrations.AddField("host", "lease_epoch", models.PositiveBigIntegerField(default=0)),
        migrations.AddField(
            "host",
            "slots",
            models.PositiveIntegerField(blank=True, help_text="The most agents; empty: no limit.", null=True),
        ),
        migrations.AddField(
            "host",
            "memory_limit",
            models.PositiveBigIntegerField(
                blank=True, help_text="Bytes that its agents may take together; empty: no limit.", null=True
            ),
        ),
        migrations.AddField(
            "host",
            "drained_at",
            models.DateTimeField(blank=True, help_text="Since when it takes no new agents.", null=True),
        ),
        migrations.AddField("host", "drained_by", models.CharField(blank=True, default="", max_length=150)),
    ]
