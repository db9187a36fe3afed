"""The evidence of a migration as a page that prints well: no scripts, no outside addresses, black on white.

Everything on it is in the sealed document, and each text is escaped. What an earlier version did not write down yet is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from pipelines.domain.ledger.ledger import IN_ORDER

_STYLE = """
:root { color-scheme: light; }
body { font: 14px/1.45 system-ui, sans-serif; color: #111; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; break-after: avoid; }
p { margin: .3rem 0; } p.outcome { font-size: 1.05rem; } .bad { font-weight: 700; }
p.note { color: #444; break-after: avoid; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; } tr { break-inside: avoid; }
thead { display: table-header-group; }
th, td { border: 1px solid #999; padding: .2rem .45rem; text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
th { background: #f2f2f2; } table.facts th { width: 15rem; font-weight: 600; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
footer { margin-top: 2rem; border-top: 1px solid #999; padding-top: .5rem; font-size: 12px; break-inside: avoid; }
@page { size: A4; margin: 14mm; }
@media print { body { margin: 0; max-width: none; padding: 0; font-size: 9.5pt; } table { font-size: 8.5pt; }
  code { font-size: 7.5pt; } td.time { white-space: normal; } th { background: none; }
  table.facts th { width: 11rem; } }
"""


def html(document: Mapping[str, Any]) -> str:
    """The page of a sealed document."""
    content = document["content"]
    title = f"Migration of {content['pipeline']}: {content['kind']}, {content['stage']}"
    sections = [_facts("Migration", _about(content)), _facts("Key figures", _figures(content)), *_tables(content)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f'<h1>{escape(title)}</h1><p class="outcome">{escape(str(content.get("message", "")))}</p>'
        f"{''.join(sections)}</main><footer>{_seal(document)}</footer></body></html>\n"
    )


def _seal(document: Mapping[str, Any]) -> str:
    return (
        f"<p>Evidence document <code>{escape(str(document['format']))}</code>, SHA-256 of its content: "
        f"<code>{escape(document['sha256'])}</code>.</p><p>This page shows the JSON document of the same number; check "
        "that one with <code>headgate migrations verify FILE</code>. Times are UTC.</p>"
    )


def _tables(content: Mapping[str, Any]) -> list[str]:
    translated, ends, back = list(_translated(content)), list(_sink_ends(content)), content.get("rollback")
    apart = [
        _table(
            "Translated",
            ("partition", "stopped at", "by", "continues at", "exact", "skipped", "reread", "evidence"),
            translated,
            "Positions of the old cluster as offsets of the new one, with the evidence.",
        )
        if translated
        else "",
        _table("Ends of the sink's topics", ("sink", "partition", "start", "end", "cluster"), ends) if ends else "",
        _table(
            "Positions of the rollback",
            ("source.channel", "partition", "stopped at", "started at", "gap", "overlap"),
            _places(back["positions"], "stopped_at", "started_at", "gap", "overlap"),
            "Where the new agent stopped, and where the agent after it started to read.",
        )
        if back
        else "",
    ]
    return [
        _table(
            "What changed",
            ("path", "what", "before", "after", "consequence"),
            _changes(content),
            none="No component changes.",
        ),
        _table("Requests of users", ("when", "who", "what", "at", "answer", "why"), _requests(content)),
        _table("Approvals", ("who", "when", "plan"), _approvals(content)),
        _table("Gates", ("before", "passed by", "when"), _gates(content)),
        _table("Runs", ("", "run", "revision", "host", "started", "promoted", "first record"), _runs(content)),
        _table("Software", ("where", "version of Headgate"), _software(content), none="Not recorded."),
        _table(
            "Positions",
            ("source.channel", "partition", "stopped at", "snapshot", "started at", "gap", "overlap"),
            _places(content["positions"], "stopped_at", "snapshot", "started_at", "gap", "overlap"),
            "Offsets of the next record: where the old agent stopped, what the snapshot has, and where the next agent "
            "started to read.",
            none="The migration ended before positions were recorded.",
        ),
        *apart,
        _table(
            "Ledger totals",
            ("", "before", "after", "between"),
            _ledger_totals(content),
            "Sums over all batches of the pipeline.",
        ),
        _table("Durations by stage", ("stage", "started", "ended", "seconds"), _stages(content)),
        _table("Steps", ("step", "stage", "state", "started", "seconds", "tried", "message"), _steps(content)),
        _table(
            "Preflight of the new agent",
            ("component", "kind", "type", "state", "detail"),
            _preflight(content),
            none="Not started.",
        ),
        _table(
            "Warnings of the preflight",
            ("code", "where", "message", "what to do"),
            _findings(_preflight_warnings(content)),
            none="No warnings.",
        ),
        _table(
            "Pause verified", ("what", "holds", "words", "evidence"), _proof(content), none="No pause was verified."
        ),
        *_shadow(content),
        *_outcome(content),
        _table("Observed", ("rule", "holds", "expected", "found", "words"), _checks(content), none="Not observed."),
        _table("Findings", ("code", "where", "message", "what to do"), _findings(content["findings"])),
        _table(
            "Warnings of the plan",
            ("code", "where", "message", "what to do"),
            _findings(content["plan"].get("warnings", [])),
        ),
    ]


def _about(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    target = content["plan"].get("target") or {}
    before, after, taken = content["before"], content.get("after", {}), content.get("snapshot") or {}
    return [
        ("migration", _Code(content["id"])),
        ("reason", content["reason"]),
        ("requested by", content["created_by"]),
        ("asked for", _Time(content["created_at"])),
        ("started", _Time(content.get("started_at"))),
        ("ended", _Time(content.get("ended_at"))),
        ("revision before, after", _pair(before.get("revision"), after.get("revision") or target.get("revision"))),
        ("host before, after", _pair(before.get("host"), after.get("host") or target.get("host"))),
        ("run before, after", _pair(before.get("run"), after.get("run"))),
        ("heaviest consequence", content["plan"].get("consequence")),
        ("SHA-256 of the plan", _Code(content["plan_hash"])),
        ("SHA-256 of the snapshot", _Code(taken["digest"]) if taken.get("digest") else None),
        *_at_work(content),
    ]


def _at_work(content: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    if dump := content.get("drain_dump"):
        yield "at work when the pause timed out", ", ".join(dump["stuck"]) or "no component"


def _pair(before: Any, after: Any) -> str:
    return f"{'–' if before is None else before}, {'–' if after is None else after}"


def _figures(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pause, expected = content["pause"], content.get("expected") or content["plan"]
    rows, apart = len(content["positions"]), content.get("not_compared", 0)
    return [
        ("delivery pause (measured)", _seen(pause)),
        ("delivery pause (expected)", _expected(pause)),
        ("records skipped", f"{expected.get('skip', 0):,} expected, {content['gap']:,} found"),
        ("records reread", f"{expected.get('replay', 0):,} expected, {content['overlap']:,} found"),
        ("partitions compared", f"{rows - apart:,} of {rows:,}" + (_APART if apart else "")),
        *_figures_back(content.get("rollback")),
    ]


def _figures_back(back: Mapping[str, Any] | None) -> Iterable[tuple[str, Any]]:
    if back:
        yield "delivery pause of the rollback (measured)", _seen(back)
        yield "skipped, reread by the rollback", f"{back['gap']:,}, {back['overlap']:,}"
        yield "possible duplicates of in-flight batches, at most", back["duplicates_max"]


def _seen(pause: Mapping[str, Any]) -> str | None:
    if pause["seen"] is None:
        return None
    last, first = pause.get("last_delivered_at"), pause.get("first_delivered_at")
    shown = f", between the deliveries of {_clock(last)} and {_clock(first)}" if last and first else ""
    return f"{pause['seen']:g} s{shown}"


_APART = "; of the others one agent has read nothing"


def _expected(pause: Mapping[str, Any]) -> str | None:
    if pause["expected"] is None:
        return None
    most = f", at most {pause['most']:g} s" if pause.get("most") is not None else ""
    return f"{pause['expected']:g} s{most}"


def _approvals(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for each in content["approvals"]:
        present = each["hash"] == content["plan_hash"]
        yield each["by"], _Time(each["at"]), "this one" if present else f"an earlier one, {each['hash']}"


def _requests(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content.get("requests", []):
        yield _Time(row["at"]), row["by"], row["action"], row["stage"], row["outcome"], row["reason"]


def _gates(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    return ((each["stage"], each["by"], _Time(each["at"])) for each in content.get("gates", []))


_SIDES = {"before": "before", "new": "new", "went_on": "next"}


def _runs(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content.get("runs", []):
        times = (_Time(row[name]) for name in ("started_at", "promoted_at", "first_record_at"))
        yield _SIDES.get(row["side"], row["side"]), str(row["number"]), str(row["revision"]), row["host"], *times


def _software(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    return sorted((content.get("software") or {}).items())


def _changes(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for evaluated in content["plan"].get("changes", []):
        change = evaluated["change"]
        words = (
            f"{evaluated['consequence']}: {evaluated['reason']}"
            if evaluated.get("reason")
            else evaluated["consequence"]
        )
        yield _Code(change["path"]), change["op"], _shown(change["old"]), _shown(change["new"]), words


def _shown(value: Any) -> Any:
    """A value of a definition as it is written there, so that no figure of it is set like one of the report."""
    return None if value is None else _Code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _places(rows: Iterable[Mapping[str, Any]], *figures: str) -> Iterable[Sequence[Any]]:
    """Of each partition where it is, and figures."""
    for row in rows:
        where = f"{row['source']}.{row['channel']}", f"{row['topic']}/{row['partition']}"
        yield *where, *(row.get(name) for name in figures)


def _translated(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in (each for each in content["positions"] if "translated" in each):
        there = f"{row['topic']}/{row['translated']}"
        place = f"{row['source']}.{row['channel']} {row['old_topic']}/{row['partition']}"
        reported = ", ".join(f"{name} {value}" for name, value in sorted(row["evidence"].items()))
        yield place, row["stopped_at"], row["by"], there, row["exact"], row["skip"], row["replay"], reported


def _sink_ends(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content.get("sink_ends", []):
        yield row["sink"], f"{row['topic']}/{row['partition']}", row["start"], row["end"], row["cluster_id"]


def _ledger_totals(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    totals = content["totals"]
    counted = [name for name in totals["after"] or totals["before"] if name != "duplicates_max"]
    names = [name for name in dict.fromkeys([*IN_ORDER, *counted]) if name in counted]
    for name in names:
        before, after = totals["before"].get(name), totals["after"].get(name)
        known = before is not None and after is not None
        yield name.replace("_", " "), before, after, after - before if known else None
    if "difference" in totals:
        yield "records without a verdict", totals["difference"]["before"], totals["difference"]["after"], None


def _stages(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content.get("stages", []):
        yield row["stage"], _Time(row["started_at"]), _Time(row["ended_at"]), row["seconds"]


def _steps(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content["steps"]:
        started = _Time(row["started_at"], clock=True)
        yield row["step"], row["stage"], row["state"], started, row["seconds"], row["tried"] or None, row["message"]


def _preflight(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    names = ("name", "kind", "type", "state", "detail")
    found = content.get("preflight") or {}
    return (tuple(row.get(name) for name in names) for row in found.get("components", []))


def _preflight_warnings(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of every component; agents of an earlier version report none."""
    found = content.get("preflight") or {}
    return [each for row in found.get("components", []) for each in row.get("warnings", [])]


def _proof(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    found = content.get("proof") or {}
    for row in found.get("checks", []):
        yield row["name"].replace("_", " "), row["holds"], row["words"], _shown(row["evidence"])


_FIGURES = {
    "delivered_share": "events delivered",
    "filtered_share": "events filtered",
    "output_per_record": "events delivered for each record read",
    "bytes_per_output": "bytes of an event delivered",
}


def _shadow(content: Mapping[str, Any]) -> list[str]:
    found = content.get("shadow")
    if not found:
        return []
    counts, share = found["counts"], found["share"]
    facts: list[_Fact] = [
        ("records compared", f"{counts['records']:,}"),
        ("identical", f"{counts['identical']:,}"),
        ("different", f"{counts['different']:,}"),
        ("delivered by the old revision only", f"{counts['only_old']:,}"),
        ("delivered by the new revision only", f"{counts['only_new']:,}"),
        ("share that differs", _percent(share)),
        ("not compared, since no run repeats it", "; ".join(_volatile(found["not_compared"])) or "nothing"),
        ("records per second before the migration", _figure(found["rate_before"])),
        ("records per second during the shadow", _figure(found["rate"])),
        *(("unlike the ledger", note) for note in found["notes"]),
    ]
    return [_facts("Shadow comparison", facts)]


def _volatile(not_compared: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for source, left_out in sorted(not_compared.items()):
        names = [f"header {name}" for name in left_out["headers"]]
        names += [part for part in ("key", "body") if left_out[part]]
        if names:
            yield f"sources.{source}: {', '.join(names)}"


def _outcome(content: Mapping[str, Any]) -> list[str]:
    predictions, rows = content.get("prediction", []), content.get("outcome", [])
    if not predictions and not rows:
        return []
    return [
        _table(
            "Prediction and outcome",
            ("source", "what", "component", "present revision", "predicted", "found"),
            (_outcome_row(row) for row in rows),
            "What becomes of records: before, as the plan has predicted it, and as the ledger of the new agent has it.",
            none="Nothing is known of it.",
        ),
        _facts("Prediction", list(_predicted(predictions, content.get("acknowledged")))),
    ]


def _outcome_row(row: Mapping[str, Any]) -> Sequence[Any]:
    shown = _percent if row["figure"].endswith("_share") else _figure
    figures = (shown(row[name]) for name in ("present", "predicted", "found"))
    return row["source"], _FIGURES.get(row["figure"], row["figure"]), row["component"], *figures


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _figure(number: float | None) -> str | None:
    return None if number is None else f"{number:,.2f}"


def _predicted(predictions: Iterable[Mapping[str, Any]], acknowledged: Mapping[str, Any] | None) -> Iterable[_Fact]:
    for each in predictions:
        if each["reason"]:
            yield each["source"], f"Not predicted, because {each['reason']}."
        elif each["before"] and each["after"]:
            counts = (f"{each[side]['delivered']:,} of {each[side]['events']:,}" for side in ("before", "after"))
            yield (
                each["source"],
                f"{each['records']:,} records previewed; delivered before and after: {', '.join(counts)}",
            )
    if acknowledged:
        who = f"{acknowledged['by']} at {_clock(acknowledged['at'])}"
        yield "acknowledged", f"{acknowledged['number']:,} records that would not be delivered any more, by {who}"


_Fact = tuple[str, Any]


def _checks(content: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    for row in content["observed"]:
        name = f"{row['name']} {row.get('component', '')}".strip()
        yield name, "waiting" if row.get("waits") else row["holds"], row["before"], row["after"], row["words"]


def _findings(found: Iterable[Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
    return ((each.get("code"), each.get("path"), each.get("message"), each.get("suggestion")) for each in found)


class _Code(str):
    """Something to be copied rather than read."""


class _Time(str):
    """A moment of RFC 3339; `clock`: the time of day alone."""

    def __new__(cls, moment: str | None, *, clock: bool = False) -> _Time:
        return super().__new__(
            cls, "" if not moment else _clock(moment) if clock else f"{moment[:10]} {_clock(moment)}"
        )


def _clock(moment: str) -> str:
    """The time of day to the millisecond, as the document has it: in UTC."""
    return moment[11:23].removesuffix("Z").split("+")[0]


def _facts(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    body = "".join(f"<tr><th scope='row'>{escape(name)}</th>{_cell(value)}</tr>" for name, value in rows)
    return f"<h2>{escape(title)}</h2><table class='facts'><tbody>{body}</tbody></table>"


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "", *, none: str = "None."
) -> str:
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return f"<h2>{escape(title)}</h2><p>{escape(none)}</p>"
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in columns)
    words = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<h2>{escape(title)}</h2>{words}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "<td>–</td>"
    if isinstance(value, bool):
        return "<td>yes</td>" if value else '<td class="bad">NO</td>'
    if isinstance(value, int | float):
        return f'<td class="figure">{value:,}</td>'
    if isinstance(value, _Time):
        return f'<td class="time">{escape(value)}</td>'
    if isinstance(value, _Code):
        return f"<td><code>{escape(value)}</code></td>"
    return f"<td>{escape(str(value))}</td>"
