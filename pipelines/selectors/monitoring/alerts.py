"""Reading alerts, and the settings of their rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from django.db.models import Count, QuerySet

from pipelines.domain.access.teams import Access
from pipelines.domain.monitoring.alert_rules import (
    DEFAULTS,
    RULE_DESCRIPTIONS,
    STANDING,
    WITHOUT_PIPELINE,
    AlertRule,
    AlertState,
    Severity,
    next_step,
    rules_of,
    severity_of,
    thresholds_of,
)
from pipelines.domain.monitoring.receivers import ReceiverKind
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import Alert, AlertSetting, Delivery
from pipelines.selectors.base.labels import with_label
from pipelines.selectors.base.visible import named_rows, of_teams
from pipelines.selectors.monitoring.schemas import (
    AlertCountsSchema,
    AlertDeliverySchema,
    AlertSchema,
    RuleOverrideSchema,
    RuleSchema,
    RuleSettingsSchema,
    RulesSchema,
)
from pipelines.selectors.monitoring.silences import Active, active_silences, silence_of, subject_of


def alerts(
    access: Access,
    *,
    state: AlertState | None,
    rule: str | None,
    pipeline: str | None,
    severity: Severity | None = None,
    label: str | None = None,
) -> QuerySet[Alert]:
    """Alerts that a user may see, with what their views need; those that stand, unless a state is given."""
    found = of_teams(Alert.objects.select_related("pipeline"), access).filter(state__in=[state] if state else STANDING)
    found = found.filter(rule=rule) if rule else found
    found = _of_severity(found, severity) if severity else found
    found = with_label(found, label, "pipeline__labels") if label else found
    return found.filter(pipeline__name=pipeline) if pipeline else found


def _of_severity(found: QuerySet[Alert], severity: Severity) -> QuerySet[Alert]:
    """Rules without a name of ours have the severity that unknown rules have."""
    if severity is severity_of(""):
        others = [rule for each in Severity if each is not severity for rule in rules_of(each)]
        return found.exclude(rule__in=others)
    return found.filter(rule__in=rules_of(severity))


def get_alert(alert_id: int, access: Access) -> Alert:
    """One alert; raises NotFound."""
    alert = of_teams(Alert.objects.select_related("pipeline"), access).filter(pk=alert_id).first()
    if alert is None:
        raise NotFound(f"There is no alert {alert_id}.", code="alert_not_found", hint="GET /api/v1/alerts lists them.")
    return alert


def alert_counts(access: Access) -> AlertCountsSchema:
    """How many alerts stand that a user may see, in one query."""
    rows = of_teams(Alert.objects.filter(state__in=STANDING), access).values_list("rule", "state").annotate(Count("id"))
    opened: Counter[Severity] = Counter()
    acknowledged = 0
    for rule, state, number in rows:
        if state == AlertState.OPEN:
            opened[severity_of(rule)] += number
        else:
            acknowledged += number
    return AlertCountsSchema(
        open=opened.total(), acknowledged=acknowledged, severities={each: opened[each] for each in Severity}
    )


def alert_schemas(rows: Sequence[Alert]) -> list[AlertSchema]:
    """Alerts as the API shows them, with one query for the silences and one for the deliveries of all. Both are of the
    alert's own team, or of the installation."""
    silences = active_silences(clock.now()) if rows else []
    told: dict[int, list[AlertDeliverySchema]] = defaultdict(list)
    deliveries = Delivery.objects.select_related("event", "receiver").filter(alert__in=[row.pk for row in rows])
    for each in deliveries.order_by("event_id", "receiver_id") if rows else ():
        told[each.alert_id or 0].append(_delivery_schema(each))
    return [_alert_schema(row, silences, told[row.pk]) for row in rows]


def alert_schema(alert: Alert) -> AlertSchema:
    """One alert as the API shows it."""
    return alert_schemas([alert])[0]


def _alert_schema(alert: Alert, silences: Active, deliveries: list[AlertDeliverySchema]) -> AlertSchema:
    silence = silence_of(subject_of(alert), silences) if alert.state in STANDING else None
    return AlertSchema(
        id=alert.pk,
        rule=alert.rule,
        key=alert.key,
        severity=severity_of(alert.rule),
        pipeline=alert.pipeline.name if alert.pipeline else None,
        labels=alert.pipeline.labels if alert.pipeline else {},
        state=AlertState(alert.state),
        message=alert.message,
        next_step=next_step(alert.rule),
        data=alert.data,
        opened_at=alert.opened_at,
        changed_at=alert.changed_at,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_at=alert.acknowledged_at,
        acknowledged_note=alert.acknowledged_note,
        resolved_at=alert.resolved_at,
        silence=silence.pk if silence else None,
        silenced_until=silence.ends_at if silence else None,
        deliveries=deliveries,
    )


def _delivery_schema(row: Delivery) -> AlertDeliverySchema:
    """A message without what only administrators see of its receiver."""
    kind = ReceiverKind(row.receiver.kind)
    return AlertDeliverySchema(
        id=row.pk,
        receiver=row.receiver_id,
        receiver_kind=kind,
        receiver_name=row.receiver.description or kind.value,
        about=row.event.kind,
        state=DeliveryState(row.state),
        attempts=row.attempts,
        response_status=row.response_status,
        last_attempt_at=row.last_attempt_at,
        next_attempt_at=row.next_attempt_at,
    )


def rules_schema(access: Access) -> RulesSchema:
    """Every rule with its settings, but for those of pipelines that a user may not see."""
    rows = list(named_rows(AlertSetting.objects.all(), access).order_by("pipeline_name", "label"))
    return RulesSchema([_rule_schema(rule, [row for row in rows if row.rule == rule]) for rule in AlertRule])


def _rule_schema(rule: AlertRule, rows: list[AlertSetting]) -> RuleSchema:
    return RuleSchema(
        rule=rule,
        description=RULE_DESCRIPTIONS[rule],
        severity=severity_of(rule),
        next_step=next_step(rule),
        thresholds=list(thresholds_of(rule)),
        about_pipelines=rule not in WITHOUT_PIPELINE,
        defaults=RuleSettingsSchema(**DEFAULTS[rule].model_dump()),
        overrides=[override_schema(row) for row in rows],
    )


def override_schema(row: AlertSetting) -> RuleOverrideSchema:
    """One setting as the API shows it."""
    return RuleOverrideSchema(
        label=row.label,
        pipeline=row.pipeline_name,
        off=sorted(name for name, value in row.values.items() if value is None),
        updated_by=row.updated_by,
        updated_at=row.updated_at,
        **row.values,
    )
