"""Shared storage of pipelines, and servers of external consumer groups, are subject to rules. What is used stays
allowed, so that nothing that runs is stopped. Pipelines on clusters had no rules for their other paths either: when
rules came to be, their definitions were in a form that is read no more."""

from __future__ import annotations

import logging
from typing import Any

from django.db import migrations
from django.utils import timezone

from pipelines.domain.access.reach_rules import network_problem, root_problem
from pipelines.domain.access.uses import PathUse, servers, uses
from pipelines.domain.definitions.checks.validate import validate_data

BY = "headgate"
NOTE = "In use when rules came to be; remove it where it is not wanted."

log = logging.getLogger(__name__)


def allow_what_is_used(apps: Any, schema_editor: Any) -> None:
    """A rule for each path of a pipeline on a cluster, and for each server of an external consumer group."""
    roots, networks = set(), set()
    for pipeline in apps.get_model("pipelines", "Pipeline").objects.exclude(current_revision=None).iterator():
        definition = validate_data(pipeline.current_revision.definition).definition
        if definition and definition.placement.launcher.type == "spark":
            paths = [(use.value.rstrip("/"), use.mode) for use in uses(definition) if isinstance(use, PathUse)]
            roots |= {(path, mode) for path, mode in paths if not root_problem(path, mode)}
    for group in apps.get_model("pipelines", "ExternalGroup").objects.iterator():
        named = [(use.host.lower(), str(use.port)) for use in servers("", group.bootstrap_servers)]
        networks |= {(host, port) for host, port in named if not network_problem(host, port)}
    for path, mode in sorted(roots):
        _allow(apps, "AllowedRoot", "allowed_root.add", {"path": path, "mode": mode})
    for target, ports in sorted(networks):
        _allow(apps, "AllowedNetwork", "allowed_network.add", {"target": target, "ports": ports})


def _allow(apps: Any, model: str, action: str, rule: dict[str, str]) -> None:
    now = timezone.now()
    added = {"note": NOTE, "created_at": now, "created_by": BY}
    _, is_new = apps.get_model("pipelines", model).objects.get_or_create(**rule, defaults=added)
    if is_new:
        after = {**rule, "note": NOTE}
        apps.get_model("pipelines", "AuditRow").objects.create(at=now, actor=BY, action=action, after=after)
        log.warning("Pipelines may reach what they use now: %s", rule)


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0042_change_requests"),
    ]

    operations = [
        migrations.RunPython(allow_what_is_used, migrations.RunPython.noop),
    ]
