"""Alerts: what somebody should look at, and when a rule raises one."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, page
from pipelines.api.http.watch_requests import AcknowledgeBody, AlertsQuery, RuleBody, RuleScope
from pipelines.domain.base.roles import Role
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation.errors import NotFound
from pipelines.selectors.monitoring import alerts as reading
from pipelines.selectors.monitoring.schemas import AlertCountsSchema, AlertSchema, RuleOverrideSchema, RulesSchema
from pipelines.services.monitoring import alerts


class AlertList(View):
    """What somebody should look at."""

    queries = {"GET": AlertsQuery}

    @extend_schema(operation_id="list_alerts", responses=Page[AlertSchema])
    def get(self, request: Request) -> Response:
        """List alerts, newest first."""
        query = self.query(AlertsQuery)
        rows = reading.alerts(
            self.access,
            state=query.state,
            rule=query.rule,
            pipeline=query.pipeline,
            severity=query.severity,
            label=query.label,
        )
        return page(rows, ["-id"], query, reading.alert_schemas)


class AlertCounts(View):
    """How many alerts fire."""

    @extend_schema(operation_id="count_alerts", responses=AlertCountsSchema)
    def get(self, request: Request) -> Response:
        """Count the alerts that stand."""
        return answer(reading.alert_counts(self.access))


class AcknowledgeAlert(TeamView):
    """Saying that one has seen it."""

    while_read_only = frozenset({"POST"})

    @property
    def owner(self) -> int | None:
        """The team of its pipeline, or of what else it is about."""
        alert = reading.get_alert(self.kwargs["alert_id"], self.access)
        return alert.pipeline.team_id if alert.pipeline else alert.team_id

    @extend_schema(operation_id="acknowledge_alert", request=AcknowledgeBody, responses=AlertSchema)
    @idempotent
    def post(self, request: Request, alert_id: int) -> Response:
        """Acknowledge an alert; it stands until its cause is gone."""
        body = self.body(AcknowledgeBody)
        return answer(reading.alert_schema(alerts.acknowledge(alert_id=alert_id, actor=self.actor, note=body.note)))


class AlertRules(View):
    """When rules raise alerts."""

    @extend_schema(operation_id="list_alert_rules", responses=RulesSchema)
    def get(self, request: Request) -> Response:
        """List all rules with their defaults and what is set."""
        return answer(reading.rules_schema(self.access))


class AlertRuleDetail(View):
    """The settings of one rule."""

    roles = {"DELETE": Role.OPERATOR}
    queries = {"DELETE": RuleScope}

    @extend_schema(operation_id="set_alert_rule", request=RuleBody, responses=RuleOverrideSchema)
    def put(self, request: Request, rule: str) -> Response:
        """Set a rule for everything, for a label or for one pipeline, in place of what was set there before."""
        body = self.body(RuleBody)
        self.require_named(body.pipeline)
        row = alerts.configure(
            rule=_rule(rule), label=body.label, pipeline_name=body.pipeline, values=body.values, actor=self.actor
        )
        return answer(reading.override_schema(row))

    @extend_schema(operation_id="unset_alert_rule", responses={204: None})
    def delete(self, request: Request, rule: str) -> Response:
        """Remove a setting; the wider ones count again."""
        scope = self.query(RuleScope)
        self.require_named(scope.pipeline)
        alerts.unset(rule=_rule(rule), label=scope.label, pipeline_name=scope.pipeline, actor=self.actor)
        return Response(status=204)


def _rule(name: str) -> AlertRule:
    try:
        return AlertRule(name)
    except ValueError:
        hint = f"The rules are: {', '.join(AlertRule)}."
        raise NotFound(f"There is no rule {name!r}.", code="rule_not_found", hint=hint) from None
