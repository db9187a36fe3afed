"""What a diagnostic bundle must not have: known values, and what looks like a credential."""

from __future__ import annotations

from time import process_time

import pytest

from pipelines.domain.diagnostics.redaction import Redaction

CANARY = "canary-5e1f77aa"


@pytest.mark.parametrize(
    "text",
    [
        f"connect to postgres://shop:{CANARY}@db.internal:5432/shop failed",
        f"amqp://{CANARY}@broker",
        f"https://user:{CANARY}@with-at@host/path",
        f"Authorization: Bearer {CANARY}",
        f"'Authorization': 'Basic {CANARY}'",
        f"proxy-authorization={CANARY} {CANARY}",
        f"Set-Cookie: session={CANARY}; Path=/",
        f"password={CANARY}",
        f'"sasl.password": "{CANARY} with spaces"',
        rf"{{\"password\": \"{CANARY}\"}}",
        f'sasl.jaas.config=PlainLoginModule required username="u" password="{CANARY}";',
        f"AWS_SECRET_ACCESS_KEY={CANARY}",
        f"api-key: {CANARY}",
        f"client_secret='{CANARY}'",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY.replace('-', '')}\n-----END RSA PRIVATE KEY-----",
        f"hg_{CANARY.replace('-', '')}0123456789",
        f"eyJhbGciOiJIUzI1NiJ9.{CANARY}.{CANARY}",
        f"ghp_{CANARY}",
        f"whsec_{CANARY}",
    ],
)
def test_what_looks_like_a_credential_is_taken_out(text: str) -> None:
    shown = Redaction().text(f"before {text} after\nnext line")
    assert CANARY not in shown
    assert CANARY.replace("-", "") not in shown
    assert shown.startswith("before ")
    assert shown.endswith("\nnext line")


@pytest.mark.parametrize(
    "text",
    [
        "The token administrators use is theirs.",
        "sasl.password: ${secret:shop/password}",
        "GET https://docs.example.com/guide?page=2 by ana@example.com",
        "12 of 30 records were delivered; basic checks passed",
        "TopicPartition(topic=orders, partition=3)",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert Redaction().text(text) == text


def test_known_values_are_taken_out_in_every_form_and_from_keys() -> None:
    redaction = Redaction(["pä$$/word 1", "postgres://u:inner-word@h/x"])
    document = {
        "pä$$/word 1": 1,
        "message": "p%C3%A4%24%24%2Fword%201 and inner-word",
        "rows": [{"deep": "p\\u00e4$$/word 1"}, 7, None, True],
        "options": {"sasl.password": "${secret:shop}", "ssl.key.password": "anything"},
    }
    assert redaction.document(document) == {
        "[redacted]": 1,
        "message": "[redacted] and [redacted]",
        "rows": [{"deep": "[redacted]"}, 7, None, True],
        "options": {"sasl.password": "${secret:shop}", "ssl.key.password": "[redacted]"},
    }


@pytest.mark.parametrize("unit", ["a.", "password", "-----BEGIN PRIVATE KEY-----", "://", "token ", "'", '=\\"'])
def test_no_text_makes_it_slow(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = process_time()
    Redaction(["x" * 40]).text(text)
    assert process_time() - started < 20
