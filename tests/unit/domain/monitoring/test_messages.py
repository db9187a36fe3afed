"""Messages as Slack, PagerDuty and mailboxes get them: vectors of the formats, and texts that must not break them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.domain.monitoring import messages
from pipelines.domain.monitoring.alert_rules import Severity
from pipelines.domain.monitoring.messages import Happened, Notice

FIRING = Notice(
    happened=Happened.FIRING,
    alert=17,
    rule="host_lag",
    severity=Severity.CRITICAL,
    subject="orders",
    pipeline="orders",
    message="A sink <refuses> & waits.",
    since=datetime(2026, 1, 1, 12, 0, tzinfo=UTC),
    at=datetime(2026, 1, 1, 12, 5, tzinfo=UTC),
    next_step="Decide.",
    link="https://headgate.example.com/pipelines/orders",
)
RESOLVED = replace(FIRING, happened=Happened.RESOLVED)
ACKNOWLEDGED = replace(FIRING, happened=Happened.ACKNOWLEDGED, by="ana", note="Rolling back.")
TEST = replace(FIRING, happened=Happened.TEST, alert=0, rule="", message="ana tested receiver 1.")


def test_slack_gets_blocks_and_a_text_for_notifications() -> None:
    assert messages.slack(FIRING) == {
        "text": "[FIRING] orders: host lag (critical): A sink &lt;refuses&gt; &amp; waits.",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "[FIRING] orders: host lag (critical)"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "A sink &lt;refuses&gt; &amp; waits."}},
            {
                "type": "section",
                "fields": [
                    {"type": "mrkdwn", "text": "*Pipeline*\norders"},
                    {"type": "mrkdwn", "text": "*Severity*\ncritical"},
                    {"type": "mrkdwn", "text": "*Rule*\nhost_lag"},
                    {"type": "mrkdwn", "text": "*Since*\n2026-01-01 12:00:00 UTC"},
                ],
            },
            {"type": "section", "text": {"type": "mrkdwn", "text": "*Next step*\nDecide."}},
            {
                "type": "section",
                "text": {
                    "type": "mrkdwn",
                    "text": "<https://headgate.example.com/pipelines/orders|Open pipeline orders>",
                },
            },
        ],
    }


def test_slack_is_told_when_it_was_over_and_who_acknowledged() -> None:
    over, seen = json.dumps(messages.slack(RESOLVED)), json.dumps(messages.slack(ACKNOWLEDGED))
    assert "*Resolved*\\n2026-01-01 12:05:00 UTC" in over
    assert "Next step" not in over
    assert "*Acknowledged by*\\nana: Rolling back." in seen


@pytest.mark.parametrize("letter", ["x", "<", "&", "é", "\n"])
def test_texts_of_any_length_keep_to_the_limits_of_slack(letter: str) -> None:
    body = messages.slack(replace(FIRING, message=letter * 10_000, subject=letter * 10_000, next_step=letter * 10_000))
    assert len(body["blocks"][0]["text"]["text"]) <= 150
    texts = [each["text"]["text"] for each in body["blocks"][1:] if "text" in each]
    assert all(0 < len(text) <= 3000 for text in texts)
    assert all(len(each["text"]) <= 2000 for each in body["blocks"][2]["fields"])
    for text in texts[:2]:
        assert text.count("&") == text.count("&amp;") + text.count("&lt;")


def test_pagerduty_is_triggered_with_what_there_is_to_know() -> None:
    assert messages.pagerduty(FIRING, "key") == {
        "routing_key": "key",
        "event_action": "trigger",
        "dedup_key": "headgate:host_lag:17",
        "payload": {
            "summary": "orders: A sink <refuses> & waits.",
            "source": "orders",
            "severity": "critical",
            "timestamp": "2026-01-01T12:00:00.000+00:00",
            "component": "orders",
            "class": "host_lag",
            "custom_details": {
                "Pipeline": "orders",
                "Severity": "critical",
                "Rule": "host_lag",
                "Since": "2026-01-01 12:00:00 UTC",
                "Message": "A sink <refuses> & waits.",
                "Next step": "Decide.",
            },
        },
        "client": "Headgate",
        "client_url": "https://headgate.example.com/pipelines/orders",
        "links": [{"href": "https://headgate.example.com/pipelines/orders", "text": "Open pipeline orders"}],
    }


@pytest.mark.parametrize(("notice", "action"), [(ACKNOWLEDGED, "acknowledge"), (RESOLVED, "resolve")])
def test_pagerduty_knows_the_alert_again(notice: Notice, action: str) -> None:
    expected = {"routing_key": "key", "event_action": action, "dedup_key": "headgate:host_lag:17"}
    assert messages.pagerduty(notice, "key") == expected


def test_a_test_of_pagerduty_is_resolved_at_once() -> None:
    begun, over = messages.pagerduty(TEST, "key"), messages.pagerduty_end_of_test(TEST, "key")
    assert (begun["event_action"], over["event_action"]) == ("trigger", "resolve")
    assert begun["dedup_key"] == over["dedup_key"]


def test_pagerduty_gets_no_more_than_it_takes() -> None:
    body = messages.pagerduty(replace(FIRING, message="x\n" * 5000, subject="y" * 5000), "key")
    assert len(body["payload"]["summary"]) <= 1024
    assert "\n" not in body["payload"]["summary"]
    assert len(body["payload"]["source"]) <= 255
    long = replace(FIRING, message="x" * 10**6, subject="y" * 10**6)
    assert len(json.dumps(messages.pagerduty(long, "key"))) < 512_000


def test_a_mail_is_plain_text_with_a_subject_of_one_line() -> None:
    subject, text = messages.mail(replace(ACKNOWLEDGED, subject="orders\r\nBcc: x@y.example"))
    assert subject == "[ACKNOWLEDGED] orders Bcc: x@y.example: host lag (critical)"
    assert text.startswith("A sink <refuses> & waits.\n\nPipeline: orders")
    assert "\nNext step: Decide.\n" in text
    assert text.endswith("\nOpen pipeline orders: https://headgate.example.com/pipelines/orders\n")
    assert len(messages.mail(replace(FIRING, subject="z" * 500))[0]) <= 200


def test_mails_about_one_alert_belong_together() -> None:
    threads = {messages.thread_of(each, "example.com") for each in (FIRING, ACKNOWLEDGED, RESOLVED)}
    assert threads == {"<headgate.host_lag.17@example.com>"}


@pytest.mark.parametrize("template", [messages.slack, lambda n: messages.pagerduty(n, "k"), messages.mail])
def test_without_a_public_address_there_is_no_link(template: Any) -> None:
    assert "headgate.example.com" not in json.dumps(template(replace(FIRING, link="")))


def test_links_lead_to_the_pipeline_or_to_the_alerts() -> None:
    assert messages.page_of("https://h.example/", "a") == "https://h.example/pipelines/a"
    assert messages.page_of("https://h.example/sub", "") == "https://h.example/sub/alerts"
    assert messages.page_of("", "a") == ""
