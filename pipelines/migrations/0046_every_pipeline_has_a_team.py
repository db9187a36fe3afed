from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """A migration of its own: PostgreSQL changes no table that the same transaction has written to."""

    dependencies = [("pipelines", "0045_teams")]

    operations = [
        migrations.AlterField(
            "pipeline",
            "team",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="pipelines", to="pipelines.team"
            ),
        ),
    ]
