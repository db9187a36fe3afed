"""What the commands about migrations print."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from controlplane.cli.base import differences, output
from controlplane.cli.positions.positions import show_moves

SAME_S = 10.0
LONGEST_VALUE = 40
_ABNORMAL = {"NEEDS_ATTENTION", "ROLLING_BACK", "ROLLED_BACK", "ABORTED"}


class Progress:
    """Prints new lines on stderr; lines in which only figures differ, such as remaining seconds, every ten seconds."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._shown, self._at = quiet, "", 0.0

    def show(self, line: str) -> None:
        """Print a line, unless it is a repetition."""
        same = _without_figures(line) == _without_figures(self._shown)
        if self._quiet or line == self._shown or (same and time.monotonic() - self._at < SAME_S):
            return
        output.note(line)
        self._shown, self._at = line, time.monotonic()


def _without_figures(line: str) -> str:
    return "".join(each for each in line if not each.isdigit())


def print_end(made: dict[str, Any], *, waited: bool) -> None:
    """The result of a migration, or the command that follows it."""
    state = f"{made['id']}: {made['stage']}."
    if waited:
        pause = made.get("pause_seconds")
        measured = f" Delivery pause (measured): {pause:g} s." if pause is not None else ""
        output.print_line(f"{state} {made['message']}{measured} Report: headgate migrations report {made['id']}")
    elif made["stage"] in {"PLANNED", "APPROVED"}:
        output.print_line(f"{state} Awaiting approval. Cancel it: headgate migrations cancel {made['id']}")
    else:
        output.print_line(f"{state} Started. Follow it: headgate migrations watch {made['id']}")


def print_migration(found: dict[str, Any]) -> None:
    """A migration: its plan before it starts, its steps after that, and the possible actions."""
    output.print_line(f"{found['id']}: {found['kind']} of {found['pipeline']}, {found['stage']}. {found['message']}")
    if not found["steps"]:
        _print_plan(found)
    else:
        rows = ((s["name"], s["stage"], s["state"], s["message"] or s["sentence"]) for s in found["steps"])
        output.table(("step", "stage", "state", "message"), rows, empty="")
        _print_warnings(found["steps"])
        _print_shadow(found)
    rows = (
        (c["choice"], c["allowed"], c["sentence"] if c["allowed"] else c["reason"], (c["impact"] or {}).get("words"))
        for c in found["choices"]
    )
    output.table(("action", "allowed", "message", "expected impact"), rows, empty="No actions.")


def _print_warnings(steps: list[dict[str, Any]]) -> None:
    """What the preflight of the new agent warns of."""
    evidence = next((s.get("evidence") for s in steps if s["name"] == "prepare_standby"), None) or {}
    components = evidence.get("components", [])
    warnings = [{**each, "severity": "warning"} for part in components for each in part.get("warnings", [])]
    if warnings:
        output.print_line(f"Preflight: {output.counted(len(warnings), 'warning', 'warnings')}.")
        output.console().print(output.findings_grid(warnings))


def print_timeline(found: dict[str, Any] | None) -> None:
    """What a timeline has, in the order of time."""
    rows = sorted(_entries(found), key=lambda entry: str(entry[1]["since"])) if found else []
    shown = ((what, output.clock(e["since"]), output.clock(e["until"]), _length(e), words) for what, e, words in rows)
    output.table(("what", "since", "until", "length", "details"), shown, empty="The migration has not started.")


