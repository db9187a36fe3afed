"""A sealed row of the audit as others take it: a message of syslog (RFC 5424), and a log record of OTLP."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.domain.access.audit.export import Exported, json_line

MOST_BYTES = 8192
"""What common receivers take as one message. A longer row goes without what was before and after."""
FACILITY = 13
NOTICE, WARNING = 5, 4
SD_ID = "headgate@32473"
"""32473 is the number that RFC 5612 keeps for who has none of their own."""
_PARAMETERS = {
    "actor": "actor",
    "action": "action",
    "outcome": "outcome",
    "pipeline": "pipeline_name",
    "team": "team",
    "token": "token",
    "address": "address",
    "request": "request_id",
}
_SYSLOG_NAME = re.compile(r"[^\x21-\x7e]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sent:
    """What is sent of a row: its line, as exports have it, and whether it was cut to fit."""

    row: Exported
    line: str
    truncated: bool


def to_send(row: Exported, most: int = MOST_BYTES) -> Sent:
    """The whole row, or as much of it as fits."""
    line = json_line(row).rstrip("\n")
    if len(line) <= most:
        return Sent(row, line, False)
    kept = {name: value for name, value in row.record.items() if name not in ("before", "after")}
    return Sent(row, json_line(Exported(row.sequence, row.digest, kept)).rstrip("\n"), True)


def severity(row: Exported) -> int:
    """What was accepted is a notice, all else a warning."""
    return NOTICE if row.record.get("outcome") == "accepted" else WARNING


def syslog(row: Exported, host: str) -> bytes:
    """The message of a row, sent by `host`. Its text is a line of an export, so that the chain can be verified."""
    sent = to_send(row)
    values = {"sequence": row.sequence, "digest": row.digest}
    values |= {name: row.record.get(column, "") for name, column in _PARAMETERS.items()}
    values |= {"truncated": "true"} if sent.truncated else {}
    data = "".join(f' {name}="{_escaped(str(value))}"' for name, value in values.items() if value != "")
    priority = FACILITY * 8 + severity(row)
    name = _SYSLOG_NAME.sub("", host)[:255] or "-"
    return f"<{priority}>1 {row.record['at']} {name} headgate - audit [{SD_ID}{data}] {sent.line}".encode()


def _escaped(value: str) -> str:
    return re.sub(r'(["\\\]])', r"\\\1", _CONTROL.sub(" ", value))


def otlp(rows: Sequence[Exported], *, host: str, version: str) -> bytes:
    """A request of OTLP over HTTP, in JSON, with a log record for each row."""
    resource = {"service.name": "headgate", "service.version": version, "host.name": host}
    scope = {"scope": {"name": "headgate.audit", "version": version}, "logRecords": [_log_record(row) for row in rows]}
    body = {"resourceLogs": [{"resource": {"attributes": _attributes(resource)}, "scopeLogs": [scope]}]}
    return json.dumps(body, separators=(",", ":")).encode()


def _log_record(row: Exported) -> dict[str, Any]:
    sent = to_send(row)
    values = {f"headgate.audit.{name}": row.record.get(column, "") for name, column in _PARAMETERS.items()}
    values |= {"headgate.audit.sequence": row.sequence, "headgate.audit.digest": row.digest}
    values |= {"headgate.audit.truncated": True} if sent.truncated else {}
    at = datetime.fromisoformat(row.record["at"])
    is_notice = severity(row) == NOTICE
    return {
        "timeUnixNano": str((at - _EPOCH) // timedelta(microseconds=1) * 1000),
        "severityNumber": 10 if is_notice else 13,
        "severityText": "INFO2" if is_notice else "WARN",
        "eventName": "headgate.audit",
        "body": {"stringValue": sent.line},
        "attributes": _attributes({name: value for name, value in values.items() if value != ""}),
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
