"""What the commands about migrations print."""

from __future__ import annotations

import json
import time
from typing import Any

from controlplane.cli.base import output
from controlplane.cli.positions.positions import show_moves

SAME_S = 10.0
LONGEST_VALUE = 40
_UNTOWARD = {"NEEDS_ATTENTION", "ROLLING_BACK", "ROLLED_BACK", "ABORTED"}


class Progress:
    """Says what is new on stderr; where only figures have changed, such as seconds that are left, every ten seconds."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._told, self._at = quiet, "", 0.0

    def tell(self, line: str) -> None:
        """Say a line, unless it is old."""
        same = _without_figures(line) == _without_figures(self._told)
        if self._quiet or line == self._told or (same and time.monotonic() - self._at < SAME_S):
            return
        output.note(line)
        self._told, self._at = line, time.monotonic()


def _without_figures(line: str) -> str:
    return "".join(each for each in line if not each.isdigit())


def say_end(made: dict[str, Any]) -> None:
    """How one that was waited for has ended."""
    pause = made.get("pause_seconds")
    seen = f" Pause as the data saw it: {pause:g} s." if pause is not None else ""
    output.say(f"{made['id']}: {made['stage']}. {made['message']}{seen} Report: headgate migrate report {made['id']}")


def show(found: dict[str, Any], *, as_json: bool) -> None:
    """A migration: its plan before it is begun, its steps from then on, and what can be done next."""
    if as_json:
        output.write_json(found)
        return
    output.say(f"{found['id']}: {found['kind']} of {found['pipeline']}, {found['stage']}. {found['message']}")
    if not found["steps"]:
        _show_plan(found)
    columns = ("step", "stage", "state", "what")
    if found["steps"]:
        rows = ((s["name"], s["stage"], s["state"], s["message"] or s["sentence"]) for s in found["steps"])
        output.table(columns, rows, empty="")
    rows = (
        (c["choice"], c["allowed"], c["sentence"] if c["allowed"] else c["reason"], (c["price"] or {}).get("words"))
        for c in found["choices"]
    )
    output.table(("next", "possible", "what", "price"), rows, empty="Nothing is left to be done.")


def show_findings(found: dict[str, Any]) -> None:
    """What blocks the plan of a migration, or why it needs a person or was taken back."""
    blockers = (found["plan"] or {}).get("blockers", []) if found["stage"] == "DRAFT" else []
    if findings := blockers or (found["findings"] if found["stage"] in {"DRAFT", *_UNTOWARD} else []):
        output.console().print(output.findings_grid(findings))


def _show_plan(found: dict[str, Any]) -> None:
    made = found["plan"]
    if not made:
        return
    columns = ("path", "what", "before", "after", "consequence", "why")
    output.table(columns, map(_change, made["changes"]), empty="No component changes.")
    steps = ((s["name"], s["stage"], f"{s['seconds']:g} s", s["sentence"]) for s in made["steps"])
    output.table(("step", "stage", "at most", "what"), steps, empty="")
    if moves := made.get("moves"):
        show_moves(moves)
    _show_clusters(made)
    pause = made["pause"]
    skipped = output.counted(made["skip"], "record is skipped", "records are skipped")
    again = output.counted(made["replay"], "comes again", "come again")
    output.say(
        f"Consequence: {made['consequence']}. Expected pause: {pause['expected']:g} s (at most {pause['most']:g} s). "
        f"{skipped}, {again}. Plan {found['plan_hash']}"
    )
    for warning in made["warnings"]:
        output.say(f"{warning['code']}: {warning['message']}")


def _change(judged: dict[str, Any]) -> tuple[object, ...]:
    change = judged["change"]
    values = (_short(change["old"]), _short(change["new"]))
    return change["path"], change["op"], *values, judged["consequence"], judged["reason"]


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _show_clusters(made: dict[str, Any]) -> None:
    """Where a source goes on in another cluster, or where a sink's topics end there."""
    if found := made.get("translation"):
        counted = ("stopped_at", "new", "skip", "replay")
        rows = (
            (f"{r['channel']} {r['old_topic']}/{r['partition']}", *(r[name] for name in counted), _how(r))
            for r in found
        )
        output.table(("partition", "at", "goes on at", "skipped", "again", "by"), rows, empty="")
    if found := made.get("sink_ends"):
        ends = ((r["sink"], f"{r['topic']}/{r['partition']}", r["start"], r["end"]) for r in found)
        output.table(("sink", "partition", "start", "end"), ends, empty="")


def _how(row: dict[str, Any]) -> str:
    if row["code"] or row["behind"]:
        return str(row["code"] or f"the mirror is {row['behind']} behind")
    return f"{row['by']}, exact" if row["exact"] else str(row["by"])
