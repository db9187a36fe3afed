"""Commands about alerts: list (`headgate alerts`), acknowledge, and when a rule raises one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.session import AsJson, Limit, begin

app = typer.Typer(
    help="What somebody should look at: list (`headgate alerts`), acknowledge, and when rules raise an alert.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Rule = Annotated[str, typer.Argument(help="The rule, as `headgate alerts rules` lists them.", metavar="RULE")]
Label = Annotated[str, typer.Option("--label", help="For pipelines with this label: NAME:VALUE, or NAME.")]
Pipeline = Annotated[str, typer.Option("--pipeline", help="For this pipeline alone.")]


@app.callback(invoke_without_command=True)
def list_alerts(
    ctx: typer.Context,
    state: Annotated[
        str | None, typer.Option("--state", help="open, acknowledged or resolved; those that stand, unless given.")
    ] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Only of this rule.")] = None,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only of this pipeline.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List alerts, newest first."""
    if ctx.invoked_subcommand is not None:
        return
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    found = client.pages("alerts", limit=limit, state=state and state.upper(), rule=rule, pipeline=pipeline)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "state", "since", "rule", "about", "what")
    output.table(columns, map(_row, found), empty="No alerts.")


def _row(alert: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    about = alert["pipeline"] or alert["data"].get("group") or alert["key"]
    return str(alert["id"]), alert["state"], ago(alert["opened_at"]), alert["rule"], about, alert["message"]


@app.command("ack")
def acknowledge(
    ctx: typer.Context,
    alert: Annotated[int, typer.Argument(help="The alert's id.", metavar="ID", min=1)],
    as_json: AsJson = False,
) -> None:
    """Say that you have seen an alert. It stands until its cause is gone."""
    from controlplane.cli.base import output

    _, done = begin(ctx, as_json=as_json).post(f"alerts/{alert}/acknowledge", {})
    output.write_json(done) if as_json else output.say(f"{done['acknowledged_by']} has seen it: {done['message']}")


@app.command()
def rules(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the rules with their settings: the defaults, and what is set for labels and pipelines."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).get("alert-rules")
    if as_json:
        output.write_json(found)
        return
    rows = [row for rule in found for row in _rule_rows(rule)]
    output.table(("rule", "for", "enabled", "records", "seconds", "broken for", "when"), rows, empty="No rules.")


def _rule_rows(rule: dict[str, Any]) -> list[tuple[object, ...]]:
    def row(scope: str, settings: dict[str, Any], words: str) -> tuple[object, ...]:
        figures = (settings["enabled"], settings["records"], settings["seconds"], settings["for_seconds"])
        return (rule["rule"], scope, *figures, words)

    set_here = [row(each["pipeline"] or each["label"] or "everything", each, "") for each in rule["overrides"]]
    return [row("default", rule["defaults"], rule["description"]), *set_here]


@app.command("set")
def set_rule(
    ctx: typer.Context,
    rule: Rule,
    label: Label = "",
    pipeline: Pipeline = "",
    records: Annotated[int | None, typer.Option("--records", min=0, help="Lag in records; 0: no limit.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0, help="Lag in seconds; 0: no limit.")] = None,
    for_seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="Seconds for which it must be broken without a break.")
    ] = None,
    enabled: Annotated[bool | None, typer.Option("--on/--off", help="Whether it raises alerts at all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set a rule for everything, for a label or for a pipeline, in place of what was set there before."""
    from controlplane.cli.base import output

    body: dict[str, Any] = {"label": label, "pipeline": pipeline}
    body |= {name: given or None for name, given in (("records", records), ("seconds", seconds)) if given is not None}
    body |= {name: given for name, given in (("for_seconds", for_seconds), ("enabled", enabled)) if given is not None}
    done = begin(ctx, as_json=as_json).put(_path(rule), body)
    output.write_json(done) if as_json else output.say(f"{rule} is set for {pipeline or label or 'everything'}")


@app.command("unset")
def unset_rule(ctx: typer.Context, rule: Rule, label: Label = "", pipeline: Pipeline = "") -> None:
    """Remove what was set; the wider settings count again."""
    from controlplane.cli.base import output

    begin(ctx, as_json=False).delete(_path(rule), label=label, pipeline=pipeline)
    output.say(f"{rule} is no longer set for {pipeline or label or 'everything'}")


def _path(rule: str) -> str:
    from urllib.parse import quote

    return f"alert-rules/{quote(rule, safe='')}"
