"""The audit as a file: JSON Lines that can be verified, and CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.domain.access.audit.chain import HEAD_FORMAT, Head, Key, Link, Record, Verified, verify

COLUMNS = (
    "sequence",
    "id",
    "at",
    "actor",
    "action",
    "outcome",
    "pipeline_name",
    "team",
    "token",
    "address",
    "request_id",
)
_CONTENT = ("before", "after")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class NotAnExport(ValueError):
    """The lines are not an export of the audit."""


@dataclass(frozen=True)
class Exported:
    """A row with its place in the chain, if it has one."""

    sequence: int | None
    digest: str
    record: Record


def head_line(head: Head | None) -> str:
    """The first line of JSON Lines: the end of the chain as it is before the rows are read."""
    shown = {**vars(head), "at": head.at.isoformat()} if head else None
    return json.dumps({"format": HEAD_FORMAT, "head": shown}) + "\n"


def json_line(row: Exported) -> str:
    """One row."""
    return json.dumps({"sequence": row.sequence, "digest": row.digest, "record": row.record}) + "\n"


def csv_header() -> str:
    """The names of the columns."""
    return _line([*COLUMNS, *_CONTENT, "digest"])


def csv_line(row: Exported) -> str:
    """One row, whose cells a spreadsheet takes for text."""
    values: Mapping[str, Any] = {**row.record, "sequence": row.sequence}
    content = [json.dumps(row.record[name]) if name in row.record else "" for name in _CONTENT]
    return _line([*(values.get(name, "") for name in COLUMNS), *content, row.digest])


def _line(cells: Iterable[object]) -> str:
    written = io.StringIO()
    csv.writer(written).writerow([_cell("" if cell is None else str(cell)) for cell in cells])
    return written.getvalue()


def _cell(text: str) -> str:
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def verify_export(lines: Iterable[str], key: Key, kept: tuple[int, str] | None = None) -> Verified:
    """Check JSON Lines that were exported without a filter. Raises NotAnExport."""
    try:
        given = iter(lines)
        first = json.loads(next(given, ""))
        head = _head(first)
        rows = [Link(row["sequence"], row["digest"], row["record"]) for row in _sealed(given, head)]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotAnExport("The file is not an export of the audit as JSON Lines.") from None
    return verify(sorted(rows, key=lambda link: link.sequence), head, key, kept)


def _head(first: Mapping[str, Any]) -> Head | None:
    if first["format"] != HEAD_FORMAT:
        raise ValueError(first["format"])
    found = first["head"]
    return Head(**{**found, "at": datetime.fromisoformat(found["at"])}) if found else None


def _sealed(lines: Iterator[str], head: Head | None) -> Iterator[dict[str, Any]]:
    """Rows up to the head: those behind it were sealed while the others were exported."""
    for line in lines:
        row = json.loads(line)
        if row["sequence"] is not None and head is not None and row["sequence"] <= head.sequence:
            yield row
