"""Commands about migrations: a pipeline that is not stopped is changed in stages, and can go back."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Any

import typer

from controlplane.cli.session import AsJson, Name, begin

FINAL = {"COMMITTED", "ROLLED_BACK", "ABORTED"}
LOOK_S = 0.5
DEFAULT_TIMEOUT_S = 3600.0
LARGEST_FILE = 4 << 20
COUNT_S = 60.0

Id = Annotated[
    str, typer.Argument(help="The migration's id, or the name of a pipeline with an open one.", metavar="ID")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit and the report.")]
File = Annotated[
    str | None, typer.Option("--file", "-f", help="The new definition, YAML or JSON; - is standard input.")
]
Host = Annotated[str | None, typer.Option("--host", help="Move it to this host.")]
Software = Annotated[bool, typer.Option("--software", help="Run it with the software that is installed now.")]
To = Annotated[str | None, typer.Option("--to", help="Go on elsewhere; the forms of `headgate positions plan`.")]
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
    no_args_is_help=True, help="Change a running pipeline in stages: pause, prove, change, verify, go back."
)
files = typer.Typer(no_args_is_help=True, help="Reports of migrations.")


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
    cluster: Cluster = None,
    observe: Window = None,
    ask: Ask = False,
    gate: Gate = None,
    as_json: AsJson = False,
) -> None:
    """Write a migration down and plan it; nothing is touched. Everything that stands in its way is shown at once."""
    client = begin(ctx, as_json=as_json)
    kind, spec = _asked(file=file, revision=revision, host=host, software=software, to=to, cluster=cluster)
    spec |= _options(observe, ask, gate)
    made = _create(client, {"pipeline": name, "kind": kind, "spec": spec, "reason": reason})
    _show(made, as_json=as_json)
    _require_unblocked(made, kept=True)


def _asked(
    *, file: str | None, revision: int | None, host: str | None, software: bool, to: str | None, cluster: str | None
) -> tuple[str, dict[str, Any]]:
    from controlplane.cli.errors import CommandError, ExitCode
    from controlplane.cli.inputs import read_text

    given = [file is not None, revision is not None, host is not None, software, to is not None, cluster is not None]
    if sum(given) != 1:
        words = "Say what changes: exactly one of --file, --revision, --host, --cluster, --to and --software."
        raise CommandError(words, code="usage", exit_code=ExitCode.USAGE)
    if file is not None:
        return "revision", {"definition": read_text(file, most=LARGEST_FILE, what="a definition")}
    if revision is not None:
        return "revision", {"revision": revision}
    if to is not None:
        return "position", {"to": to}
    if cluster is not None:
        return "cluster", _read_yaml(cluster, "source or sink, to, and positions")
    return ("host", {"host": host}) if host is not None else ("software", {})


def _options(observe: float | None, ask: bool, gates: list[str] | None) -> dict[str, Any]:
    rules: dict[str, Any] = {} if observe is None else {"window": observe}
    rules |= {"then": "ask"} if ask else {}
    return {**({"rules": rules} if rules else {}), **({"gates": [each.upper() for each in gates]} if gates else {})}


def _create(client: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Write it down, and plan it; where the host has to count first, again until it has."""
    found: dict[str, Any]
    _, found = client.post("migrations", body)
    deadline = time.monotonic() + COUNT_S
    while _counting(found) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        _, found = client.post(f"migrations/{found['id']}/plan", {})
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
    kind, spec = _asked(file=file, revision=revision, host=host, software=software, to=to, cluster=cluster)
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

    0: committed. 1: rolled back, aborted, or it needs attention. 4: refused, or blocked. 5: not over in time.
    """
    client = begin(ctx, as_json=as_json)
    made = _create(client, _read_yaml(file, "pipeline, kind, spec and reason"))
    _carry_through(client, made, wait=wait, timeout=timeout, as_json=as_json)


def _read_yaml(file: str, what: str) -> dict[str, Any]:
    """An object with these keys."""
    from controlplane.cli.errors import CommandError, ExitCode
    from controlplane.cli.inputs import read_text
    from pipelines.domain import text

    loaded = text.load(read_text(file, most=LARGEST_FILE, what="a migration"))
    if loaded.findings or not isinstance(loaded.data, dict):
        found = [each.model_dump(mode="json", exclude_none=True) for each in loaded.findings]
        words = f"{file} is no migration: write {what}."
        raise CommandError(words, code="not_a_migration", exit_code=ExitCode.REFUSED, findings=found)
    return loaded.data


def _carry_through(client: Any, made: dict[str, Any], *, wait: bool, timeout: float, as_json: bool) -> None:
    if not as_json:
        _show(made, as_json=False)
    if made["stage"] == "DRAFT":
        _give_up(client, made)
    _require_unblocked(made, kept=False)
    address, named = f"migrations/{made['id']}", {"hash": made["plan_hash"]}
    if made["approvers_needed"] == 0:
        client.post(f"{address}/approve", named)
        _, made = client.post(f"{address}/advance", named)
    else:
        from controlplane.cli import output

        who = "1 person has" if made["approvers_needed"] == 1 else f"{made['approvers_needed']} people have"
        output.note(f"{who} to approve it: headgate migrate approve {made['id']}")
    if wait:
        made = _follow(client, made["id"], timeout=timeout, quiet=as_json, begin=named)
    if as_json:
        _show(made, as_json=True)
    if wait:
        require_committed(made)


def _give_up(client: Any, made: dict[str, Any]) -> None:
    """A draft that nobody looks at any more would stand in the way of the next one."""
    from controlplane.cli.errors import CommandError

    with suppress(CommandError):
        client.post(f"migrations/{made['id']}/abort", {"reason": "It is blocked."})


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


def _ask_for(
    ctx: typer.Context, migration: str, action: str, *, as_json: bool, named: str | None = None, reason: str = ""
) -> None:
    client = begin(ctx, as_json=as_json)
    found = _found(client, migration)
    hashed = action in ("approve", "advance")
    body = {"hash": named or found["plan_hash"]} if hashed else {"reason": reason}
    _, made = client.post(f"migrations/{found['id']}/{action}", body)
    _show(made, as_json=as_json)


def _found(client: Any, migration: str) -> dict[str, Any]:
    """By its id, or the open one of a pipeline. CommandError where there is none."""
    from uuid import UUID

    try:
        wanted = str(UUID(migration))
    except ValueError:
        wanted = _open_of(client, migration)
    found: dict[str, Any] = client.get(f"migrations/{wanted}")
    return found


def _open_of(client: Any, pipeline: str) -> str:
    from controlplane.cli.errors import CommandError

    rows = client.get("migrations", pipeline=pipeline, state="open")["results"]
    if not rows:
        raise CommandError(
            f"{pipeline} has no open migration", hint="headgate migrate list shows them all.", code="no_migration"
        )
    return str(rows[0]["id"])


@app.command("list")
def list_migrations(
    ctx: typer.Context,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Of this pipeline.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="open, final, or a stage.")] = None,
    as_json: AsJson = False,
) -> None:
    """List migrations, newest first."""
    from controlplane.cli import output

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
    migration: Id,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Show a migration: its steps, and what can be done next at what price. With --wait until it has ended."""
    client = begin(ctx, as_json=as_json)
    found = _found(client, migration)
    if wait:
        found = _follow(client, found["id"], timeout=timeout, quiet=as_json)
    _show(found, as_json=as_json)
    if wait:
        require_committed(found)


