"""Teams: every pipeline gets one, and roles that groups of users stood for become bindings in all teams."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.utils import timezone

from pipelines.migrations._roles_of_groups import DEFAULT_TEAM, bind


def fill(apps: Any, _: Any) -> None:
    """Make the default team, give it every pipeline, and carry the roles over."""
    team = apps.get_model("pipelines", "Team").objects.create(created_at=timezone.now(), **DEFAULT_TEAM)
    apps.get_model("pipelines", "Pipeline").objects.update(team=team)
    bind(
        group=apps.get_model("auth", "Group"),
        binding=apps.get_model("pipelines", "RoleBinding"),
        revision=apps.get_model("pipelines", "Revision"),
    )


def owner(name: str, on_delete: Any = django.db.models.deletion.PROTECT) -> Any:
    """A reference to the team that owns a row."""
    return models.ForeignKey(blank=True, null=True, on_delete=on_delete, related_name=name, to="pipelines.team")


class Migration(migrations.Migration):
    """See the module."""

    dependencies = [
        ("pipelines", "0044_audit_forwarding"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Team",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("description", models.CharField(blank=True, default="", max_length=1000)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
            ],
        ),
        migrations.CreateModel(
            name="RoleBinding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "viewer"), (2, "operator"), (3, "approver"), (4, "admin")]
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
                (
                    "team",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bindings",
                        to="pipelines.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="role_bindings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="role_bindings",
                        to="auth.group",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(user=None, group__isnull=False) | Q(user__isnull=False, group=None),
                        name="a_role_is_bound_to_a_user_or_a_group",
                    ),
                    models.UniqueConstraint(
                        fields=["team", "user"], condition=Q(user__isnull=False), name="one_role_of_a_user_in_a_team"
                    ),
                    models.UniqueConstraint(
                        fields=["user"],
                        condition=Q(team=None, user__isnull=False),
                        name="one_role_of_a_user_in_all_teams",
                    ),
                    models.UniqueConstraint(
                        fields=["team", "group"], condition=Q(group__isnull=False), name="one_role_of_a_group_in_a_team"
                    ),
                    models.UniqueConstraint(
                        fields=["group"],
                        condition=Q(team=None, group__isnull=False),
                        name="one_role_of_a_group_in_all_teams",
                    ),
                ],
            },
        ),
        migrations.AddField("pipeline", "team", owner("pipelines")),
        migrations.AddField("receiver", "team", owner("receivers")),
        migrations.AddField("silence", "team", owner("silences", django.db.models.deletion.CASCADE)),
        migrations.AddField("externalgroup", "team", owner("external_groups")),
        migrations.AddField(
            "auditrow",
            "team",
            models.CharField(blank=True, default="", help_text="The team whose pipeline it is about.", max_length=63),
        ),
        migrations.AddField(
            "auditrow",
            "token",
            models.CharField(blank=True, default="", help_text="Prefix and name of the token used.", max_length=120),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
