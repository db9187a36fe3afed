"""Messages about alerts, as Slack, PagerDuty and mail want them. Pure.

Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
PagerDuty: https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from pipelines.domain.monitoring.alert_rules import Severity

CLIENT = "Headgate"
LONGEST_HEADER = 150
"""Of a header block of Slack."""
LONGEST_SECTION = 2_900
"""Slack takes 3,000 characters in a section; an escaped one counts as several."""
LONGEST_FIELD = 1_900
"""And 2,000 in a field."""
LONGEST_DETAIL = 10_000
"""PagerDuty takes 512 KB in all."""
LONGEST_SUMMARY = 1_024
LONGEST_SOURCE = 255
LONGEST_SUBJECT = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


class Happened(StrEnum):
    """What a message tells: an alert fires, a user has acknowledged it, its cause is gone, or this is a test."""

    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    TEST = "test"


_ACTIONS = {Happened.ACKNOWLEDGED: "acknowledge", Happened.RESOLVED: "resolve"}
_PAGERDUTY_SEVERITIES = {Severity.CRITICAL: "critical", Severity.WARNING: "warning", Severity.INFO: "info"}


@dataclass(frozen=True)
class Notice:
    """What a message says. `subject`: the pipeline, or what else the alert is about. `since`: when it began to fire.

    `by`: who acknowledged it. `link`: the page of the pipeline, empty where the public address is not set.
    """

    happened: Happened
    alert: int
    rule: str
    severity: Severity
    subject: str
    pipeline: str
    message: str
    since: datetime
    at: datetime
    by: str = ""
    note: str = ""
    next_step: str = ""
    link: str = ""

    @property
    def title(self) -> str:
        """One line: what happened to what."""
        if self.happened is Happened.TEST:
            return "Test message from Headgate"
        return f"[{self.happened.upper()}] {self.subject}: {self.rule.replace('_', ' ')} ({self.severity})"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What else there is to say, by name."""
        found = [("Pipeline" if self.pipeline else "Subject", self.subject), ("Severity", str(self.severity))]
        found += [("Rule", self.rule), ("Since", moment(self.since))]
        if self.happened is Happened.RESOLVED:
            found.append(("Resolved", moment(self.at)))
        if self.by:
            found.append(("Acknowledged by", f"{self.by}: {self.note}" if self.note else self.by))
        return found

    @property
    def advice(self) -> str:
        """What to do next; nothing once the cause is gone."""
        return "" if self.happened is Happened.RESOLVED else self.next_step


def moment(at: datetime) -> str:
    """An instant in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def page_of(public_url: str, pipeline: str) -> str:
    """The address of a pipeline's page, or of the alerts' where there is no pipeline; empty without a public one."""
    if not public_url:
        return ""
    base = public_url.rstrip("/")
    return f"{base}/pipelines/{quote(pipeline, safe='')}" if pipeline else f"{base}/alerts"


def slack(notice: Notice) -> dict[str, Any]:
    """The body for an incoming webhook. `text` is what notifications show."""
    fields = [_mrkdwn(f"*{name}*\n{_escaped(value)}", LONGEST_FIELD) for name, value in notice.facts]
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(_line(notice.title), LONGEST_HEADER)}},
        {"type": "section", "text": _mrkdwn(_escaped(notice.message) or "-", LONGEST_SECTION)},
        {"type": "section", "fields": fields},
    ]
    if notice.advice:
        blocks.append({"type": "section", "text": _mrkdwn(f"*Next step*\n{_escaped(notice.advice)}", LONGEST_SECTION)})
    if notice.link:
        blocks.append({"type": "section", "text": _mrkdwn(f"<{_escaped(notice.link)}|{_opens(notice)}>", None)})
    text = _escaped(_cut(_line(f"{notice.title}: {notice.message}"), LONGEST_SECTION // 2))
    return {"text": text, "blocks": blocks}


def _mrkdwn(text: str, longest: int | None) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text if longest is None else _whole(text, longest)}


def _whole(text: str, longest: int) -> str:
    """A text that was escaped, cut before an entity and never within it."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    start = cut.rfind("&", len(cut) - 5)
    return (cut[:start] if start >= 0 and ";" not in cut[start:] else cut) + "…"


def _escaped(text: str) -> str:
    """Slack's three characters; everything else is text, and mentions nobody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def pagerduty(notice: Notice, routing_key: str) -> dict[str, Any]:
    """An event for PagerDuty's Events API v2; `dedup_key` is the same for all events of an alert."""
    action = _ACTIONS.get(notice.happened, "trigger")
    body: dict[str, Any] = {"routing_key": routing_key, "event_action": action, "dedup_key": dedup_key(notice)}
    if action != "trigger":
        return body
    body["payload"] = {
        "summary": _cut(_line(f"{notice.subject}: {notice.message}"), LONGEST_SUMMARY),
        "source": _cut(_line(notice.subject), LONGEST_SOURCE),
        "severity": _PAGERDUTY_SEVERITIES[notice.severity],
        "timestamp": notice.since.astimezone(UTC).isoformat(timespec="milliseconds"),
        "component": _cut(_line(notice.subject), LONGEST_SOURCE),
        "class": notice.rule,
        "custom_details": {
            **{name: _cut(value, LONGEST_DETAIL) for name, value in notice.facts},
            "Message": _cut(notice.message, LONGEST_DETAIL),
            **({"Next step": notice.advice} if notice.advice else {}),
        },
    }
    body["client"] = CLIENT
    if notice.link:
        body |= {"client_url": notice.link, "links": [{"href": notice.link, "text": _opens(notice)}]}
    return body


def pagerduty_end_of_test(notice: Notice, routing_key: str) -> dict[str, Any]:
    """What resolves the incident that a test has triggered."""
    return {"routing_key": routing_key, "event_action": "resolve", "dedup_key": dedup_key(notice)}


def dedup_key(notice: Notice) -> str:
    """What ties the events of one alert together. An alert that fires anew is another one."""
    return "headgate:test" if notice.happened is Happened.TEST else f"headgate:{notice.rule}:{notice.alert}"


def mail(notice: Notice) -> tuple[str, str]:
    """Subject and text."""
    lines = [notice.message, "", *(f"{name}: {value}" for name, value in notice.facts)]
    if notice.advice:
        lines += ["", f"Next step: {notice.advice}"]
    if notice.link:
        lines += ["", f"{_opens(notice)}: {notice.link}"]
    return _cut(_line(notice.title), LONGEST_SUBJECT), "\n".join(lines) + "\n"


def thread_of(notice: Notice, domain: str) -> str:
    """The id that mails about one alert refer to, so that clients show them together."""
    return f"<{dedup_key(notice).replace(':', '.')}@{domain}>"


def _opens(notice: Notice) -> str:
    return f"Open pipeline {notice.pipeline}" if notice.pipeline else "Open alerts"


def _line(text: str) -> str:
    """Everything in one line: no line break may begin a header of its own."""
    return _CONTROL.sub(" ", text).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
