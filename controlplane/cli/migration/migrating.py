"""Commands about migrations: a pipeline that is not stopped is changed in stages, and can go back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from controlplane.cli.base.session import AsJson, Name, begin
from controlplane.cli.migration import waiting
from controlplane.cli.migration.output import say_end, show, show_findings

DEFAULT_TIMEOUT_S = 3600.0
LARGEST_FILE = 4 << 20
COUNT_S = 60.0
_OPEN_ELSE_ANY = ("open", None)

Id = Annotated[
    str, typer.Argument(help="The migration's id, or the name of a pipeline with an open one.", metavar="ID")
]
AnyId = Annotated[
    str,
    typer.Argument(help="The migration's id, or a pipeline's name: its open one, else its latest.", metavar="ID"),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit and the report.")]
File = Annotated[
    str | None, typer.Option("--file", "-f", help="The new definition, YAML or JSON; - is standard input.")
]
Host = Annotated[str | None, typer.Option("--host", help="Move it to this host.")]
Software = Annotated[bool, typer.Option("--software", help="Run it with the software that is installed now.")]
To = Annotated[str | None, typer.Option("--to", help="Go on elsewhere; the forms of `headgate positions plan`.")]
Source = Annotated[
    str | None, typer.Option("--source", help="With --to: only the positions of this source; the others stay.")
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Move a source or a sink to another Kafka cluster, as this file says."),
]
Revision = Annotated[int | None, typer.Option("--revision", help="A stored revision.", min=1)]
Window = Annotated[float | None, typer.Option("--observe", help="Seconds of observation before it commits.", min=0)]
Ask = Annotated[bool, typer.Option("--ask", help="Ask before it commits, instead of committing by itself.")]
Gate = Annotated[
    list[str] | None,
    typer.Option("--gate", help="Ask before this stage: PAUSING, APPLYING, READY_TO_CUT_OVER or COMMITTED."),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it has ended, and show the steps.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, max=604_800, help="How many seconds --wait may take.")]

app = typer.Typer(
    no_args_is_help=True,
    help="Change a running pipeline in stages: pause, prove, change, verify, go back. ID is a migration's "
    "id, or its pipeline's name; docs/reference/migrations.md explains the stages.",
)
files = typer.Typer(no_args_is_help=True, help="Reports of migrations that lie in files.")


@app.command()
def plan(
    ctx: typer.Context,
    name: Name,
    reason: Reason,
    file: File = None,
    revision: Revision = None,
    host: Host = None,
    software: Software = False,
    to: To = None,
    source: Source = None,
    cluster: Cluster = None,
    observe: Window = None,
    ask: Ask = False,
    gate: Gate = None,
    as_json: AsJson = False,
) -> None:
    """Write a migration down and plan it; nothing is touched. Everything that stands in its way is shown at once."""
    client = begin(ctx, as_json=as_json)
    kind, spec = _asked(
        file=file, revision=revision, host=host, software=software, to=to, source=source, cluster=cluster
    )
    spec |= _options(observe, ask, gate)
    made = _create(client, {"pipeline": name, "kind": kind, "spec": spec, "reason": reason})
    show(made, as_json=as_json)
    waiting.require_unblocked(made)


def _asked(
    *,
    file: str | None,
    revision: int | None,
    host: str | None,
    software: bool,
    to: str | None,
    source: str | None,
    cluster: str | None,
) -> tuple[str, dict[str, Any]]:
    from controlplane.cli.base.errors import CommandError, ExitCode
    from controlplane.cli.base.inputs import read_text
    from controlplane.cli.migration.files import cluster_move_of

    given = [file is not None, revision is not None, host is not None, software, to is not None, cluster is not None]
    if sum(given) != 1:
        words = "Say what changes: exactly one of --file, --revision, --host, --cluster, --to and --software."
        raise CommandError(words, code="usage", exit_code=ExitCode.USAGE)
    if source is not None and to is None:
        words = "--source goes with --to: say where that source goes on. The file of --cluster names its source itself."
        raise CommandError(words, code="usage", exit_code=ExitCode.USAGE)
    if file is not None:
        return "revision", {"definition": read_text(file, most=LARGEST_FILE, what="a definition")}
    if revision is not None:
        return "revision", {"revision": revision}
    if to is not None:
        return "position", {"to": to, **({"source": source} if source is not None else {})}
    if cluster is not None:
        return "cluster", cluster_move_of(read_text(cluster, most=LARGEST_FILE, what="a migration"), cluster)
    return ("host", {"host": host}) if host is not None else ("software", {})


def _options(observe: float | None, ask: bool, gates: list[str] | None) -> dict[str, Any]:
    return {**rules(observe, ask), **({"gates": _gates(gates)} if gates else {})}


def rules(observe: float | None, ask: bool) -> dict[str, Any]:
    """How the new side is observed, where anything was said of that."""
    said: dict[str, Any] = {} if observe is None else {"window": observe}
    said |= {"then": "ask"} if ask else {}
    return {"rules": said} if said else {}


def _gates(names: list[str]) -> list[str]:
    from controlplane.cli.base.errors import CommandError, ExitCode
    from pipelines.domain.migration.steps import GATES

    wanted = [name.upper() for name in names]
    if wrong := [name for name in wanted if name not in GATES]:
        words = f"No gate stands before {', '.join(wrong)}. Gates: {', '.join(GATES)}."
        raise CommandError(words, code="usage", exit_code=ExitCode.USAGE)
    return wanted


def _create(client: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Write it down, and plan it; where the host has to count first, again until it has."""
    _, made = client.post("migrations", body)
    return _counted(client, made)