@app.command("report")
def write_report(
    ctx: typer.Context,
    migration: Id,
    html: Annotated[
        bool, typer.Option("--html", help="A page that prints well, instead of the JSON document.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the evidence of a migration; `headgate migrations verify FILE` checks the JSON document."""
    import json

    from controlplane.cli import output
    from pipelines.domain.migrating import report

    client = begin(ctx, as_json=as_json)
    found = client.get(f"migrations/{_found(client, migration)['id']}/evidence")
    output.write_text(report.html(found) if html else json.dumps(found, indent=2, ensure_ascii=False) + "\n")


@files.command()
def verify(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="The JSON document; - is standard input.", metavar="FILE")],
    as_json: AsJson = False,
) -> None:
    """Check that the evidence of a migration was not changed since it was written. No server is asked."""
    from controlplane.cli import output
    from controlplane.cli.errors import CommandError, ExitCode
    from controlplane.cli.inputs import read_text
    from pipelines.domain.migrating import evidence

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


def _follow(
    client: Any, migration_id: str, *, timeout: float, quiet: bool, begin: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Look until it has ended, waits for a person, or needs attention. CommandError after `timeout` seconds. `begin`:
    the plan that is begun as soon as others have approved it."""
    from controlplane.cli import output
    from controlplane.cli.errors import CommandError, ExitCode

    deadline, told = time.monotonic() + timeout, ""
    while True:
        try:
            found: dict[str, Any] = client.get(f"migrations/{migration_id}")
        except CommandError as error:
            if not error.may_pass:
                raise
            found = {"stage": "", "message": error.title, "waits_for": None, "id": migration_id}
        line = f"{found['stage']}: {found['message']}"
        if line != told and not quiet:
            output.note(line)
        told = line
        if found["stage"] in FINAL | {"NEEDS_ATTENTION"} or found["waits_for"]:
            return found
        if begin is not None and found["stage"] == "APPROVED":
            client.post(f"migrations/{migration_id}/advance", begin)
            begin = None
        if time.monotonic() > deadline:
            raise CommandError(
                title=f"The migration has not ended after {timeout:g} s",
                detail=f"It goes on without you: headgate migrate watch {migration_id}",
                code="timed_out", exit_code=ExitCode.TIMED_OUT,
            )  # fmt: skip
        time.sleep(LOOK_S)


def require_committed(found: dict[str, Any]) -> None:
    """CommandError unless it was committed."""
    from controlplane.cli.errors import CommandError, ExitCode

    if found["stage"] == "COMMITTED":
        return
    waits = found.get("waits_for")
    raise CommandError(
        title=f"The migration of {found['pipeline']} is {found['stage']}",
        detail=f"It waits for a person before {waits}." if waits else found["message"],
        hint=_what_next(found),
        code="migration_waits" if waits else f"migration_{found['stage'].lower()}",
        exit_code=ExitCode.TIMED_OUT if waits else ExitCode.FAILED,
        findings=found.get("findings") or [],
    )


def _what_next(found: dict[str, Any]) -> str:
    if found.get("waits_for"):
        return f"headgate migrate advance {found['id']}"
    shows = "watch" if found["stage"] == "NEEDS_ATTENTION" else "report"
    return f"headgate migrate {shows} {found['id']}"


def _require_unblocked(made: dict[str, Any], *, kept: bool) -> None:
    from controlplane.cli.errors import CommandError, ExitCode

    if made["stage"] != "DRAFT":
        return
    draft = f"Give it up (headgate migrate abort {made['id']}), or plan it again when the findings are gone."
    raise CommandError(
        title="The migration is blocked",
        detail="Nothing was touched.",
        hint=draft if kept else "Ask for it again when the findings are gone.",
        code="migration_blocked", exit_code=ExitCode.REFUSED, findings=(made["plan"] or {}).get("blockers", []),
    )  # fmt: skip


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    from controlplane.cli import output

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


def _show_plan(found: dict[str, Any]) -> None:
    from controlplane.cli import output

    made = found["plan"]
    if not made:
        return
    rows = ((c["change"]["path"], c["change"]["op"], c["consequence"], c["reason"]) for c in made["changes"])
    output.table(("path", "what", "consequence", "why"), rows, empty="No component changes.")
    steps = ((s["name"], s["stage"], f"{s['seconds']:g} s", s["sentence"]) for s in made["steps"])
    output.table(("step", "stage", "at most", "what"), steps, empty="")
    _show_clusters(made)
    pause = made["pause"]
    output.say(
        f"Consequence: {made['consequence']}. Expected pause: {pause['expected']:g} s (at most {pause['most']:g} s). "
        f"{made['skip']} records are skipped, {made['replay']} come again. Plan {found['plan_hash']}"
    )
    for warning in made["warnings"]:
        output.say(f"{warning['code']}: {warning['message']}")


def _show_clusters(made: dict[str, Any]) -> None:
    """Where a source goes on in another cluster, or where a sink's topics end there."""
    from controlplane.cli import output

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


def evacuate(
    ctx: typer.Context,
    host: Annotated[str, typer.Argument(help="The host to be emptied.", metavar="HOST")],
    reason: Reason,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=50, help="How many pipelines at once.")] = 1,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Do not stop at the first one that fails.")] = False,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Move every running pipeline of a host elsewhere, by migrations. What cannot move stays, works, and is named."""
    from controlplane.cli import output

    client = begin(ctx, as_json=as_json)
    body = {"host": host, "at_once": at_once, "go_on": keep_going, "reason": reason}
    _, made = client.post("evacuations", body)
    if wait:
        made = _until_empty(client, made, timeout=timeout, quiet=as_json)
    if as_json:
        output.write_json(made)
    else:
        _show_evacuation(made)
    if wait:
        _require_empty(made, timeout)


def _until_empty(client: Any, made: dict[str, Any], *, timeout: float, quiet: bool) -> dict[str, Any]:
    """Look until it is over, or `timeout` seconds have passed; a server that is away is asked again."""
    from controlplane.cli import output
    from controlplane.cli.errors import CommandError

    deadline, told = time.monotonic() + timeout, ""
    while made["ended_at"] is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        try:
            made = client.get(f"evacuations/{made['id']}")
            line = _how_far(made)
        except CommandError as error:
            if not error.may_pass:
                raise
            line = error.title
        if line != told and not quiet:
            output.note(line)
        told = line
    return made


def _how_far(made: dict[str, Any]) -> str:
    moves = [f"{each['pipeline']} {each['stage']}" for each in made["migrations"] if each["open"]]
    moved = sum(each["stage"] == "COMMITTED" for each in made["migrations"])
    return f"{moved} moved, {len(made['left'])} stay, {len(made['waiting'])} wait. {', '.join(moves)}".rstrip()


def _show_evacuation(made: dict[str, Any]) -> None:
    from controlplane.cli import output

    output.say(
        f"{made['host']} is being emptied." if made["ended_at"] is None else f"{made['host']}: {made['outcome']}."
    )
    rows = [(each["pipeline"], each["stage"], each["new_host"], each["message"]) for each in made["migrations"]]
    rows += [(name, "stays", made["host"], why) for name, why in made["left"].items()]
    rows += [(name, "waits", None, "") for name in made["waiting"]]
    output.table(("pipeline", "stage", "host", "what"), rows, empty="No pipeline runs there.")


def _require_empty(made: dict[str, Any], timeout: float) -> None:
    from controlplane.cli.errors import CommandError, ExitCode

    if made["ended_at"] is None:
        words = f"{made['host']} is not empty after {timeout:g} s; it goes on without you"
        raise CommandError(words, code="timed_out", exit_code=ExitCode.TIMED_OUT)
    if made["left"]:
        raise CommandError(f"{len(made['left'])} pipelines stay on {made['host']}", code="not_empty")
    if made["outcome"] != "done":
        raise CommandError(f"The evacuation of {made['host']} was {made['outcome']}", code="not_empty")
