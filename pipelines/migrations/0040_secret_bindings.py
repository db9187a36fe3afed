"""Secrets are bound to pipelines and destinations, and those of receivers and clusters have names of their own. Each
stored secret is bound to what uses it now, so that nothing that runs is stopped."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import migrations, models
from django.utils import timezone
from pydantic import ValidationError

from pipelines.domain.access.secret_bindings import GROUPS, MONITOR
from pipelines.domain.access.secret_findings import written
from pipelines.domain.access.secret_uses import SecretUse, client_uses, secret_uses
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import Definition

BY = "headgate"
PIPELINES, RECEIVERS, CLUSTERS = "pipelines", "receivers", "clusters"

log = logging.getLogger(__name__)


def bind_what_is_used(apps: Any, schema_editor: Any) -> None:
    """Bind secrets to the pipelines and servers of present definitions and of runs; copy those of several purposes."""
    bound: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for user, use in [*_of_pipelines(apps), *_of_groups(apps)]:
        _bind(bound[use.name], user, use)
    others = {RECEIVERS: _of_receivers(apps), CLUSTERS: _of_clusters(apps)}
    for secret in apps.get_model("pipelines", "Secret").objects.order_by("pk"):
        purposes = [purpose for purpose, names in others.items() if secret.name in names]
        found = {key: sorted(values) for key, values in bound.get(secret.name, {}).items()}
        if found or not purposes:
            _save(apps, secret, PIPELINES, found)
        for number, purpose in enumerate(purposes):
            if found or number:
                secret.pk = None
            _save(apps, secret, purpose, {})


def _bind(lists: dict[str, set[str]], user: str, use: SecretUse) -> None:
    lists["pipelines"].add(user)
    lists["destinations"].update([use.component] if use.component else [], map(written, use.servers or ()))
    if (use.servers or use.own) and not use.encrypted:
        lists["unencrypted"].update(map(written, use.servers or ()) if use.servers else [use.component])


def _save(apps: Any, secret: Any, purpose: str, lists: Mapping[str, list[str]]) -> None:
    secret.purpose = purpose
    secret.pipelines = lists.get("pipelines", [])
    secret.destinations = lists.get("destinations", [])
    secret.unencrypted = lists.get("unencrypted", [])
    secret.save()
    after = {"secret": secret.name, "purpose": purpose, **lists}
    apps.get_model("pipelines", "AuditRow").objects.create(
        at=timezone.now(), actor=BY, action="secret.bound", after=after
    )
    log.warning("A secret was bound to what uses it: %s", after)


def _of_pipelines(apps: Any) -> Iterator[tuple[str, SecretUse]]:
    current = apps.get_model("pipelines", "Pipeline").objects.filter(archived_at=None).exclude(current_revision=None)
    running = apps.get_model("pipelines", "Run").objects.exclude(state="ENDED")
    seen = set()
    for name, key, data in [
        *current.values_list("name", "current_revision_id", "current_revision__definition"),
        *running.values_list("pipeline_name", "revision_id", "revision__definition"),
    ]:
        if key not in seen:
            seen.add(key)
            yield from ((name, use) for use in secret_uses(data, _valid(data)))


def _valid(data: Any) -> Definition | None:
    try:
        return Definition.model_validate(data)
    except ValidationError:
        return None


def _of_groups(apps: Any) -> Iterator[tuple[str, SecretUse]]:
    for group in apps.get_model("pipelines", "ExternalGroup").objects.all():
        plain = {"servers": group.bootstrap_servers, "options": group.options}
        yield from ((f"{GROUPS}{group.name}", use) for use in client_uses(plain, plain, MONITOR))


def _of_receivers(apps: Any) -> set[str]:
    rows = apps.get_model("pipelines", "Receiver").objects.values_list("secrets", flat=True)
    return {each.name for given in rows for each in references({"secrets": given})} | {
        settings.HEADGATE.smtp_password_secret
    }


def _of_clusters(apps: Any) -> set[str]:
    rows = apps.get_model("pipelines", "Cluster").objects.values_list("spec", flat=True)
    return {each.name for spec in rows for each in references(spec) if each.kind == "secret"}


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0039_agents_users"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="secret_versions",
            field=models.JSONField(blank=True, default=dict, help_text="Name: version of the secrets it was given."),
        ),
        migrations.AlterField(
            model_name="secret",
            name="name",
            field=models.CharField(max_length=128),
        ),
        migrations.AddField(
            model_name="secret",
            name="purpose",
            field=models.CharField(default="pipelines", max_length=16),
        ),
        migrations.AddField(
            model_name="secret",
            name="pipelines",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="secret",
            name="destinations",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="secret",
            name="unencrypted",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="secret",
            name="last_used_at",
            field=models.DateTimeField(blank=True, help_text="When a run was last given its value.", null=True),
        ),
        migrations.AddField(
            model_name="secret",
            name="last_used_by",
            field=models.CharField(blank=True, default="", help_text="The run, as PIPELINE/NUMBER.", max_length=80),
        ),
        migrations.AddConstraint(
            model_name="secret",
            constraint=models.UniqueConstraint(fields=("purpose", "name"), name="one_secret_of_a_purpose"),
        ),
        migrations.RunPython(bind_what_is_used, migrations.RunPython.noop),
    ]
