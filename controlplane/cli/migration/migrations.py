"""Commands about migrations: a running pipeline is changed in stages, and the change can be rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Name, Session
from controlplane.cli.migration import changes, waiting
from controlplane.cli.migration.changes import Change, Observation, Shadow
from controlplane.cli.migration.output import print_end, print_findings, print_migration, print_timeline

if TYPE_CHECKING:
    from controlplane.cli.base.client import Client

DEFAULT_TIMEOUT_S = 3600.0
_OPEN_ELSE_ANY = ("open", None)

Id = Annotated[
    str, typer.Argument(help="The migration's id, or the name of a pipeline with an open migration.", metavar="ID")
]
AnyId = Annotated[
    str,
    typer.Argument(help="The migration's id, or a pipeline's name: its open or else latest migration.", metavar="ID"),
]
Reason = Annotated[str, typer.Option("--reason", help="The reason, recorded in the audit log and the report.")]
Digest = Annotated[
    str | None, typer.Option("--digest", help="The digest of the plan that you reviewed. Default: the current plan's.")
]
Acknowledge = Annotated[
    int | None,
    typer.Option(
        "--acknowledge",
        min=1,
        metavar="N",
        help="The number of records that the plan predicts not to be delivered any more, where it asks for it.",
    ),
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, max=604_800, help="Limit of waiting in seconds.")]

app = Group(
    "Change a running pipeline in stages: plan, pause, apply, verify, commit; or roll back. ID is a migration's id, or "
    "its pipeline's name."
)


@dataclass(frozen=True)
class Waiting:
    """Whether to wait for the end of a migration, and for how long."""

    wait: Annotated[bool, typer.Option("--wait", help="Wait until it ends, and show its stages.")] = False
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=604_800, help="Limit of --wait in seconds.")] = (
        DEFAULT_TIMEOUT_S
    )


@app.verb()
def plan(
    session: Session, name: Name, reason: Reason, change: Change, observation: Observation, shadow: Shadow
) -> None:
    """Create and plan a migration: its steps, its expected impact, and all blockers. Changes nothing."""
    made = _create(session, name, reason, change, observation, shadow)
    _print(session, made)
    waiting.require_unblocked(made)


@app.verb()
def start(
    session: Session,
    name: Name,
    reason: Reason,
    change: Change,
    observation: Observation,
    shadow: Shadow,
    wait_for: Waiting,
    acknowledge: Acknowledge = None,
) -> None:
    """Create, plan, approve and start a migration. Where other users must approve it, it starts after that."""
    _start(session, _create(session, name, reason, change, observation, shadow), wait_for, acknowledge)


def _run_tests(session: Session, client: Client, body: dict[str, Any]) -> None:
    """Those of a definition that is sent along. CommandError where one fails; one that is not valid has findings in the
    plan."""
    from controlplane.cli.base.testing import check
    from pipelines.domain.definitions.checks.validate import validate_data, validate_text

    sent = body["spec"].get("definition")
    found = validate_text(sent) if isinstance(sent, str) else validate_data(sent)
    if found.definition:
        check(session, client, body["pipeline"], sent, found.definition, None)


def _create(
    session: Session, name: str, reason: str, change: Change, observation: Observation, shadow: Shadow
) -> dict[str, Any]:
    client = session.client()
    kind, spec = change.kind_and_spec()
    spec |= observation.spec() | shadow.spec(kind)
    body = {"pipeline": name, "kind": kind, "spec": spec, "reason": reason}
    _run_tests(session, client, body)
    return changes.create(client, body)


@app.verb()
def apply(
    session: Session,
    file: Annotated[
        str,
        typer.Option("--file", "-f", help="pipeline, kind, spec and reason in YAML or JSON; - for standard input."),
    ],
    wait_for: Waiting,
    acknowledge: Acknowledge = None,
) -> None:
    """Start the migration that a file describes. With --wait the exit code is its result.

    All findings of the file are reported before the server is contacted. A blocked migration is cancelled, so that
    the next call can start.

    0: committed. 1: rolled back, aborted, or it needs attention. 4: refused, blocked, or the file has findings. 5: not
    ended or not approved in time, or it waits at a gate. Without --wait 0: started, or planned and awaiting approval.
    """
    from controlplane.cli.base.inputs import read_text
    from controlplane.cli.migration.files import migration_of

    client = session.client()
    body = migration_of(read_text(file, most=changes.LARGEST_FILE, what="a migration"), file)
    _run_tests(session, client, body)
    _start(session, changes.create(client, body), wait_for, acknowledge)


def _start(session: Session, made: dict[str, Any], wait_for: Waiting, acknowledge: int | None) -> None:
    """Start what is planned. A blocked draft is cancelled, since it would block the next migration."""
    client = session.client()
    if not session.for_programs:
        print_migration(made)
    if made["stage"] == "DRAFT":
        with suppress(CommandError):
            client.post(f"migrations/{made['id']}/abort", {"reason": "It is blocked."})
    waiting.require_unblocked(made, cancelled=True)
    plan = {"hash": made["plan_hash"]}
    start = plan | ({"acknowledge": acknowledge} if acknowledge is not None else {})
    if made["approvers_needed"] == 0:
        waiting.request(client, made, "approve", plan)
        made = waiting.request(client, made, "advance", start)
    else:
        _print_approvals(made, wait=wait_for.wait)
    if wait_for.wait:
        made = waiting.follow(client, made, timeout=wait_for.timeout, quiet=session.for_programs, start=start)
    if not session.printed(made):
        print_end(made, waited=wait_for.wait)
    if wait_for.wait:
        waiting.require_committed(made)


def _print_approvals(made: dict[str, Any], *, wait: bool) -> None:
    from controlplane.cli.base import output

    who = output.counted(made["approvers_needed"], "other user", "other users")
    then = "Then it starts automatically." if wait else f"Then start it: headgate migrations advance {made['id']}"
    output.note(f"Awaiting approval by {who}: headgate migrations approve {made['id']}. {then}")


@app.verb("list")
def list_migrations(
    session: Session,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="open, final, or a stage.")] = None,
) -> None:
    """List migrations, newest first."""
    from controlplane.cli.base import output

    rows = session.client().pages("migrations", limit=200, pipeline=pipeline, state=state)
    if session.printed(rows):
        return
    columns = ("id", "pipeline", "kind", "stage", "since", "by", "reason")
    table = (
        (r["id"], r["pipeline"], r["kind"], r["stage"], output.ago(r["stage_since"]), r["created_by"], r["reason"])
        for r in rows
    )
    empty = output.none("migrations", (pipeline, state), "Plan one: headgate migrations plan NAME")
    output.table(columns, table, empty=empty)


@app.verb()
def show(session: Session, migration: AnyId) -> None:
    """Show a migration: its plan or its steps, and the possible actions with their expected impact."""
    _print(session, find(session.client(), migration, states=_OPEN_ELSE_ANY))


@app.verb()
def watch(session: Session, migration: AnyId, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Follow a migration until it ends or waits for you. The exit code is its result, as of `apply --wait`."""
    client = session.client()
    found = find(client, migration, states=_OPEN_ELSE_ANY)
    found = waiting.follow(client, found, timeout=timeout, quiet=session.for_programs)
    if not session.printed(found):
        print_migration(found)
    waiting.require_committed(found)


