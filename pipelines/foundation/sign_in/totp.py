"""Codes of authenticator applications: RFC 6238 with SHA-1, six digits and thirty seconds, which all of them know."""

from __future__ import annotations

import base64
import hmac
from urllib.parse import quote, urlencode

SECONDS = 30
DIGITS = 6
SECRET_BYTES = 20
STEPS_AROUND = 1
"""Steps before and after the present one that count, for clocks that differ and codes that are typed slowly."""


def code_of(secret: bytes, step: int) -> str:
    """The code of one step (RFC 4226)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_of(secret: bytes, code: str, at: float) -> int | None:
    """The step that the code belongs to, near this instant; None for a wrong code."""
    present = int(at // SECONDS)
    steps = range(present - STEPS_AROUND, present + STEPS_AROUND + 1)
    matching = [step for step in steps if hmac.compare_digest(code_of(secret, step).encode(), code.encode())]
    return matching[-1] if matching else None


def text_of(secret: bytes) -> str:
    """The secret as it is typed into an application."""
    return base64.b32encode(secret).decode().rstrip("=")


def uri_of(secret: bytes, *, issuer: str, account: str) -> str:
    """The secret as an application reads it from a picture."""
    label = f"{quote(issuer)}:{quote(account)}"
    return f"otpauth://totp/{label}?{urlencode({'secret': text_of(secret), 'issuer': issuer})}"
