"""Two teams with two users each on a running installation: every route, and the stream of events for a while.

`python -m tests.attacks.sweep --url http://127.0.0.1:8000 --token TOKEN --seconds 60`; the token is one of an
administrator of every team. It makes what it needs, prints how much was tried, and removes what can be removed; users
cannot be, so they are disabled. It ends with 1 where anything of the other team was shown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import httpx2

from tests.attacks.sweeping import LATER, Answer, Question, Sweep, readable

SECONDS = 60.0
ROLES = ("viewer", "admin")
WAITS = 200
"""How often a request is sent again that came too fast."""


class Client:
    """Requests of one user."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx2.Client(base_url=url, headers={"Authorization": f"Token {token}"}, timeout=SECONDS)

    def ask(self, question: Question) -> Answer:
        """Send it, and again where requests came too fast."""
        for _ in range(WAITS):
            sent = {} if question.body is None else {"json": question.body}
            headers = {"If-Match": "*"} if question.method == "PATCH" else {}
            response = self._http.request(
                question.method, question.path, params=dict(question.query) or None, headers=headers, **sent
            )
            if response.status_code != 429:
                text = readable(response.content, response.headers.get("Content-Type", ""))
                return Answer(response.status_code, dict(response.headers), text)
            sleep(float(response.headers.get("Retry-After", 1)))
        raise TimeoutError(f"{question} is refused as too fast")

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send what has to succeed; returns the answer's JSON."""
        answer = self.ask(Question(method, path, f"/api/v1/{path}", body=body))
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.text}")
        return json.loads(answer.text) if answer.text else None

    def first(self, path: str, key: str) -> str | None:
        """What names the first row of a list; None where there is none."""
        rows = self.send("GET", path)["results"]
        return str(rows[0][key]) if rows else None

    def frames(self, seconds: float) -> Iterator[str]:
        """Lines of the stream of events, for so long."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": "0"}
        end = monotonic() + seconds
        with self._http.stream("GET", "/api/v1/events", headers=headers) as response:
            for line in response.iter_lines():
                yield line
                if monotonic() > end:
                    return


@dataclass
class Side:
    """A team on the installation, with the clients of its users by role."""

    mark: str
    clients: dict[str, Client] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts by which it is told."""
        return (self.mark, *self.ids)

    @property
    def pipeline(self) -> str:
        """The name of its pipeline."""
        return f"{self.mark}-orders"


def made(root: Client, url: str, mark: str) -> Side:
    """A team, its users with a token each, and what it owns."""
    side = Side(mark)
    root.send("POST", "teams", {"name": mark, "description": mark})
    for role in ROLES:
        name = f"{mark}-{role}"
        root.send("POST", "users", {"username": name, "role": role, "team": mark})
        token = root.send("POST", "tokens", {"user": name, "name": "sweep", "days": 1})["text"]
        side.clients[role] = Client(url, token)
    fill(side)
    return side


def definition(name: str, mark: str) -> dict[str, Any]:
    """Records from nowhere to nowhere, with the mark in every text."""
    return {
        "api_version": "headgate/v1",
        "name": name,
        "description": mark,
        "labels": {"owner": mark},
        "sources": {"numbers": {"type": "sequence", "rate": 5}},
        "channels": {"main": {"type": "direct"}},
        "sinks": {"out": {"type": "null", "channel": "main"}},
    }