def _counted(client: Any, found: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + COUNT_S
    while _counting(found) and time.monotonic() < deadline:
        time.sleep(waiting.LOOK_S)
        found = _planned_again(client, found["id"])
    return found


def _planned_again(client: Any, migration_id: str) -> dict[str, Any]:
    found: dict[str, Any]
    _, found = client.post(f"migrations/{migration_id}/plan", {})
    return found


def _counting(found: dict[str, Any]) -> bool:
    return [each["code"] for each in (found["plan"] or {}).get("blockers", [])] == ["COUNTING"]


@app.command()
def start(
    ctx: typer.Context,
    name: Name,
    reason: Reason,
    file: File = None,
    revision: Revision = None,
    host: Host = None,
    software: Software = False,
    to: To = None,
    source: Source = None,
    cluster: Cluster = None,
    observe: Window = None,
    ask: Ask = False,
    gate: Gate = None,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Plan a migration, approve it and begin it, where nobody else has to approve."""
    client = begin(ctx, as_json=as_json)
    kind, spec = _asked(
        file=file, revision=revision, host=host, software=software, to=to, source=source, cluster=cluster
    )
    spec |= _options(observe, ask, gate)
    made = _create(client, {"pipeline": name, "kind": kind, "spec": spec, "reason": reason})
    _carry_through(client, made, wait=wait, timeout=timeout, as_json=as_json)


@app.command()
def run(
    ctx: typer.Context,
    file: Annotated[str, typer.Option("--file", "-f", help="pipeline, kind, spec and reason, as YAML or JSON.")],
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Carry out a migration that is written as a file; with --wait the exit code says how it ended.

    The file is checked first, and everything that is wrong with it is told at once. What is blocked is given up, so
    that the next call can begin.

    0: committed. 1: rolled back, aborted, or it needs attention. 4: refused, blocked, or the file is wrong. 5: not over
    in time, not approved in time, or it waits for a person at a gate. Without --wait 0: begun, or planned and waiting
    for approvals.
    """
    from controlplane.cli.base.inputs import read_text
    from controlplane.cli.migration.files import migration_of

    client = begin(ctx, as_json=as_json)
    body = migration_of(read_text(file, most=LARGEST_FILE, what="a migration"), file)
    made = _create(client, body)
    _carry_through(client, made, wait=wait, timeout=timeout, as_json=as_json)


def _carry_through(client: Any, made: dict[str, Any], *, wait: bool, timeout: float, as_json: bool) -> None:
    """Begin what was planned. A draft that nobody looks at any more would stand in the way of the next one."""
    from controlplane.cli.base import output
    from controlplane.cli.base.errors import CommandError

    if not as_json:
        show(made, as_json=False)
    if made["stage"] == "DRAFT":
        with suppress(CommandError):
            client.post(f"migrations/{made['id']}/abort", {"reason": "It is blocked."})
    waiting.require_unblocked(made, given_up=True)
    named = {"hash": made["plan_hash"]}
    if made["approvers_needed"] == 0:
        waiting.ask_for(client, made, "approve", named)
        made = waiting.ask_for(client, made, "advance", named)
    else:
        who = output.counted(made["approvers_needed"], "person has", "people have")
        begun = "it begins by itself." if wait else f"begin it: headgate migrate advance {made['id']}"
        output.note(f"{who} to approve it: headgate migrate approve {made['id']}. Then {begun}")
    if wait:
        made = waiting.follow(client, made, timeout=timeout, quiet=as_json, begin=named)
    if as_json:
        show(made, as_json=True)
    elif wait:
        say_end(made)
    else:
        output.say(_left_at(made))
    if wait:
        waiting.require_committed(made)


def _left_at(made: dict[str, Any]) -> str:
    if waiting.is_begun(made):
        return f"{made['id']}: {made['stage']}. It was begun. Watch it: headgate migrate watch {made['id']}"
    words = "It was not begun: it waits for approvals, and stays open until somebody begins it or gives it up"
    return f"{made['id']}: {made['stage']}. {words}: headgate migrate abort {made['id']}"


@app.command()
def replan(ctx: typer.Context, migration: Id, as_json: AsJson = False) -> None:
    """Plan one again that was blocked, or whose plan is stale. Another plan has to be approved anew."""
    client = begin(ctx, as_json=as_json)
    made = _counted(client, _planned_again(client, _found(client, migration)["id"]))
    show(made, as_json=as_json)
    waiting.require_unblocked(made)


@app.command()
def approve(
    ctx: typer.Context,
    migration: Id,
    named: Annotated[
        str | None, typer.Option("--hash", help="The plan that you reviewed; else the present one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Approve the plan of a migration."""
    _ask_for(ctx, migration, "approve", as_json=as_json, named=named)


@app.command()
def advance(
    ctx: typer.Context,
    migration: Id,
    named: Annotated[
        str | None, typer.Option("--hash", help="The plan that you reviewed; else the present one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Begin an approved migration, pass the gate at which it waits, commit it now, or try again what has failed."""
    _ask_for(ctx, migration, "advance", as_json=as_json, named=named)


@app.command()
def abort(ctx: typer.Context, migration: Id, reason: Reason = "", as_json: AsJson = False) -> None:
    """Give a migration up before anything has changed; close one that needs attention, and leave all as it is."""
    _ask_for(ctx, migration, "abort", as_json=as_json, reason=reason)


@app.command()
def rollback(ctx: typer.Context, migration: Id, reason: Reason = "", as_json: AsJson = False) -> None:
    """Take a migration back; `headgate migrate watch` says at what price."""
    _ask_for(ctx, migration, "rollback", as_json=as_json, reason=reason)


@app.command()
def revert(
    ctx: typer.Context,
    migration: Annotated[
        str, typer.Argument(help="Its id, or the name of a pipeline: the last committed one.", metavar="ID")
    ],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Plan the way back from a committed migration, as a migration of its own; nothing is touched."""
    client = begin(ctx, as_json=as_json)
    found = _found(client, migration, states=("COMMITTED",))
    _, made = client.post(f"migrations/{found['id']}/revert", {"reason": reason})
    made = _counted(client, made)
    show(made, as_json=as_json)
    waiting.require_unblocked(made)


def _ask_for(
    ctx: typer.Context, migration: str, action: str, *, as_json: bool, named: str | None = None, reason: str = ""
) -> None:
    client = begin(ctx, as_json=as_json)
    found = _found(client, migration)
    hashed = action in ("approve", "advance")
    body = {"hash": named or found["plan_hash"]} if hashed else {"reason": reason}
    _, made = client.post(f"migrations/{found['id']}/{action}", body)
    show(made, as_json=as_json)
    if not as_json:
        show_findings(made)


def _found(client: Any, migration: str, *, states: Sequence[str | None] = ("open",)) -> dict[str, Any]:
    """By its id, or the last one of a pipeline in the first of these states that any is in; None is every state.
    CommandError where there is none."""
    from uuid import UUID

    try:
        wanted = str(UUID(migration))
    except ValueError:
        wanted = _last_of(client, migration, states)
    found: dict[str, Any] = client.get(f"migrations/{wanted}")
    return found


def _last_of(client: Any, pipeline: str, states: Sequence[str | None]) -> str:
    from controlplane.cli.base.errors import CommandError

    for state in states:
        if rows := client.get("migrations", pipeline=pipeline, state=state)["results"]:
            return str(rows[0]["id"])
    sought = f"{states[-1].lower()} migration" if states[-1] else "migration"
    raise CommandError(
        f"{pipeline} has no {sought}",
        hint="headgate migrate list shows them all.",
        code="no_migration",
    )


@app.command("list")
def list_migrations(
    ctx: typer.Context,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Of this pipeline.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="open, final, or a stage.")] = None,
    as_json: AsJson = False,
) -> None:
    """List migrations, newest first."""
    from controlplane.cli.base import output

    rows = begin(ctx, as_json=as_json).pages("migrations", limit=200, pipeline=pipeline, state=state)
    if as_json:
        output.write_json(rows)
        return
    columns = ("id", "pipeline", "kind", "stage", "since", "by", "reason")
    table = (
        (r["id"], r["pipeline"], r["kind"], r["stage"], output.ago(r["stage_since"]), r["created_by"], r["reason"])
        for r in rows
    )
    output.table(columns, table, empty="No migration yet.")


@app.command()
def watch(
    ctx: typer.Context,
    migration: AnyId,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Show a migration: its steps, and what can be done next at what price. With --wait until it has ended."""
    client = begin(ctx, as_json=as_json)
    found = _found(client, migration, states=_OPEN_ELSE_ANY)
    if wait:
        found = waiting.follow(client, found, timeout=timeout, quiet=as_json)
    show(found, as_json=as_json)
    if wait:
        waiting.require_committed(found)
    elif not as_json:
        show_findings(found)


@app.command("report")
def write_report(
    ctx: typer.Context,
    migration: AnyId,
    html: Annotated[
        bool, typer.Option("--html", help="A page that prints well, instead of the JSON document.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the evidence of a migration; `headgate migrations verify FILE` checks the JSON document.

    The HTML page has the same content and needs nothing from elsewhere: print it, or keep it beside the document.
    """
    from controlplane.cli.base import output
    from pipelines.domain.migration import evidence, report

    client = begin(ctx, as_json=as_json)
    found = client.get(f"migrations/{_found(client, migration, states=_OPEN_ELSE_ANY)['id']}/evidence")
    output.write_text(report.html(found) if html else evidence.text(found))


@files.command()
def verify(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="The JSON document; - is standard input.", metavar="FILE")],
    as_json: AsJson = False,
) -> None:
    """Check that the evidence of a migration was not changed since it was written. No server is asked.

    0: it was not. 4: it was, or it is no evidence.
    """
    from controlplane.cli.base import output
    from controlplane.cli.base.errors import CommandError, ExitCode
    from controlplane.cli.base.inputs import read_text
    from pipelines.domain.migration import evidence

    ctx.obj.as_json = as_json
    found = evidence.verify(read_text(file, most=64 << 20, what="evidence"))
    if not found.holds:
        raise CommandError(
            f"{file} does not verify", detail=found.reason, code="evidence_differs", exit_code=ExitCode.REFUSED
        )
    if as_json:
        output.write_json({"verified": True, "sha256": found.sha256})
    else:
        output.say(f"Verified: {found.sha256}", style="green")
