"""Alerts: raised once however often their cause is found, acknowledged by people, over when the cause is.

Every change is a compare-and-swap on the state with one event (`alert.opened`, `alert.acknowledged`,
`alert.resolved`), so open pages hear of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from pipelines.domain.monitoring.alert_rules import (
    EVALUATED,
    GLASS_BROKEN,
    STANDING,
    WITHOUT_PIPELINE,
    AlertRule,
    AlertState,
    Facts,
    Override,
    broken,
    settings_for,
)
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Alert, AlertSetting, Pipeline
from pipelines.services.base import audit, bulk, events
from pipelines.services.base.audit import Actor

_STANDING = [state.value for state in STANDING]


def raise_alert(
    *,
    rule: str,
    key: str,
    message: str,
    pipeline: Pipeline | None = None,
    team: int | None = None,
    data: Mapping[str, Any] | None = None,
    lasting: float = inf,
) -> Alert | None:
    """Open the alert of (rule, key), or bring the standing one up to date; doing so again changes nothing. `team`:
    whose it is where it is about no pipeline.

    An acknowledged one stays acknowledged. There is an event when it opens, and none for new words. None where people
    have switched the rule off for the pipeline, or want it broken for longer than the `lasting` seconds so far.
    """
    standing = Alert.objects.filter(rule=rule, key=key, state__in=_STANDING).first()
    if standing is None:
        if _held_back(rule, pipeline, lasting):
            return None
        try:
            with transaction.atomic():
                return _open(rule, key, message, pipeline, team, dict(data or {}))
        except IntegrityError:  # somebody else has opened it in the same instant
            standing = Alert.objects.get(rule=rule, key=key, state__in=_STANDING)
    return _updated(standing, message, dict(data or {}))


def _held_back(rule: str, pipeline: Pipeline | None, lasting: float) -> bool:
    if rule not in {each.value for each in AlertRule}:
        return False
    name, labels = (pipeline.name, pipeline.labels) if pipeline else ("", {})
    settings = settings_for(AlertRule(rule), load_overrides(), name, labels)
    return not settings.enabled or lasting < settings.for_seconds


def _open(
    rule: str, key: str, message: str, pipeline: Pipeline | None, team: int | None, data: dict[str, Any]
) -> Alert:
    about = {"pipeline": pipeline, "team_id": team, "message": message, "data": data}
    alert = Alert.objects.create(rule=rule, key=key, opened_at=clock.now(), changed_at=clock.now(), **about)
    _emit(alert, "alert.opened", message)
    return alert


def _updated(alert: Alert, message: str, data: dict[str, Any]) -> Alert:
    if (alert.message, alert.data) != (message, data):
        alert.message, alert.data, alert.changed_at = message, data, clock.now()
        Alert.objects.filter(pk=alert.pk, state__in=_STANDING).update(
            message=message, data=data, changed_at=alert.changed_at
        )
    return alert


def facts_of_standing(rule: AlertRule) -> dict[str, dict[str, Any]]:
    """The data of a rule's standing alerts, by their keys."""
    return dict(Alert.objects.filter(rule=rule.value, state__in=_STANDING).values_list("key", "data"))


def clear_alert(*, rule: str, key: str) -> bool:
    """The cause is gone: resolve the standing alert of (rule, key); False where there is none."""
    standing = Alert.objects.select_related("pipeline").filter(rule=rule, key=key, state__in=_STANDING).first()
    return standing is not None and _resolve(standing)


@transaction.atomic
def _resolve(alert: Alert) -> bool:
    now = clock.now()
    same = Alert.objects.filter(pk=alert.pk, state=alert.state)
    if not same.update(state=AlertState.RESOLVED, resolved_at=now, changed_at=now):
        return False
    alert.state = AlertState.RESOLVED
    _emit(alert, "alert.resolved", f"Over: {alert.message}")
    return True


@transaction.atomic
def acknowledge(*, alert_id: int, actor: Actor, note: str = "") -> Alert:
    """A person has seen it, and may say what is done; one whose cause does not last is over by that. Doing so again
    changes nothing. Raises NotFound, or Conflict where it is over."""
    alert = Alert.objects.select_related("pipeline").filter(pk=alert_id).first()
    if alert is None:
        raise NotFound(f"There is no alert {alert_id}.", code="alert_not_found", hint="GET /api/v1/alerts lists them.")
    now = clock.now()
    fields = {
        "acknowledged_by": actor.name,
        "acknowledged_at": now,
        "acknowledged_note": note.strip(),
        "changed_at": now,
    }
    if Alert.objects.filter(pk=alert_id, state=AlertState.OPEN).update(state=AlertState.ACKNOWLEDGED, **fields):
        alert.refresh_from_db()
        name, team = (alert.pipeline.name, alert.pipeline.team) if alert.pipeline else ("", alert.team)
        audit.record(
            actor=actor,
            action="alert.acknowledge",
            pipeline_name=name,
            team=team.name if team else "",
            after={"rule": alert.rule, "note": note},
        )
        _emit(alert, "alert.acknowledged", f"{actor.name} acknowledged: {alert.message}", actor.name)
        if alert.rule == GLASS_BROKEN:
            _resolve(alert)
            return alert
    alert.refresh_from_db()
    if alert.state == AlertState.RESOLVED:
        raise Conflict(f"Alert {alert_id} is resolved.", code="alert_resolved", hint="No action is required.")
    return alert