def _entries(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    for each in found["stages"]:
        yield "stage", each, each["stage"]
    for each in found["gates"]:
        yield "gate", each, f"before {each['stage']}" + (f", passed by {each['by']}" if each["by"] else "")
    for each in found["pauses"]:
        yield "pause", each, f"{each['way']}, {'measured' if each['measured'] else 'between steps'}"
    for bar in found["bars"]:
        for each in bar["delivering"]:
            place = f"run {bar['run']}, revision {bar['revision']}, {bar['host']}"
            yield f"{bar['side']} agent", each, place


def _length(span: dict[str, Any]) -> str:
    if span["until"] is None:
        return "-"
    return f"{(datetime.fromisoformat(span['until']) - datetime.fromisoformat(span['since'])).total_seconds():.1f} s"


def print_findings(found: dict[str, Any]) -> None:
    """The blockers of a migration, or why it needs attention or was rolled back."""
    blockers = (found["plan"] or {}).get("blockers", []) if found["stage"] == "DRAFT" else []
    if findings := blockers or (found["findings"] if found["stage"] in {"DRAFT", *_ABNORMAL} else []):
        output.console().print(output.findings_grid(findings))


def _print_plan(found: dict[str, Any]) -> None:
    made = found["plan"]
    if not made:
        return
    columns = ("path", "change", "before", "after", "consequence", "reason")
    output.table(columns, map(_change, made["changes"]), empty="No components change.")
    steps = ((s["name"], s["stage"], f"{s['seconds']:g} s", s["sentence"]) for s in made["steps"])
    output.table(("step", "stage", "at most", "description"), steps, empty="")
    if moves := made.get("moves"):
        show_moves(moves)
    _print_clusters(made)
    _print_predictions(made)
    _print_tests(made)
    expected, most = made["pause"]["expected"], made["pause"]["most"]
    records = f"{output.counted(made['skip'], 'record', 'records')} skipped, {made['replay']} reread"
    output.print_line(f"Expected impact: {made['consequence']}; pause {expected:g} s (at most {most:g} s); {records}.")
    output.print_line(f"Plan digest: {found['plan_hash']}")
    for warning in made["warnings"]:
        output.print_line(f"{warning['code']}: {warning['message']}")


def _print_tests(made: dict[str, Any]) -> None:
    if names := made.get("passed_tests"):
        output.print_line(f"{output.counted(len(names), 'test', 'tests')} passed: {', '.join(names)}.")


def _print_shadow(found: dict[str, Any]) -> None:
    """What both revisions make of the records that the old agent delivers."""
    shadow = found.get("shadow")
    if not shadow:
        return
    counts = shadow["counts"]
    output.print_line(f"Shadow: {counts['records']:,} records compared{_rates(shadow)}.")
    names = ("identical", "different", "only_old", "only_new")
    output.table(("identical", "different", "only old", "only new"), [[f"{counts[n]:,}" for n in names]], empty="")
    for source, left_out in shadow["not_compared"].items():
        if parts := differences.not_compared(left_out):
            output.print_line(f"sources.{source}: not compared, since no run repeats it: {parts}")
    differences.table((each["difference"] for each in shadow["samples"]), empty="")
    for note in shadow["notes"]:
        output.print_line(f"Unlike the ledger: {note}")


def _rates(shadow: dict[str, Any]) -> str:
    if shadow["rate"] is None or shadow["rate_before"] is None:
        return ""
    return f"; the old agent reads {shadow['rate']:g} records per second, {shadow['rate_before']:g} before"


def _print_predictions(made: dict[str, Any]) -> None:
    """What is predicted of the records of each source, for the present and the new revision."""
    for each in made.get("predictions", []):
        before, after = each["before"], each["after"]
        if each["reason"] or not before or not after:
            words = f"Not predicted, because {each['reason']}." if each["reason"] else "The preview is being made."
            output.print_line(f"sources.{each['source']}: {words}")
            continue
        output.print_line(f"Prediction for sources.{each['source']}, of {each['records']:,} records:")
        output.table(("outcome", "present", "new"), _outcomes(before, after), empty="")
    if (number := made.get("to_acknowledge")) is not None:
        output.print_line(
            f"{number:,} records that are delivered now would not be delivered any more. To start, acknowledge the "
            f"number: --acknowledge {number}."
        )


def _outcomes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield "delivered", _of_events(before), _of_events(after)
    for path in sorted({*before["filtered"], *after["filtered"]}):
        yield f"filtered by {path}", f"{before['filtered'].get(path, 0):,}", f"{after['filtered'].get(path, 0):,}"
    for name in ("dead_letters", "unrouted"):
        if before[name] or after[name]:
            yield name.replace("_", " "), f"{before[name]:,}", f"{after[name]:,}"
    output_of = [sum(side["channels"].values()) for side in (before, after)]
    yield "output records", *(f"{number:,}" for number in output_of)  # type: ignore[misc]
    yield "output bytes", f"{before['size']:,}", f"{after['size']:,}"


def _of_events(side: dict[str, Any]) -> str:
    share = f" ({side['delivered'] / side['events']:.1%})" if side["events"] else ""
    return f"{side['delivered']:,} of {side['events']:,}{share}"


def _change(evaluated: dict[str, Any]) -> tuple[object, ...]:
    change = evaluated["change"]
    values = (_short(change["old"]), _short(change["new"]))
    return change["path"], change["op"], *values, evaluated["consequence"], evaluated["reason"]


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _print_clusters(made: dict[str, Any]) -> None:
    """The positions of a source in another cluster, or the ends of a sink's topics there."""
    if found := made.get("translation"):
        counted = ("stopped_at", "new", "skip", "replay")
        rows = (
            (f"{r['channel']} {r['old_topic']}/{r['partition']}", *(r[name] for name in counted), _how(r))
            for r in found
        )
        output.table(("partition", "current", "new", "skipped", "reread", "by"), rows, empty="")
    if found := made.get("sink_ends"):
        ends = ((r["sink"], f"{r['topic']}/{r['partition']}", r["start"], r["end"]) for r in found)
        output.table(("sink", "partition", "start", "end"), ends, empty="")


def _how(row: dict[str, Any]) -> str:
    if row["code"] or row["behind"]:
        return str(row["code"] or f"the mirror is {row['behind']} behind")
    return f"{row['by']}, exact" if row["exact"] else str(row["by"])
