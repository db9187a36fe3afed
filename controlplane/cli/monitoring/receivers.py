"""Commands about receivers. An option has the name of a secret, never its value: `headgate secrets set` stores it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Limit, OwnerTeam, Session
from controlplane.cli.monitoring.matchers import Chosen, words

TEST_SECONDS = 30.0
POLL_SECONDS = 0.5
_OPEN = {"WAITING", "SENDING"}

app = Group("Send events and alerts to webhooks, Slack, PagerDuty and mailboxes.")
deliveries = Group("List the deliveries to a receiver, and retry them.")
app.noun(deliveries, "deliveries")

Id = Annotated[int, typer.Argument(help="The receiver's number.", metavar="ID", min=1)]
Url = Annotated[
    str | None, typer.Option("--url", help="The address of a webhook, or another address of PagerDuty's Events API.")
]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="An event type, a prefix (migration.*), or *. Repeatable. Default: by kind."),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="The name of the secret: what signs (webhook; two during a rotation), the address (slack), the routing "
        "key (pagerduty), or the password of --smtp-user (email).",
    ),
]
Description = Annotated[str | None, typer.Option("--description", help="The purpose of the receiver.")]


@dataclass(frozen=True)
class Mail:
    """What a receiver of kind email adds."""

    to: Annotated[list[str] | None, typer.Option("--to", help="A recipient of mail. Repeatable.")] = None
    sender: Annotated[str | None, typer.Option("--from", help="The sender. Default: HEADGATE_SMTP_SENDER.")] = None
    host: Annotated[
        str | None, typer.Option("--smtp-host", help="A mail server of its own. Default: HEADGATE_SMTP_HOST.")
    ] = None
    port: Annotated[int | None, typer.Option("--smtp-port", help="Its port. Default: 587.")] = None
    tls: Annotated[str | None, typer.Option("--smtp-tls", help="starttls, tls or none. Default: starttls.")] = None
    user: Annotated[str | None, typer.Option("--smtp-user", help="Its user; --secret has the password.")] = None

    def body(self) -> dict[str, Any]:
        """As the API takes it; only what is given."""
        given = {
            "recipients": self.to,
            "sender": self.sender,
            "host": self.host,
            "port": self.port,
            "tls": self.tls,
            "user": self.user,
        }
        return {name: value for name, value in given.items() if value is not None}


@app.verb("list")
def list_receivers(session: Session, limit: Limit = 1000) -> None:
    """List receivers with the state of their deliveries."""
    from controlplane.cli.base import output

    found = session.client().pages("receivers", limit=limit)
    if session.printed(found):
        return
    columns = (
        "id",
        "kind",
        "enabled",
        "target",
        "events",
        "alerts",
        "waiting",
        "last success",
        "failing since",
        "disabled because",
    )
    output.table(columns, map(_row, found), empty="No receivers. Add one: headgate receivers create KIND")


def _row(receiver: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    failing = receiver["failing_since"]
    what = (receiver["kind"], receiver["enabled"], receiver["url"] or receiver["target"])
    which = (", ".join(receiver["events"]), words(receiver["matchers"]))
    health = (receiver["waiting"], ago(receiver["last_success_at"]), ago(failing) if failing else "")
    return str(receiver["id"]), *what, *which, *health, receiver["disabled_reason"]


@app.verb()
def create(
    session: Session,
    kind: Annotated[str, typer.Argument(help="webhook, slack, pagerduty or email.", metavar="KIND")],
    chosen: Chosen,
    mail: Mail,
    url: Url = None,
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add it disabled.")] = False,
    team: OwnerTeam = None,
) -> None:
    """Add a receiver. It gets new alerts, a webhook all new events: all of them, or those of the options."""
    owner = {"team": team} if team else {}
    body = {"kind": kind, **owner, **_changes(url, event, secret, description, chosen, mail), "enabled": not disabled}
    _, made = session.client().post("receivers", body)
    _print(session, made)


@app.verb()
def update(
    session: Session,
    receiver: Id,
    chosen: Chosen,
    mail: Mail,
    url: Url = None,
    event: Events = None,
    secret: Secrets = None,
    description: Description = None,
    everything: Annotated[
        bool, typer.Option("--all-alerts", help="Remove the restrictions to pipelines, labels, rules and severities.")
    ] = False,
) -> None:
    """Change a receiver. Options that are not given keep their values; events, secrets and what chooses alerts replace
    all previous ones."""
    client = session.client()
    body = _changes(url, event, secret, description, chosen, mail) | ({"matchers": {}} if everything else {})
    if not body:
        raise CommandError.of_usage("Give at least one option to change", hint="--help lists them.")
    if "email" in body:
        body["email"] = {**(client.get(f"receivers/{receiver}")["email"] or {}), **body["email"]}
    _print(session, client.patch(f"receivers/{receiver}", body))


@app.verb()
def enable(session: Session, receiver: Id) -> None:
    """Enable a receiver. It receives new events, and the messages that wait."""
    _print(session, session.client().patch(f"receivers/{receiver}", {"enabled": True}))


@app.verb()
def disable(session: Session, receiver: Id) -> None:
    """Disable a receiver. Its messages wait until it is enabled again."""
    _print(session, session.client().patch(f"receivers/{receiver}", {"enabled": False}))


@app.verb()
def delete(session: Session, receiver: Id) -> None:
    """Delete a receiver with its deliveries."""
    from controlplane.cli.base import output

    session.client().delete(f"receivers/{receiver}")
    if not session.printed({"id": receiver, "result": "deleted"}):
        output.print_line(f"Receiver {receiver}: deleted")


@app.verb()
def test(session: Session, receiver: Id) -> None:
    """Send a test message once, and wait up to 30 s for the answer."""
    from controlplane.cli.base import output

    client = session.client()
    _, delivery = client.post(f"receivers/{receiver}/test", {})
    deadline = time.monotonic() + TEST_SECONDS
    while delivery["state"] in _OPEN and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        delivery = client.get(f"receivers/{receiver}/deliveries/{delivery['id']}")
    if not session.printed(delivery):
        output.print_line(_outcome(delivery))
    if delivery["state"] in _OPEN:
        raise typer.Exit(ExitCode.TIMED_OUT)
    if delivery["state"] != "DELIVERED":
        raise typer.Exit(ExitCode.FAILED)


def _outcome(delivery: dict[str, Any]) -> str:
    if delivery["state"] == "DELIVERED":
        words = f"Delivered as {delivery['message_id']}; the receiver answered {delivery['response_status']}."
        return f"{words} {delivery['last_error']}".strip()
    if delivery["state"] == "FAILED":
        return f"Not delivered: {delivery['last_error']}"
    return "No worker has sent it yet. Follow it: headgate receivers deliveries list ID"


@deliveries.verb("list")
def list_deliveries(
    session: Session,
    receiver: Id,
    state: Annotated[
        str | None, typer.Option("--state", help="waiting, sending, delivered, failed or suppressed.")
    ] = None,
    limit: Limit = 50,
) -> None:
    """List the deliveries to a receiver, newest first."""
    from controlplane.cli.base import output

    client = session.client()
    found = client.pages(f"receivers/{receiver}/deliveries", limit=limit, state=state and state.upper())
    if session.printed(found):
        return
    columns = ("id", "state", "type", "event", "alert", "attempts", "answer", "last attempt", "error")
    output.table(columns, map(_delivery_row, found), empty=output.none("deliveries", (state,)))


def _delivery_row(delivery: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    last, status = ago(delivery["last_attempt_at"]), str(delivery["response_status"] or "")
    what = (delivery["type"], str(delivery["event"]), str(delivery["alert"] or ""))
    return str(delivery["id"]), delivery["state"], *what, delivery["attempts"], status, last, delivery["last_error"]


@deliveries.verb()
def retry(
    session: Session,
    receiver: Id,
    delivery: Annotated[int, typer.Argument(help="The delivery's number.", metavar="DELIVERY", min=1)],
) -> None:
    """Send a message again, in any state, with the same webhook-id."""
    from controlplane.cli.base import output

    _, again = session.client().post(f"receivers/{receiver}/deliveries/{delivery}/retry", {})
    if not session.printed(again):
        output.print_line(f"{again['message_id']}: queued again")


def _changes(
    url: str | None,
    events: list[str] | None,
    secrets: list[str] | None,
    description: str | None,
    chosen: Chosen,
    mail: Mail,
) -> dict[str, Any]:
    """What is given, as the API takes it."""
    given = {
        "url": url,
        "events": events or None,
        "secrets": [_reference(each) for each in secrets] if secrets else None,
        "description": description,
        "matchers": chosen.body() or None,
        "email": mail.body() or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _reference(name: str) -> str:
    return name if name.startswith("${") else f"${{secret:{name}}}"


def _print(session: Session, receiver: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(receiver):
        return
    state = "enabled" if receiver["enabled"] else "disabled"
    what = f"Receiver {receiver['id']} ({receiver['kind']}, {state})"
    output.print_line(f"{what}: {', '.join(receiver['events'])} to {receiver['url'] or receiver['target']}")
