"""Commands about alerts: list, acknowledge, and the rules that raise them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session

ALL = "all pipelines"

app = Group("List and acknowledge alerts, and set the rules that raise them.")
rules = Group("Set the rules that raise alerts.")
app.noun(rules, "rules")

Rule = Annotated[str, typer.Argument(help="The rule's name; `headgate alerts rules list` lists them.", metavar="RULE")]
Label = Annotated[str, typer.Option("--label", help="Only pipelines with this label: NAME:VALUE, or NAME.")]
_RECORDS = "Limit of lag in records, or records to read before the output is checked; 0: none."
_SECONDS = "Limit of lag in seconds, or seconds over which the output is checked; 0: none."
_DEVIATIONS = "How many deviations from its usual share the output may be off; 0: it is not compared with the past."
Pipeline = Annotated[str, typer.Option("--pipeline", help="Only this pipeline.")]


@app.verb("list")
def list_alerts(
    session: Session,
    state: Annotated[
        str | None, typer.Option("--state", help="open, acknowledged or resolved. Default: all unresolved alerts.")
    ] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Only this rule.")] = None,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")] = None,
    severity: Annotated[str | None, typer.Option("--severity", help="Only critical, warning or info.")] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Only pipelines with this label: NAME:VALUE, or NAME.")
    ] = None,
    limit: Limit = 50,
) -> None:
    """List alerts, newest first."""
    from controlplane.cli.base import output

    query = {"state": state and state.upper(), "rule": rule, "pipeline": pipeline, "severity": severity, "label": label}
    found = session.client().pages("alerts", limit=limit, **query)
    if session.printed(found):
        return
    columns = ("id", "state", "severity", "since", "rule", "subject", "message", "silenced until")
    output.table(columns, map(_row, found), empty=output.none("alerts", query.values()))


def _row(alert: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    subject = alert["pipeline"] or alert["data"].get("group") or alert["key"]
    what = (alert["severity"], ago(alert["opened_at"]), alert["rule"], subject, alert["message"])
    return str(alert["id"]), alert["state"], *what, alert["silenced_until"] or ""


@app.verb()
def acknowledge(
    session: Session,
    alert: Annotated[int, typer.Argument(help="The alert's id.", metavar="ID", min=1)],
    note: Annotated[str, typer.Option("--note", help="What is being done about it.")] = "",
) -> None:
    """Acknowledge an alert. It stays unresolved until its cause ends."""
    from controlplane.cli.base import output

    _, done = session.client().post(f"alerts/{alert}/acknowledge", {"note": note})
    if not session.printed(done):
        output.print_line(f"Acknowledged by {done['acknowledged_by']}: {done['message']}")


@rules.verb("list")
def list_rules(session: Session) -> None:
    """List the rules with their defaults and the settings for labels and pipelines."""
    from controlplane.cli.base import output

    found = session.client().get("alert-rules")
    if session.printed(found):
        return
    rows = [row for rule in found for row in _rule_rows(rule)]
    columns = ("rule", "scope", "enabled", "records", "seconds", "deviations", "for seconds", "description")
    output.table(columns, rows, empty="No rules.")


def _rule_rows(rule: dict[str, Any]) -> list[tuple[object, ...]]:
    def row(scope: str, settings: dict[str, Any], words: str) -> tuple[object, ...]:
        names = ("enabled", "records", "seconds", "deviations", "for_seconds")
        return (rule["rule"], scope, *(settings[name] for name in names), words)

    overrides = [row(each["pipeline"] or each["label"] or ALL, each, "") for each in rule["overrides"]]
    return [row("default", rule["defaults"], rule["description"]), *overrides]


@rules.verb("set")
def set_rule(
    session: Session,
    rule: Rule,
    label: Label = "",
    pipeline: Pipeline = "",
    records: Annotated[int | None, typer.Option("--records", min=0, help=_RECORDS)] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0, help=_SECONDS)] = None,
    deviations: Annotated[float | None, typer.Option("--deviations", min=0, help=_DEVIATIONS)] = None,
    for_seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="Seconds without interruption before an alert is raised.")
    ] = None,
    enabled: Annotated[bool | None, typer.Option("--on/--off", help="Whether the rule raises alerts.")] = None,
) -> None:
    """Set a rule for all pipelines, for a label or for a pipeline. Replaces the previous settings of that scope."""
    from controlplane.cli.base import output

    body: dict[str, Any] = {"label": label, "pipeline": pipeline}
    thresholds = (("records", records), ("seconds", seconds), ("deviations", deviations))
    body |= {name: given or None for name, given in thresholds if given is not None}
    body |= {name: given for name, given in (("for_seconds", for_seconds), ("enabled", enabled)) if given is not None}
    done = session.client().put(_path(rule), body)
    if not session.printed(done):
        output.print_line(f"{rule}: set for {pipeline or label or ALL}")


@rules.verb("unset")
def unset_rule(session: Session, rule: Rule, label: Label = "", pipeline: Pipeline = "") -> None:
    """Remove the settings of a rule for a scope. The settings of the wider scope apply again."""
    from controlplane.cli.base import output

    session.client().delete(_path(rule), label=label, pipeline=pipeline)
    if not session.printed({"rule": rule, "result": "unset"}):
        output.print_line(f"{rule}: no longer set for {pipeline or label or ALL}")


def _path(rule: str) -> str:
    from urllib.parse import quote

    return f"alert-rules/{quote(rule, safe='')}"
