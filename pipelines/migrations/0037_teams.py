"""Teams: every pipeline gets one, and roles that groups of users stood for become bindings in all teams."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.utils import timezone

ROLES = {"viewer": 1, "operator": 2, "admin": 4}
OLD_ADMIN, ADMIN = 3, 4


def fill(apps: Any, _: Any) -> None:
    """Make the default team, give it every pipeline, and carry the roles over."""
    team = apps.get_model("pipelines", "Team").objects.create(
        name="default",
        description="Pipelines that were not given to another team.",
        created_at=timezone.now(),
        created_by="system",
    )
    apps.get_model("pipelines", "Pipeline").objects.update(team=team)
    apps.get_model("pipelines", "Revision").objects.filter(required_role=OLD_ADMIN).update(required_role=ADMIN)
    bindings: dict[int, int] = {}
    groups = apps.get_model("auth", "Group").objects.filter(name__in=ROLES)
    for group in groups:
        for user in group.user_set.values_list("pk", flat=True):
            bindings[user] = max(bindings.get(user, 0), ROLES[group.name])
    binding = apps.get_model("pipelines", "RoleBinding")
    binding.objects.bulk_create(
        [
            binding(user_id=user, role=role, created_at=timezone.now(), created_by="system")
            for user, role in bindings.items()
        ],
        batch_size=200,
    )
    groups.delete()


def owner(name: str, *, null: bool) -> Any:
    """A reference to the team that owns a row."""
    return models.ForeignKey(
        blank=null, null=null, on_delete=django.db.models.deletion.PROTECT, related_name=name, to="pipelines.team"
    )


class Migration(migrations.Migration):
    """See the module."""

    dependencies = [
        ("pipelines", "0036_audit_chain"),
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
        migrations.AddField("pipeline", "team", owner("pipelines", null=True)),
        migrations.AddField("receiver", "team", owner("receivers", null=True)),
        migrations.AddField("silence", "team", owner("silences", null=True)),
        migrations.AddField("externalgroup", "team", owner("external_groups", null=True)),
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