def fill(side: Side) -> None:
    """What a team owns on an installation that runs, and what names it."""
    admin, mark, name = side.clients["admin"], side.mark, side.pipeline
    admin.send("POST", "pipelines", {"definition": definition(name, mark), "note": mark})
    admin.send("POST", "pipelines", {"definition": definition(f"{mark}-old", mark)})
    admin.send("DELETE", f"pipelines/{mark}-old")
    operation = admin.send("POST", f"pipelines/{name}/start", {})["id"]
    migration = admin.send("POST", "migrations", {"pipeline": name, "kind": "software", "spec": {}, "reason": mark})
    silence = admin.send(
        "POST", "silences", {"matchers": {"pipelines": [name]}, "comment": mark, "ends_at": _in_an_hour()}
    )
    group = admin.send("POST", "consumer-groups", {"group": f"{mark}-group", "bootstrap_servers": f"{mark}:9092"})
    policy = admin.send("POST", "approval-policies", {"pipeline": name, "approvers": 1})
    window = {"starts_at": "2998-01-01T00:00:00Z", "ends_at": LATER, "reason": mark}
    freeze = admin.send("POST", "freezes", {"pipeline": name, **window})
    admin.send("PUT", "alert-rules/lag", {"pipeline": name, "records": 7})
    bound = {"pipelines": [f"{mark}-*"], "destinations": ["source/http"]}
    admin.send("PUT", f"secrets/{mark}-secret", {"value": mark, **bound})
    previews, candidate = (
        f"pipelines/{name}/previews",
        {"definition": definition(name, mark), "selection": {"last": 10}},
    )
    asked = admin.ask(Question("POST", previews, f"/api/v1/{previews}", body=candidate))
    traces, place = f"pipelines/{name}/traces", {"at": {"topic": mark, "partition": 0, "offset": 1}}
    traced = admin.ask(Question("POST", traces, f"/api/v1/{traces}", body=place))
    peeks = f"pipelines/{name}/peeks"
    peeked = admin.ask(Question("POST", peeks, f"/api/v1/{peeks}", body={"of": "sources.numbers.selector"}))
    given = {"name": mark, "given": [{"body": mark}], "expect": [{"channels": ["main"]}]}
    candidate = {"definition": {**definition(name, mark), "tests": [given]}}
    tests = admin.ask(Question("POST", "test-runs", "/api/v1/test-runs", body=candidate))
    archived, event = admin.first("archived-pipelines", "id"), admin.first("events", "id")
    side.ids = [operation, migration["id"], str(archived)]
    side.values = {
        "pipelines.name": name,
        "pipelines.number": "1",
        "pipelines.dead_letter_id": "0" * 32,
        "pipelines.inspection_id": str(uuid4()),
        "pipelines.request_id": str(uuid4()),
        "pipelines.preview_id": str(json.loads(asked.text).get("id", uuid4())),
        "pipelines.peek_id": str(json.loads(peeked.text).get("id", uuid4())),
        "pipelines.trace_id": str(json.loads(traced.text).get("id", uuid4())),
        "test-runs.test_run_id": str(json.loads(tests.text).get("id", uuid4())),
        "archived-pipelines.pipeline_id": str(archived),
        "operations.operation_id": operation,
        "migrations.migration_id": migration["id"],
        "runs.run_id": admin.first(f"pipelines/{name}/runs", "id") or "1",
        "audit.row_id": admin.first("audit", "id") or "1",
        "alerts.alert_id": admin.first("alerts", "id") or "1",
        "alert-rules.rule": "lag",
        "templates.name": "kafka-to-kafka",
        "consumer-groups.group_id": str(group["id"]),
        "receivers.receiver_id": admin.first("receivers", "id") or "1",
        "receivers.delivery_id": "1",
        "silences.silence_id": str(silence["id"]),
        "approval-policies.policy_id": str(policy["id"]),
        "freezes.freeze_id": str(freeze["id"]),
        "secrets.name": f"{mark}-secret",
        "tokens.token_key": str(admin.first("tokens", "id")),
        "users.username": f"{mark}-admin",
        "teams.team": mark,
        "teams.binding_id": str(admin.first(f"teams/{mark}/bindings", "id")),
        "hosts.name": next((each["name"] for each in admin.send("GET", "hosts")), "nowhere"),
        "clusters.name": "nowhere",
        "evacuations.evacuation_id": str(uuid4()),
        "allowed-roots.rule_id": "99999",
        "allowed-networks.rule_id": "99999",
        "session.passkey_id": "99999",
        "team": mark,
        "pipeline": name,
        "q": mark,
        "text": mark,
        "label": f"owner:{mark}",
        "actor": f"{mark}-admin",
        "user": f"{mark}-admin",
        "group": f"{mark}-group",
        "event": str(event),
    }


def _in_an_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


def listen(client: Client, sweep: Sweep, who: str, seconds: float, frames: Counter[str]) -> None:
    """Look for the other team in every line of a stream."""
    try:
        for line in client.frames(seconds):
            frames[who] += line.startswith("event: ")
            sweep.look(f"stream of {who}", line)
    except httpx2.HTTPError as error:
        sweep.wrong.append(f"stream of {who}: {error!r}")


def happen(sides: tuple[Side, Side], seconds: float) -> None:
    """Something of each team, all the time."""
    end, number = monotonic() + seconds, 0
    while monotonic() < end:
        for side in sides:
            path = f"pipelines/{side.pipeline}"
            client = side.clients["admin"]
            client.ask(Question("PATCH", path, f"/api/v1/{path}", body={"description": f"{side.mark} {number}"}))
        number += 1
        sleep(0.5)