@app.verb()
def replan(session: Session, migration: Id) -> None:
    """Plan a migration again after its blockers are resolved, or after its plan became stale.

    A changed plan must be approved again.
    """
    client = session.client()
    made = changes.replan(client, find(client, migration)["id"])
    _print(session, made)
    waiting.require_unblocked(made)


@app.verb()
def approve(session: Session, migration: Id, digest: Digest = None) -> None:
    """Approve the plan of a migration."""
    _request(session, migration, "approve", lambda found: {"hash": digest or found["plan_hash"]})


@app.verb()
def advance(session: Session, migration: Id, digest: Digest = None, acknowledge: Acknowledge = None) -> None:
    """Start an approved migration, pass the gate at which it waits, commit it now, or retry a failed step."""
    number = {"acknowledge": acknowledge} if acknowledge is not None else {}
    _request(session, migration, "advance", lambda found: {"hash": digest or found["plan_hash"], **number})


@app.verb()
def cancel(session: Session, migration: Id, reason: Reason = "") -> None:
    """Cancel a migration before it changes anything, or close one that needs attention as it is."""
    _request(session, migration, "abort", lambda _: {"reason": reason})


@app.verb()
def rollback(session: Session, migration: Id, reason: Reason = "") -> None:
    """Roll back a migration before its commit. `headgate migrations show` shows the expected impact."""
    _request(session, migration, "rollback", lambda _: {"reason": reason})