def _emit(alert: Alert, kind: str, message: str, actor: str = "system") -> None:
    data = {"alert": alert.pk, "rule": alert.rule, "key": alert.key, "state": alert.state}
    events.record(kind=kind, message=message, pipeline=alert.pipeline, team=alert.team_id, actor=actor, data=data)


@dataclass
class Patience:
    """Since when each (rule, key) is broken, by a monotonic clock; losing it costs some waiting and nothing else."""

    since: dict[tuple[str, str], float] = field(default_factory=dict)

    def ripe(self, key: tuple[str, str], seconds: float, now: float) -> bool:
        """Whether it has been broken for so long."""
        return now - self.since.setdefault(key, now) >= seconds

    def keep(self, found: Collection[tuple[str, str]]) -> None:
        """Forget what is not broken any more."""
        self.since = {key: started for key, started in self.since.items() if key in found}


def evaluate(*, facts: Mapping[UUID, Facts], patience: Patience, now: float) -> None:
    """Judge pipelines together: two queries however many they are, and a write only for what changes.

    Only alerts of these pipelines and of the rules in JUDGED are resolved here. `now`: seconds of a monotonic clock.
    """
    overrides = load_overrides()
    standing = _standing_of(facts.keys())
    found: set[tuple[str, str]] = set()
    for pipeline_id, each in facts.items():
        for finding, settings in broken(each, overrides):
            if (key := (finding.rule.value, finding.key)) in found:
                continue
            found.add(key)
            known = standing.pop(key, None)
            if known is not None:
                _updated(known, finding.message, dict(finding.data))
            elif patience.ripe(key, settings.for_seconds, now):
                owner = Pipeline(id=pipeline_id, name=each.pipeline, labels=dict(each.labels), team_id=each.team)
                raise_alert(
                    rule=finding.rule, key=finding.key, message=finding.message, data=finding.data, pipeline=owner
                )
    patience.keep(found)
    for alert in standing.values():
        _resolve(alert)


def _standing_of(pipeline_ids: Collection[UUID]) -> dict[tuple[str, str], Alert]:
    """Standing alerts that `evaluate` answers for. All standing ones are read: their number is small, and a list of
    thousands of ids is not."""
    rows = Alert.objects.filter(state__in=_STANDING, rule__in=[rule.value for rule in EVALUATED])
    return {(row.rule, row.key): row for row in rows.select_related("pipeline") if row.pipeline_id in pipeline_ids}


def load_overrides() -> list[Override]:
    """Every setting of the rules, in one query."""
    rows = AlertSetting.objects.filter(rule__in=[rule.value for rule in AlertRule])
    return [
        Override(rule=AlertRule(row.rule), values=row.values, label=row.label, pipeline=row.pipeline_name)
        for row in rows
    ]


@transaction.atomic
def configure(
    *, rule: AlertRule, label: str, pipeline_name: str, values: Mapping[str, Any], actor: Actor
) -> AlertSetting:
    """Set a rule for everything, a label or a pipeline; what `values` leaves out comes from the wider settings.

    Raises Invalid where a rule that is not about pipelines is to be set for some.
    """
    if rule in WITHOUT_PIPELINE and (label or pipeline_name):
        hint = "Omit label and pipeline."
        raise Invalid(f"The rule {rule} is not about pipelines.", code="scope_without_effect", hint=hint)
    scope: dict[str, Any] = {"rule": rule.value, "label": label, "pipeline_name": pipeline_name}
    row, _ = AlertSetting.objects.update_or_create(**scope, defaults={"values": dict(values), "updated_by": actor.name})
    audit.record(actor=actor, action="alert.configure", pipeline_name=pipeline_name, after={**scope, **values})
    return row


@transaction.atomic
def unset(*, rule: AlertRule, label: str, pipeline_name: str, actor: Actor) -> None:
    """Remove a setting. Raises NotFound."""
    scope: dict[str, Any] = {"rule": rule.value, "label": label, "pipeline_name": pipeline_name}
    if not AlertSetting.objects.filter(**scope).delete()[0]:
        raise NotFound("There is no such setting.", code="setting_not_found", hint="GET /api/v1/alert-rules has all.")
    audit.record(actor=actor, action="alert.unset", pipeline_name=pipeline_name, before=scope)


def prune(*, before: datetime) -> int:
    """Delete alerts that were over before `before`; returns their number."""
    return bulk.delete(Alert.objects.filter(state=AlertState.RESOLVED, resolved_at__lt=before))
