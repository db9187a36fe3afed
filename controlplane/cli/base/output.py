"""What a command prints: results on stdout, as tables, JSON or YAML; everything else on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Format

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 200

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLES = {
    "RUNNING": "green",
    "PAUSED": "yellow",
    "STOPPED": "dim",
    "FAILED": "bold red",
    "BLOCKED": "bold red",
    "DEGRADED": "yellow",
    "STALLED": "yellow",
    "UNKNOWN": "magenta",
    "True": "green",
    "False": "red",
    "yes": "green",
    "NO": "bold red",
    "SUCCEEDED": "green",
    "error": "red",
    "warning": "yellow",
}


def safe(text: object) -> str:
    """Text of other origin without the characters that control a terminal."""
    return _CONTROL.sub("", str(text))


def console(*, stderr: bool = False) -> Console:
    """A console that takes texts literally, and does not cut lines when its output is a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(stderr=stderr, markup=False, highlight=False, width=width)


def print_line(text: str, *, style: str = "") -> None:
    """A line of the result, on stdout."""
    console().print(safe(text), style=style or None, soft_wrap=True)


def note(text: str) -> None:
    """A line about progress, on stderr."""
    console(stderr=True).print(safe(text), style="dim", soft_wrap=True)


def write_document(document: Any, form: Format) -> None:
    """One document, as JSON or YAML."""
    _write(json.dumps(document, indent=2, ensure_ascii=False) if form is Format.JSON else yaml_text(document))


def write_record(document: Any, form: Format) -> None:
    """One of a sequence of documents, without buffering: a JSON line, or a YAML document with its separator."""
    _write(_record(document, form))


def _record(document: Any, form: Format) -> str:
    return json.dumps(document, ensure_ascii=False) if form is Format.JSON else f"---\n{yaml_text(document)}"


def yaml_text(document: Any) -> str:
    """A document as YAML, keys in their order."""
    import yaml

    plain = json.loads(json.dumps(document))
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
    return text.removesuffix("\n")


def write_text(text: str) -> None:
    """Text as it is, without control characters."""
    sys.stdout.write(safe(text))
    sys.stdout.flush()


def write_bytes(parts: Iterable[bytes]) -> None:
    """A file on stdout, part by part."""
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.flush()


def write_file(path: Path, parts: Iterable[bytes]) -> None:
    """A file of its own, readable by its user alone, which appears once it is whole. Raises OSError."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with open(draft, "wb", opener=partial(os.open, mode=0o600)) as file:
            file.writelines(parts)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def style(word: str) -> str:
    """The colour of a state's name."""
    return _STYLES.get(word, "")


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table to print; figures are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    body = list(rows)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(columns):
        made.add_column(name, justify="right" if _are_figures(row[index] for row in body) else "left")
    for row in body:
        texts = map(cell, row)
        made.add_row(*(Text(text, style=style(text), overflow="fold") for text in texts))
    return made


def _are_figures(values: Iterable[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, stderr: bool = False) -> None:
    """Print a table, or `empty` where it has no rows."""
    body = list(rows)
    console(stderr=stderr).print(grid(columns, body) if body else empty)


def none(what: str, filters: Iterable[object], first: str = "") -> str:
    """What is said of an empty list: that nothing matches its filters, or without one `first`, how to get an entry."""
    return f"No {what} match." if any(filters) else f"No {what}. {first}".rstrip()


def no_pipelines(filters: Iterable[object]) -> str:
    """The same of a list of pipelines."""
    return none("pipelines", filters, "Create one: headgate apply -f FILE")


def cell(value: object) -> str:
    """A value in a table: figures with separators, a dash for an unknown value."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return safe(value)


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: 1 record, 2 records."""
    return f"{number} {one if number == 1 else many}"


def ago(moment: str | None) -> str:
    """How long ago an RFC 3339 time was."""
    if not moment:
        return "-"
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"


def clock(moment: str | None) -> str:
    """The local time of day of an RFC 3339 time."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S") if moment else "-"


def findings_grid(findings: Sequence[Mapping[str, Any]]) -> Table:
    """Findings with their places and suggestions."""
    rows = [
        (f.get("severity", "error"), _where(f), f.get("code"), f.get("message"), f.get("suggestion")) for f in findings
    ]
    return grid(("", "path", "code", "message", "suggestion"), rows)


def _where(finding: Mapping[str, Any]) -> str:
    line = finding.get("line")
    path = str(finding.get("path") or "(whole text)")
    return f"{path} (line {line})" if line else path


def show_error(error: CommandError, form: Format) -> None:
    """An expected failure, on stderr."""
    if form is not Format.TABLE:
        sys.stderr.write(f"{_record(error.document(), form)}\n")
        return
    out = console(stderr=True)
    out.print(safe(error.title), style="bold red", soft_wrap=True)
    for text in (error.detail, error.hint):
        if text:
            out.print(safe(text), soft_wrap=True)
    if error.findings:
        out.print(findings_grid(error.findings))
