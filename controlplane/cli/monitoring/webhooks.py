"""Commands of webhooks. A secret is named, never given: `headgate secrets set` stores it."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson, Limit, begin

PING_SECONDS = 30.0
LOOK_SECONDS = 0.5
_OPEN = {"WAITING", "SENDING"}

app = typer.Typer(
    help="Send events to endpoints of others: list, add, update, remove, try out, and see what became of messages.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Id = Annotated[int, typer.Argument(help="The webhook's number.", metavar="ID", min=1)]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="A type of events, the beginning of types (migration.*), or *; may be repeated."),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", help="The name of the secret that signs; a second one while it is exchanged."),
]
Description = Annotated[str | None, typer.Option("--description", help="What it is for.")]


@app.command("list")
def list_webhooks(ctx: typer.Context, limit: Limit = 1000, as_json: AsJson = False) -> None:
    """List webhooks with how they are doing."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("webhooks", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "on", "address", "events", "waiting", "last success", "failing", "why off")
    output.table(columns, map(_row, found), empty="No webhooks. `headgate webhooks add URL` adds one.")


def _row(webhook: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    events, failing = ", ".join(webhook["events"]), webhook["failing_since"]
    health = (webhook["waiting"], ago(webhook["last_success_at"]), ago(failing) if failing else "")
    return str(webhook["id"]), webhook["enabled"], webhook["url"], events, *health, webhook["disabled_reason"]


@app.command()
def add(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="The address that messages are sent to.", metavar="URL")],
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Send nothing yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send what happens from now on to an address; all events, unless --event names some."""
    body = {"url": url, "events": event or ["*"], **_changes(None, secret or [], description), "enabled": not disabled}
    _, made = begin(ctx, as_json=as_json).post("webhooks", body)
    _show(made, as_json=as_json)


@app.command()
def update(
    ctx: typer.Context,
    webhook: Id,
    url: Annotated[str | None, typer.Option("--url", help="Another address.")] = None,
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Change what is given; what is left out stays. Events and secrets replace all that were there."""
    body = _changes(event, secret, description) | ({} if url is None else {"url": url})
    if not body:
        raise CommandError("Say what to change", hint="--help has it.", code="usage", exit_code=ExitCode.USAGE)
    _show(begin(ctx, as_json=as_json).patch(f"webhooks/{webhook}", body), as_json=as_json)


@app.command()
def enable(ctx: typer.Context, webhook: Id, as_json: AsJson = False) -> None:
    """Switch a webhook on; it gets what happens from now on."""
    _show(begin(ctx, as_json=as_json).patch(f"webhooks/{webhook}", {"enabled": True}), as_json=as_json)


@app.command()
def disable(ctx: typer.Context, webhook: Id, as_json: AsJson = False) -> None:
    """Switch a webhook off; what waits for it is given up."""
    _show(begin(ctx, as_json=as_json).patch(f"webhooks/{webhook}", {"enabled": False}), as_json=as_json)


@app.command()
def remove(ctx: typer.Context, webhook: Id, as_json: AsJson = False) -> None:
    """Remove a webhook with its deliveries."""
    from controlplane.cli.base import output

    begin(ctx, as_json=as_json).delete(f"webhooks/{webhook}")
    output.write_json({"id": webhook, "result": "removed"}) if as_json else output.say(f"Webhook {webhook}: removed")


@app.command()
def ping(ctx: typer.Context, webhook: Id, as_json: AsJson = False) -> None:
    """Send webhook.ping once, and wait up to 30 seconds for what comes of it."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    _, delivery = client.post(f"webhooks/{webhook}/ping", {})
    deadline = time.monotonic() + PING_SECONDS
    while delivery["state"] in _OPEN and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        delivery = client.get(f"webhooks/{webhook}/deliveries/{delivery['id']}")
    output.write_json(delivery) if as_json else output.say(_outcome(delivery))
    if delivery["state"] in _OPEN:
        raise typer.Exit(ExitCode.TIMED_OUT)
    if delivery["state"] != "DELIVERED":
        raise typer.Exit(ExitCode.FAILED)


def _outcome(delivery: dict[str, Any]) -> str:
    if delivery["state"] == "DELIVERED":
        return f"Delivered as {delivery['message_id']}; it answered {delivery['response_status']}."
    if delivery["state"] == "FAILED":
        return f"Not delivered: {delivery['last_error']}"
    return "No worker has sent it yet; `headgate webhooks deliveries` shows what becomes of it."


@app.command()
def deliveries(
    ctx: typer.Context,
    webhook: Id,
    state: Annotated[
        str | None, typer.Option("--state", help="Only these: waiting, sending, delivered or failed.")
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List messages to a webhook, newest first."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    found = client.pages(f"webhooks/{webhook}/deliveries", limit=limit, state=state and state.upper())
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "state", "type", "event", "attempts", "answer", "last attempt", "why")
    output.table(columns, map(_delivery_row, found), empty="No deliveries.")


def _delivery_row(delivery: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    last, status = ago(delivery["last_attempt_at"]), str(delivery["response_status"] or "")
    what = (delivery["type"], str(delivery["event"]), delivery["attempts"], status, last, delivery["last_error"])
    return str(delivery["id"]), delivery["state"], *what


@app.command()
def retry(
    ctx: typer.Context,
    webhook: Id,
    delivery: Annotated[int, typer.Argument(help="The delivery's number.", metavar="DELIVERY", min=1)],
    as_json: AsJson = False,
) -> None:
    """Send a message again, whatever became of it, with the same webhook-id."""
    from controlplane.cli.base import output

    _, again = begin(ctx, as_json=as_json).post(f"webhooks/{webhook}/deliveries/{delivery}/retry", {})
    output.write_json(again) if as_json else output.say(f"{again['message_id']} is sent again")


def _changes(events: list[str] | None, secrets: list[str] | None, description: str | None) -> dict[str, Any]:
    """What was given, as the API takes it."""
    references = None if secrets is None else [_reference(each) for each in secrets]
    given = {"events": events or None, "secrets": references, "description": description}
    return {name: value for name, value in given.items() if value is not None}


def _reference(name: str) -> str:
    return name if name.startswith("${") else f"${{secret:{name}}}"


def _show(webhook: dict[str, Any], *, as_json: bool) -> None:
    from controlplane.cli.base import output

    if as_json:
        output.write_json(webhook)
        return
    state = "on" if webhook["enabled"] else "off"
    output.say(f"Webhook {webhook['id']} ({state}): {', '.join(webhook['events'])} to {webhook['url']}")
