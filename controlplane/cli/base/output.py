"""What a command prints: results on stdout, as tables or as JSON, everything else on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from controlplane.cli.base.errors import CommandError

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
    """Text from elsewhere without what could steer a terminal."""
    return _CONTROL.sub("", str(text))


def console(*, stderr: bool = False) -> Console:
    """A console that never reads markup out of texts, and does not cut lines when its output goes into a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(stderr=stderr, markup=False, highlight=False, width=width)


def say(text: str, *, style: str = "") -> None:
    """A line for the person, on stdout."""
    console().print(safe(text), style=style or None, soft_wrap=True)


def note(text: str) -> None:
    """A line about what is going on, on stderr."""
    console(stderr=True).print(safe(text), style="dim", soft_wrap=True)


def write_json(document: Any) -> None:
    """One JSON document."""
    _write(json.dumps(document, indent=2, ensure_ascii=False))


def write_json_line(document: Any) -> None:
    """One line of JSON lines, at once."""
    _write(json.dumps(document, ensure_ascii=False))


def write_text(text: str) -> None:
    """Text as it is, without control characters."""
    sys.stdout.write(safe(text))
    sys.stdout.flush()


def _write(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def style(word: str) -> str:
    """The colour of a state's name, always beside the name itself."""
    return _STYLES.get(word, "")


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table to print; figures are set to the right."""
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


def cell(value: object) -> str:
    """A value in a table: figures with separators, a dash for what is not known."""
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
    """A number with the words that belong to it: 1 record, 2 records."""
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
    """Findings with where they are and what to do."""
    rows = [
        (f.get("severity", "error"), _where(f), f.get("code"), f.get("message"), f.get("suggestion")) for f in findings
    ]
    return grid(("", "where", "code", "what", "what to do"), rows)


def _where(finding: Mapping[str, Any]) -> str:
    line = finding.get("line")
    path = str(finding.get("path") or "(whole text)")
    return f"{path} (line {line})" if line else path


def show_error(error: CommandError, *, as_json: bool) -> None:
    """An expected failure, on stderr."""
    if as_json:
        sys.stderr.write(json.dumps(error.document(), ensure_ascii=False) + "\n")
        return
    out = console(stderr=True)
    out.print(safe(error.title), style="bold red", soft_wrap=True)
    for text in (error.detail, error.hint):
        if text:
            out.print(safe(text), soft_wrap=True)
    if error.findings:
        out.print(findings_grid(error.findings))
