"""Events and alerts that are about no pipeline get a team, and a consumer group is watched once by each team."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

OWNER = "Whose it is where it is about no pipeline; without both, it is the installation's."


def owner() -> Any:
    """A reference to the team that owns a row."""
    return models.ForeignKey(
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to="pipelines.team",
        help_text=OWNER,
    )


class Migration(migrations.Migration):
    """See the module."""

    dependencies = [("pipelines", "0046_every_pipeline_has_a_team")]

    operations = [
        migrations.AddField("event", "team", owner()),
        migrations.AddField("alert", "team", owner()),
        migrations.RemoveConstraint("externalgroup", "a_group_is_watched_once"),
        migrations.AddConstraint(
            "externalgroup",
            models.UniqueConstraint(
                fields=["team", "name", "bootstrap_servers"], name="a_group_is_watched_once_by_a_team"
            ),
        ),
        migrations.AddConstraint(
            "externalgroup",
            models.UniqueConstraint(
                fields=["name", "bootstrap_servers"], condition=Q(team=None), name="a_group_of_no_team_is_watched_once"
            ),
        ),
    ]
