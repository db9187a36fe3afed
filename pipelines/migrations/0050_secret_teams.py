from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0049_counts_by_component"),
    ]

    operations = [
        migrations.AddField(
            model_name="secret",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="secrets",
                to="pipelines.team",
            ),
        ),
    ]