@app.verb()
def revert(
    session: Session,
    migration: Annotated[
        str, typer.Argument(help="The migration's id, or a pipeline's name: its last committed one.", metavar="ID")
    ],
    reason: Reason = "",
) -> None:
    """Plan a new migration that reverts a committed one. Changes nothing."""
    client = session.client()
    found = find(client, migration, states=("COMMITTED",))
    made = changes.counted(client, client.post(f"migrations/{found['id']}/revert", {"reason": reason})[1])
    _print(session, made)
    waiting.require_unblocked(made)


@app.verb()
def timeline(session: Session, migration: AnyId) -> None:
    """Show the timeline of a migration: its stages, gates and pauses, and when each agent delivered."""
    client = session.client()
    found = client.get(f"migrations/{find(client, migration, states=_OPEN_ELSE_ANY)['id']}/timeline")
    if not session.printed(found):
        print_timeline(found["timeline"])


@app.text_verb()
def report(
    session: Session,
    migration: AnyId,
    html: Annotated[
        bool, typer.Option("--html", help="Print a self-contained HTML page instead of the JSON document.")
    ] = False,
) -> None:
    """Print the report of a migration as a sealed JSON document; `headgate migrations verify` checks it."""
    from controlplane.cli.base import output
    from pipelines.domain.migration import evidence
    from pipelines.domain.migration import report as pages

    client = session.client()
    found = client.get(f"migrations/{find(client, migration, states=_OPEN_ELSE_ANY)['id']}/evidence")
    output.write_text(pages.html(found) if html else evidence.text(found))


@app.verb()
def verify(
    session: Session,
    file: Annotated[str, typer.Argument(help="The JSON document; - for standard input.", metavar="FILE")],
    public_key: Annotated[
        str | None,
        typer.Option("--public-key", metavar="KEY", help="Check the signature, too. GET /api/v1/signing-key has it."),
    ] = None,
) -> None:
    """Check that the report of a migration is unchanged. Needs no server.

    Without --public-key only the digest is checked, which a user who changes the report can compute again.
    0: unchanged. 4: changed, or not a report.
    """
    from controlplane.cli.base import output
    from controlplane.cli.base.errors import ExitCode
    from controlplane.cli.base.inputs import read_text
    from pipelines.domain.migration import evidence
    from pipelines.foundation.signing import NotAKey, PublicKey

    key = PublicKey(public_key) if public_key is not None else None
    try:
        found = evidence.verify(read_text(file, most=64 << 20, what="a report"), key)
    except NotAKey as error:
        raise CommandError.of_usage(str(error)) from error
    if not found.holds:
        raise CommandError(
            f"{file} does not verify", detail=found.reason, code="evidence_differs", exit_code=ExitCode.REFUSED
        )
    if session.printed({"verified": True, "sha256": found.sha256, "signed_by": found.signed_by or None}):
        return
    output.print_line(f"Verified: {found.sha256}", style="green")
    by = f"Signed by {found.signed_by}." if found.signed_by else "Signature not checked: give --public-key."
    output.print_line(by)


def _print(session: Session, found: dict[str, Any]) -> None:
    if not session.printed(found):
        print_migration(found)
        print_findings(found)


def _request(session: Session, migration: str, action: str, body: Any) -> None:
    client = session.client()
    found = find(client, migration)
    _, made = client.post(f"migrations/{found['id']}/{action}", body(found))
    _print(session, made)


def find(client: Any, migration: str, *, states: Sequence[str | None] = ("open",)) -> dict[str, Any]:
    """The migration of this id, or the last one of a pipeline in the first of these states that has any; None is every
    state. CommandError where there is none."""
    from uuid import UUID

    try:
        wanted = str(UUID(migration))
    except ValueError:
        wanted = _last_of(client, migration, states)
    found: dict[str, Any] = client.get(f"migrations/{wanted}")
    return found


def _last_of(client: Any, pipeline: str, states: Sequence[str | None]) -> str:
    for state in states:
        if rows := client.get("migrations", pipeline=pipeline, state=state)["results"]:
            return str(rows[0]["id"])
    wanted = f"{states[-1].lower()} migration" if states[-1] else "migration"
    raise CommandError(
        f"{pipeline} has no {wanted}", hint="`headgate migrations list` lists all of them.", code="no_migration"
    )
