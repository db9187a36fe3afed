"""Reading alerts, and the settings of their rules."""

from __future__ import annotations

from django.db.models import QuerySet

from pipelines.domain.monitoring.alert_rules import DEFAULTS, RULE_DESCRIPTIONS, STANDING, AlertRule, AlertState
from pipelines.models import Alert, AlertSetting
from pipelines.selectors.monitoring.schemas import (
    AlertSchema,
    RuleOverrideSchema,
    RuleSchema,
    RuleSettingsSchema,
    RulesSchema,
)


def alerts(*, state: AlertState | None, rule: str | None, pipeline: str | None) -> QuerySet[Alert]:
    """Alerts, with what their views need; those that stand, unless a state is given."""
    found = Alert.objects.select_related("pipeline").filter(state__in=[state] if state else STANDING)
    found = found.filter(rule=rule) if rule else found
    return found.filter(pipeline__name=pipeline) if pipeline else found


def alert_schema(alert: Alert) -> AlertSchema:
    """One alert as the API shows it."""
    return AlertSchema(
        id=alert.pk,
        rule=alert.rule,
        key=alert.key,
        pipeline=alert.pipeline.name if alert.pipeline else None,
        state=AlertState(alert.state),
        message=alert.message,
        data=alert.data,
        opened_at=alert.opened_at,
        changed_at=alert.changed_at,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_at=alert.acknowledged_at,
        resolved_at=alert.resolved_at,
    )


def rules_schema() -> RulesSchema:
    """Every rule with its settings."""
    rows = list(AlertSetting.objects.order_by("pipeline_name", "label"))
    return RulesSchema([_rule_schema(rule, [row for row in rows if row.rule == rule]) for rule in AlertRule])


def _rule_schema(rule: AlertRule, rows: list[AlertSetting]) -> RuleSchema:
    return RuleSchema(
        rule=rule,
        description=RULE_DESCRIPTIONS[rule],
        defaults=RuleSettingsSchema(**DEFAULTS[rule].model_dump()),
        overrides=[override_schema(row) for row in rows],
    )


def override_schema(row: AlertSetting) -> RuleOverrideSchema:
    """One setting as the API shows it."""
    return RuleOverrideSchema(
        label=row.label, pipeline=row.pipeline_name, updated_by=row.updated_by, updated_at=row.updated_at, **row.values
    )