def removed(root: Client, sides: tuple[Side, Side], seconds: float) -> None:
    """Take away what can be, within so many seconds for each team: what is left is disabled."""
    for side in sides:
        admin = side.clients["admin"]
        for method, path in (
            ("DELETE", f"approval-policies/{side.values['approval-policies.policy_id']}"),
            ("DELETE", f"freezes/{side.values['freezes.freeze_id']}"),
            ("POST", f"pipelines/{side.pipeline}/force-stop"),
            ("POST", f"migrations/{side.values['migrations.migration_id']}/abort"),
            ("DELETE", f"consumer-groups/{side.values['consumer-groups.group_id']}"),
            ("POST", f"silences/{side.values['silences.silence_id']}/end"),
            ("DELETE", f"alert-rules/lag?pipeline={side.pipeline}"),
            ("DELETE", f"secrets/{side.mark}-secret"),
        ):
            admin.ask(Question(method, path, f"/api/v1/{path}", body={} if method == "POST" else None))
        _deleted(admin, side.pipeline, seconds)
        for role in ROLES:
            root.send("PATCH", f"users/{side.mark}-{role}", {"active": False})


def _deleted(admin: Client, name: str, seconds: float) -> None:
    """Delete the pipeline once it has stopped; where nothing stops it, it stays."""
    end = monotonic() + seconds
    while monotonic() < end:
        answer = admin.ask(Question("DELETE", "pipelines", f"/api/v1/pipelines/{name}"))
        if answer.status in {204, 404}:
            return
        sleep(1)


def run(url: str, token: str, *, seconds: float, every: int = 1) -> tuple[Counter[str], Counter[str], list[str]]:
    """Sweep and listen; returns requests and frames by user, and what was wrong. `every`: of so many questions one."""
    root, mark = Client(url, token), uuid4().hex[:8]
    description = root.send("GET", "schema")
    sides = (made(root, url, f"amber-{mark}"), made(root, url, f"cobalt-{mark}"))
    asked: Counter[str] = Counter()
    frames: Counter[str] = Counter()
    wrong: list[str] = []
    try:
        threads = [threading.Thread(target=happen, args=(sides, seconds))]
        for own, others in (sides, sides[::-1]):
            for role, client in own.clients.items():
                who = f"{own.mark}-{role}"
                sweep = Sweep(others.markers, wrong=wrong)
                threads.append(threading.Thread(target=listen, args=(client, sweep, who, seconds, frames)))
                asking = (sweep, client, description, others.values, every)
                threads.append(threading.Thread(target=_ask_all, args=(who, asked, *asking)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong += [f"{own.mark} does not see itself" for own in sides if not _sees_itself(own)]
    finally:
        removed(root, sides, seconds)
    return asked, frames, wrong


def _ask_all(
    who: str,
    asked: Counter[str],
    sweep: Sweep,
    client: Client,
    description: Mapping[str, Any],
    values: Mapping[str, str],
    every: int,
) -> None:
    """Every question of one user: each has a rate of requests of its own, so that all four ask at once."""
    try:
        sweep.run(client.ask, description, values, every=every)
    except Exception as error:
        sweep.wrong.append(f"{who} could not ask everything: {error!r}")
    asked[who] = sweep.asked


def _sees_itself(side: Side) -> bool:
    """Whether a sweep would have found the mark, were it shown."""
    return any(side.mark in str(client.send("GET", "pipelines")) for client in side.clients.values())


def main() -> int:
    """Read the command line, sweep, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=os.environ.get("HEADGATE_URL", "http://127.0.0.1:8000"))
    parser.add_argument(
        "--token", default=os.environ.get("HEADGATE_TOKEN"), required="HEADGATE_TOKEN" not in os.environ
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the streams are listened to")
    parser.add_argument("--every", type=int, default=1, help="ask one of so many questions")
    given = parser.parse_args()
    asked, frames, wrong = run(given.url, given.token, seconds=given.seconds, every=given.every)
    for who in asked:
        print(f"{who}: {asked[who]} requests, {frames[who]} frames in {given.seconds:g} s")
    print(f"{asked.total()} requests and {frames.total()} frames; {len(wrong)} showed something of the other team.")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
