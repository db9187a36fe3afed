"""Commands about webhooks. An option has the name of a secret, never its value: `headgate secrets set` stores it."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Limit, Session

PING_SECONDS = 30.0
POLL_SECONDS = 0.5
_OPEN = {"WAITING", "SENDING"}

app = Group("Send events to HTTP endpoints.")
deliveries = Group("List the deliveries of a webhook, and retry them.")
app.noun(deliveries, "deliveries")

Id = Annotated[int, typer.Argument(help="The webhook's number.", metavar="ID", min=1)]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="An event type, a prefix (migration.*), or *. Repeatable."),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", help="The name of the signing secret; a second one during a rotation."),
]
Description = Annotated[str | None, typer.Option("--description", help="The purpose of the webhook.")]


@app.verb("list")
def list_webhooks(session: Session, limit: Limit = 1000) -> None:
    """List webhooks with the state of their deliveries."""
    from controlplane.cli.base import output

    found = session.client().pages("webhooks", limit=limit)
    if session.printed(found):
        return
    columns = ("id", "enabled", "url", "events", "waiting", "last success", "failing since", "disabled because")
    output.table(columns, map(_row, found), empty="No webhooks. Add one: headgate webhooks add URL")


def _row(webhook: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    events, failing = ", ".join(webhook["events"]), webhook["failing_since"]
    health = (webhook["waiting"], ago(webhook["last_success_at"]), ago(failing) if failing else "")
    return str(webhook["id"]), webhook["enabled"], webhook["url"], events, *health, webhook["disabled_reason"]


@app.verb()
def add(
    session: Session,
    url: Annotated[str, typer.Argument(help="The endpoint that receives the messages.", metavar="URL")],
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add it disabled.")] = False,
) -> None:
    """Add a webhook. It receives new events: all of them, or those of --event."""
    body = {"url": url, "events": event or ["*"], **_changes(None, secret or [], description), "enabled": not disabled}
    _, made = session.client().post("webhooks", body)
    _print(session, made)


@app.verb()
def update(
    session: Session,
    webhook: Id,
    url: Annotated[str | None, typer.Option("--url", help="The new endpoint.")] = None,
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
) -> None:
    """Change a webhook. Options that are not given keep their values; events and secrets replace all previous ones."""
    body = _changes(event, secret, description) | ({} if url is None else {"url": url})
    if not body:
        raise CommandError.of_usage("Give at least one option to change", hint="--help lists them.")
    _print(session, session.client().patch(f"webhooks/{webhook}", body))


@app.verb()
def enable(session: Session, webhook: Id) -> None:
    """Enable a webhook. It receives new events."""
    _print(session, session.client().patch(f"webhooks/{webhook}", {"enabled": True}))


@app.verb()
def disable(session: Session, webhook: Id) -> None:
    """Disable a webhook. Its waiting messages are cancelled."""
    _print(session, session.client().patch(f"webhooks/{webhook}", {"enabled": False}))


@app.verb()
def remove(session: Session, webhook: Id) -> None:
    """Remove a webhook with its deliveries."""
    from controlplane.cli.base import output

    session.client().delete(f"webhooks/{webhook}")
    if not session.printed({"id": webhook, "result": "removed"}):
        output.print_line(f"Webhook {webhook}: removed")


@app.verb()
def ping(session: Session, webhook: Id) -> None:
    """Send the event webhook.ping once, and wait up to 30 s for the result."""
    from controlplane.cli.base import output

    client = session.client()
    _, delivery = client.post(f"webhooks/{webhook}/ping", {})
    deadline = time.monotonic() + PING_SECONDS
    while delivery["state"] in _OPEN and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        delivery = client.get(f"webhooks/{webhook}/deliveries/{delivery['id']}")
    if not session.printed(delivery):
        output.print_line(_outcome(delivery))
    if delivery["state"] in _OPEN:
        raise typer.Exit(ExitCode.TIMED_OUT)
    if delivery["state"] != "DELIVERED":
        raise typer.Exit(ExitCode.FAILED)


def _outcome(delivery: dict[str, Any]) -> str:
    if delivery["state"] == "DELIVERED":
        return f"Delivered as {delivery['message_id']}; the endpoint answered {delivery['response_status']}."
    if delivery["state"] == "FAILED":
        return f"Not delivered: {delivery['last_error']}"
    return "No worker has sent it yet. Follow it: headgate webhooks deliveries list ID"


@deliveries.verb("list")
def list_deliveries(
    session: Session,
    webhook: Id,
    state: Annotated[str | None, typer.Option("--state", help="waiting, sending, delivered or failed.")] = None,
    limit: Limit = 50,
) -> None:
    """List the deliveries of a webhook, newest first."""
    from controlplane.cli.base import output

    client = session.client()
    found = client.pages(f"webhooks/{webhook}/deliveries", limit=limit, state=state and state.upper())
    if session.printed(found):
        return
    columns = ("id", "state", "type", "event", "attempts", "answer", "last attempt", "error")
    output.table(columns, map(_delivery_row, found), empty="No deliveries.")


def _delivery_row(delivery: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    last, status = ago(delivery["last_attempt_at"]), str(delivery["response_status"] or "")
    what = (delivery["type"], str(delivery["event"]), delivery["attempts"], status, last, delivery["last_error"])
    return str(delivery["id"]), delivery["state"], *what


@deliveries.verb()
def retry(
    session: Session,
    webhook: Id,
    delivery: Annotated[int, typer.Argument(help="The delivery's number.", metavar="DELIVERY", min=1)],
) -> None:
    """Send a message again, in any state, with the same webhook-id."""
    from controlplane.cli.base import output

    _, again = session.client().post(f"webhooks/{webhook}/deliveries/{delivery}/retry", {})
    if not session.printed(again):
        output.print_line(f"{again['message_id']}: queued again")


def _changes(events: list[str] | None, secrets: list[str] | None, description: str | None) -> dict[str, Any]:
    """What is given, as the API takes it."""
    references = None if secrets is None else [_reference(each) for each in secrets]
    given = {"events": events or None, "secrets": references, "description": description}
    return {name: value for name, value in given.items() if value is not None}


def _reference(name: str) -> str:
    return name if name.startswith("${") else f"${{secret:{name}}}"


def _print(session: Session, webhook: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(webhook):
        return
    state = "enabled" if webhook["enabled"] else "disabled"
    output.print_line(f"Webhook {webhook['id']} ({state}): {', '.join(webhook['events'])} to {webhook['url']}")
