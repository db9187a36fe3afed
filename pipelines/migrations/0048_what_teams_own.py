from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0047_owners"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="allowednetwork",
            name="one_allowed_network",
        ),
        migrations.RemoveConstraint(
            model_name="allowedroot",
            name="one_allowed_root",
        ),
        migrations.AddField(
            model_name="accesstoken",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="pipelines.team",
            ),
        ),
        migrations.AddField(
            model_name="allowednetwork",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="allowed_networks",
                to="pipelines.team",
            ),
        ),
        migrations.AddField(
            model_name="allowedroot",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="allowed_roots",
                to="pipelines.team",
            ),
        ),
        migrations.AddField(
            model_name="cluster",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="clusters",
                to="pipelines.team",
            ),
        ),
        migrations.AddConstraint(
            model_name="allowednetwork",
            constraint=models.UniqueConstraint(
                fields=("team", "target", "ports"), name="one_allowed_network_of_a_team"
            ),
        ),
        migrations.AddConstraint(
            model_name="allowednetwork",
            constraint=models.UniqueConstraint(
                condition=models.Q(("team", None)), fields=("target", "ports"), name="one_allowed_network"
            ),
        ),
        migrations.AddConstraint(
            model_name="allowedroot",
            constraint=models.UniqueConstraint(fields=("team", "path", "mode"), name="one_allowed_root_of_a_team"),
        ),
        migrations.AddConstraint(
            model_name="allowedroot",
            constraint=models.UniqueConstraint(
                condition=models.Q(("team", None)), fields=("path", "mode"), name="one_allowed_root"
            ),
        ),
    ]
