"""Where the audit is forwarded to, as the environment says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr, field_validator

SYSLOG_PORTS = {"udp": 514, "tcp": 601, "tls": 6514}
OTLP_PATH = "/v1/logs"


@dataclass(frozen=True)
class SyslogTarget:
    """A syslog server by `udp`, `tcp` or `tls`, or the socket `path` of this machine."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""


class AuditSettings(BaseModel):
    """`audit_syslog`: a syslog server; `audit_syslog_ca`: the file of the authorities of its certificate, the system's
    unless given. `audit_otlp`: a collector, by OTLP over HTTP; `audit_otlp_headers`: NAME=VALUE, separated
    by commas, values percent-encoded."""

    audit_syslog: str = ""
    audit_syslog_ca: Path | None = None
    audit_otlp: str = ""
    audit_otlp_headers: SecretStr | None = None

    @field_validator("audit_syslog")
    @classmethod
    def _is_a_target(cls, value: str) -> str:
        if value:
            parse_syslog(value)
        return value

    @field_validator("audit_otlp")
    @classmethod
    def _is_a_collector(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or parts.username):
            raise ValueError("is not the address of a collector, such as https://otel.example.com:4318")
        return value

    @field_validator("audit_otlp_headers")
    @classmethod
    def _are_headers(cls, value: SecretStr | None) -> SecretStr | None:
        if any(not name or not text for name, text in _pairs(value)):
            raise ValueError("is not a list such as authorization=Bearer%20TOKEN")
        return value

    @property
    def audit_destinations(self) -> dict[str, str]:
        """Where rows are forwarded, by the name of the protocol."""
        return {name: value for name, value in (("syslog", self.audit_syslog), ("otlp", self.audit_otlp)) if value}

    @property
    def otlp_address(self) -> str:
        """Where logs go: the address with the path of OTLP, unless it has one of its own."""
        return (
            self.audit_otlp
            if urlsplit(self.audit_otlp).path.strip("/")
            else f"{self.audit_otlp.rstrip('/')}{OTLP_PATH}"
        )

    @property
    def otlp_headers(self) -> dict[str, str]:
        """The headers by name."""
        return dict(_pairs(self.audit_otlp_headers))


def parse_syslog(text: str) -> SyslogTarget:
    """Read the address of a syslog server. Raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc:
        return SyslogTarget("unix", path=unquote(parts.path))
    extra: Any = parts.username or parts.query or parts.fragment or parts.path.strip("/")
    if parts.scheme not in SYSLOG_PORTS or not parts.hostname or extra:
        raise ValueError(
            "is not a syslog server: write tls://HOST:PORT, tcp://HOST:PORT, udp://HOST:PORT or unix:///PATH"
        )
    return SyslogTarget(parts.scheme, parts.hostname, parts.port or SYSLOG_PORTS[parts.scheme])


def _pairs(headers: SecretStr | None) -> list[tuple[str, str]]:
    given = (
        each.strip().partition("=")
        for each in (headers.get_secret_value() if headers else "").split(",")
        if each.strip()
    )
    return [(name.strip(), unquote(value.strip())) for name, _, value in given]
