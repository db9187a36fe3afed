"""Roles that groups of users stood for, before there were teams, as bindings in all teams."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

ROLES = {"viewer": 1, "operator": 2, "admin": 4}
OLD_ADMIN, ADMIN = 3, 4
DEFAULT_TEAM = {
    "name": "default",
    "description": "Pipelines that were not given to another team.",
    "created_by": "system",
}


def bind(*, group: Any, binding: Any, revision: Any) -> None:
    """Bind what the groups stood for, take the groups away, and give revisions the present value of the role."""
    revision.objects.filter(required_role=OLD_ADMIN).update(required_role=ADMIN)
    found: dict[int, int] = {}
    groups = group.objects.filter(name__in=ROLES)
    for name, user in groups.filter(user__isnull=False).values_list("name", "user"):
        found[user] = max(found.get(user, 0), ROLES[name])
    made = {"created_at": timezone.now(), "created_by": "system"}
    binding.objects.bulk_create(
        [binding(user_id=user, role=role, **made) for user, role in found.items()], batch_size=200
    )
    groups.delete()
