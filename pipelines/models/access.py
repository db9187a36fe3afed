"""Teams and the roles in them, and tokens of the REST API and the command line."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Q
from knox.models import AbstractAuthToken

from pipelines.domain.base.roles import Role

DEFAULT_TEAM = "default"


class Team(models.Model):
    """Owns pipelines, and what they use. `DEFAULT_TEAM` always exists."""

    name = models.CharField(max_length=63, unique=True)
    description = models.CharField(max_length=1000, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name


class RoleBinding(models.Model):
    """Grants a role to one user or to the members of one group; without a team, in every team. `sees_records`: an
    operator, or who has a higher role, by it sees what events hold."""

    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="bindings")
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="role_bindings")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="role_bindings")
    role = models.PositiveSmallIntegerField(choices=[(role.value, role.word) for role in Role])
    sees_records = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user=None, group__isnull=False) | Q(user__isnull=False, group=None),
                name="a_role_is_bound_to_a_user_or_a_group",
            ),
            models.UniqueConstraint(
                fields=["team", "user"], condition=Q(user__isnull=False), name="one_role_of_a_user_in_a_team"
            ),
            models.UniqueConstraint(
                fields=["user"], condition=Q(team=None, user__isnull=False), name="one_role_of_a_user_in_all_teams"
            ),
            models.UniqueConstraint(
                fields=["team", "group"], condition=Q(group__isnull=False), name="one_role_of_a_group_in_a_team"
            ),
            models.UniqueConstraint(
                fields=["group"], condition=Q(team=None, group__isnull=False), name="one_role_of_a_group_in_all_teams"
            ),
        ]

    def __str__(self) -> str:
        return f"{Role(self.role).word} of {self.user_id or self.group_id} in {self.team_id or 'all teams'}"


class AccessToken(AbstractAuthToken):  # type: ignore[misc]
    """A token, stored as a hash. `name` says in lists what it is for; without an expiry it holds until revoked.
    `token_key`, the beginning of its text, is what people know it by. `role_cap`, `read_only`, `team` and
    `sees_records` are its scope."""

    name = models.CharField(max_length=100, blank=True, default="")
    created_by = models.CharField(max_length=150, blank=True, default="")
    role_cap = models.CharField(max_length=16, blank=True, default="")
    read_only = models.BooleanField(default=False)
    sees_records = models.BooleanField(default=True)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    last_used_at = models.DateTimeField(null=True)
    last_used_address = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["user", "created"])]


class LoginCount(models.Model):
    """Attempts to log in since the start of a window, of one user and network. `key` is a hash of whom it counts."""

    key = models.CharField(max_length=64, primary_key=True)
    since = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["since"])]

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since}"
