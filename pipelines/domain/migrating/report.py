"""The evidence of a migration as a page that prints well: no scripts, no outside addresses, black on white."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; color: #111; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; break-after: avoid; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; } tr { break-inside: avoid; }
thead { display: table-header-group; }
th, td { border: 1px solid #999; padding: .25rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
footer { margin-top: 2rem; border-top: 1px solid #999; padding-top: .5rem; font-size: 12px; }
@page { margin: 15mm; } @media print { body { margin: 0; max-width: none; padding: 0; } }
"""


def html(document: Mapping[str, Any]) -> str:
    """The page of a sealed document."""
    content = document["content"]
    title = f"Migration of {content['pipeline']}: {content['kind']}, {content['stage']}"
    sections = [
        _facts("What it was", _about(content)),
        _table("Approvals", ("who", "when", "plan"), _approvals(content)),
        _table("What changed", ("path", "what", "before", "after", "consequence"), _changes(content)),
        _facts("In figures", _figures(content)),
        _table(
            "Positions", ("source.channel", "partition", "stopped at", "snapshot", "started at", "gap", "overlap"),
            _positions(content),
        ),
        _table(
            "Translated", ("partition", "stopped at", "by", "goes on at", "exact", "skipped", "again", "evidence"),
            _translated(content),
        ),
        _table(
            "Ends of the sink's topics", ("sink", "partition", "start", "end", "cluster"), _sink_ends(content)
        ),
        _table("Books", ("", "before", "after"), _books(content)),
        _table("Steps", ("step", "stage", "state", "seconds", "message"), _steps(content)),
        _table("Observed", ("rule", "holds", "before", "after", "words"), _checks(content)),
        _table("Findings", ("code", "where", "message"), _findings(content)),
    ]  # fmt: skip
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{''.join(sections)}</main>"
        f"<footer>SHA-256 of the content: <code>{escape(document['sha256'])}</code>. Check the JSON document with "
        "<code>headgate migrations verify FILE</code>.</footer></body></html>\n"
    )


def _about(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    names = ("id", "reason", "created_by", "created_at", "ended_at", "message")
    target = content["plan"].get("target") or {}
    return [
        *((name.replace("_", " "), content.get(name)) for name in names),
        ("host before, after", f"{content['before'].get('host')}, {target.get('host')}"),
        ("plan", content["plan_hash"]),
    ]


def _figures(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pause, announced = content["pause"], content.get("announced") or content["plan"]
    return [
        ("pause as the data saw it, seconds", pause["seen"]),
        ("pause that the plan expected, seconds", pause["expected"]),
        ("records skipped, announced and found", f"{announced.get('skip', 0)}, {content['gap']}"),
        ("records read twice, announced and found", f"{announced.get('replay', 0)}, {content['overlap']}"),
    ]


def _approvals(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    return ((each["by"], each["at"], each["hash"]) for each in content["approvals"])


def _changes(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for judged in content["plan"].get("changes", []):
        change = judged["change"]
        yield change["path"], change["op"], change["old"], change["new"], judged["consequence"]


def _positions(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content["positions"]:
        where = f"{row['source']}.{row['channel']}", f"{row['topic']}/{row['partition']}"
        yield *where, row["stopped_at"], row.get("snapshot"), row["started_at"], row["gap"], row["overlap"]


def _translated(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in (each for each in content["positions"] if "translated" in each):
        there = f"{row['topic']}/{row['translated']}"
        place = f"{row['source']}.{row['channel']} {row['old_topic']}/{row['partition']}"
        told = ", ".join(f"{name} {value}" for name, value in sorted(row["evidence"].items()))
        yield place, row["stopped_at"], row["by"], there, row["exact"], row["skip"], row["replay"], told


def _sink_ends(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content.get("sink_ends", []):
        yield row["sink"], f"{row['topic']}/{row['partition']}", row["start"], row["end"], row["cluster_id"]


def _books(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    before, after = content["books"]["before"], content["books"]["after"]
    return ((name, before.get(name), after.get(name)) for name in sorted({*before, *after}))


def _steps(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    names = ("step", "stage", "state", "seconds", "message")
    return (tuple(row[name] for name in names) for row in content["steps"])


def _checks(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    names = ("name", "holds", "before", "after", "words")
    return (tuple(row[name] for name in names) for row in content["observed"])


def _findings(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    return ((each.get("code"), each.get("path"), each.get("message")) for each in content["findings"])


def _facts(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    body = "".join(f"<tr><th scope='row'>{escape(name)}</th>{_cell(value)}</tr>" for name, value in rows)
    return f"<h2>{escape(title)}</h2><table><tbody>{body}</tbody></table>"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return f"<h2>{escape(title)}</h2><p>None.</p>"
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in columns)
    return f"<h2>{escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "<td>–</td>"
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'NO'}</td>"
    if isinstance(value, int | float):
        return f'<td class="figure">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
