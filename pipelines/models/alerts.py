"""Alerts, and the settings of the rules that raise them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from pipelines.domain.monitoring.alert_rules import STANDING, AlertState
from pipelines.models.definition import choices

_STANDING = Q(state__in=[state.value for state in STANDING])


class Alert(models.Model):
    """Something that somebody should look at. Of a (rule, key) at most one is standing: OPEN or ACKNOWLEDGED."""

    rule = models.CharField(max_length=64)
    key = models.CharField(max_length=300)
    pipeline = models.ForeignKey(
        "pipelines.Pipeline", null=True, blank=True, on_delete=models.CASCADE, related_name="alerts"
    )
    team = models.ForeignKey(
        "pipelines.Team",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whose it is where it is about no pipeline; without both, it is the installation's.",
    )
    state = models.CharField(max_length=16, choices=choices(AlertState), default=AlertState.OPEN)
    message = models.TextField()
    data = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    changed_at = models.DateTimeField(help_text="When its state or its message changed last.")
    acknowledged_by = models.CharField(max_length=150, blank=True, default="")
    acknowledged_note = models.CharField(max_length=1000, blank=True, default="")
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "key"], condition=_STANDING, name="one_standing_alert_of_a_key"),
        ]
        indexes = [
            models.Index(fields=["pipeline", "-id"]),
            models.Index(fields=["rule"], condition=_STANDING, name="standing_alerts"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.key} {self.state}"


class AlertSetting(models.Model):
    """What is set of a rule: for everything, for a label (`NAME:VALUE` or `NAME`), or for a pipeline's name.

    `values` has the keys of `alert_rules.RuleSettings` that it sets.
    """

    rule = models.CharField(max_length=64)
    label = models.CharField(max_length=200, blank=True, default="")
    pipeline_name = models.CharField(max_length=63, blank=True, default="")
    values = models.JSONField(default=dict)
    updated_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "label", "pipeline_name"], name="one_setting_of_a_rule_and_scope"),
            models.CheckConstraint(condition=Q(label="") | Q(pipeline_name=""), name="a_setting_has_one_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.pipeline_name or self.label or 'everything'}"
