"""What pipelines may reach. What the published definitions use stays allowed, so that nothing that runs is stopped."""

from __future__ import annotations

import logging
from typing import Any

from django.db import migrations, models
from django.utils import timezone

from pipelines.domain.access.reach_rules import network_problem, root_problem
from pipelines.domain.access.uses import AddressUse, PathUse, uses
from pipelines.domain.definitions.checks.validate import validate_data

BY = "headgate"
NOTE = "In use when rules came to be; remove it where it is not wanted."

log = logging.getLogger(__name__)


def allow_what_is_used(apps: Any, schema_editor: Any) -> None:
    """A rule for each path and address in the definition that a pipeline has now."""
    roots, networks = set(), set()
    for pipeline in apps.get_model("pipelines", "Pipeline").objects.exclude(current_revision=None).iterator():
        definition = validate_data(pipeline.current_revision.definition).definition
        for use in uses(definition) if definition else []:
            path = use.value.rstrip("/") or "/" if isinstance(use, PathUse) else ""
            if isinstance(use, PathUse) and not root_problem(path, use.mode):
                roots.add((path, use.mode))
            elif isinstance(use, AddressUse) and not network_problem(use.host, str(use.port)):
                networks.add((use.host.lower(), str(use.port)))
    for path, mode in sorted(roots):
        _allow(apps, "AllowedRoot", "allowed_root.add", {"path": path, "mode": mode, "note": NOTE})
    for target, ports in sorted(networks):
        _allow(apps, "AllowedNetwork", "allowed_network.add", {"target": target, "ports": ports, "note": NOTE})


def _allow(apps: Any, model: str, action: str, fields: dict[str, str]) -> None:
    now = timezone.now()
    apps.get_model("pipelines", model).objects.create(**fields, created_at=now, created_by=BY)
    apps.get_model("pipelines", "AuditRow").objects.create(at=now, actor=BY, action=action, after=fields)
    log.warning("Pipelines may reach what they use now: %s", fields)


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0036_audit_chain"),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedNetwork",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("target", models.CharField(max_length=253)),
                ("ports", models.CharField(default="*", max_length=400)),
                ("note", models.CharField(blank=True, default="", max_length=1000)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("target", "ports"), name="one_allowed_network")],
            },
        ),
        migrations.CreateModel(
            name="AllowedRoot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=1024)),
                ("mode", models.CharField(max_length=5)),
                ("note", models.CharField(blank=True, default="", max_length=1000)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=150)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("path", "mode"), name="one_allowed_root")],
            },
        ),
        migrations.RunPython(allow_what_is_used, migrations.RunPython.noop),
    ]
