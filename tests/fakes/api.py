"""A small REST API in this process, over real HTTP: pipelines, operations that take a few looks, logs and a stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

AT = "2026-01-01T12:00:00Z"
TOKEN = "a-token"
FINAL = ("COMMITTED", "ROLLED_BACK", "ABORTED")


def pipeline(name: str, *, phase: str = "STOPPED", revision: int = 1) -> dict[str, Any]:
    """A pipeline as the API shows it."""
    return {
        "name": name,
        "description": "Orders",
        "labels": {"team": "payments"},
        "headline": "The pipeline is stopped.",
        "desired_state": "STOPPED",
        "phase": phase,
        "phase_since": AT,
        "phase_reason": "",
        "team": "default",
        "phase_message": "",
        "stop_reason": None,
        "generation": 1,
        "observed_generation": 1,
        "revision": revision,
        "host": None,
        "created_at": AT,
        "updated_at": AT,
        "etag": "1",
        "restart_count": 0,
        "next_restart_at": None,
        "supervised": True,
        "operation": None,
        "live": {"records_per_second": None, "lag_records": None, "last_batch_at": None, "in_flight": 0, "as_of": None},
        "allowed_actions": [{"name": "start", "allowed": True, "reason": ""}],
    }


def operation(kind: str, state: str = "PENDING", *, name: str = "orders", **more: Any) -> dict[str, Any]:
    """An operation as the API shows it."""
    step_state = {"PENDING": "pending", "RUNNING": "running", "SUCCEEDED": "done"}.get(state, "failed")
    step = {"name": "preflight", "state": step_state, "started_at": AT, "ended_at": None, "message": ""}
    return {
        "id": "0b6c2f4e-0000-4000-8000-000000000001",
        "pipeline": name,
        "kind": kind,
        "state": state,
        "steps": [step],
        "created_by": "ada",
        "created_at": AT,
        "ended_at": None,
        "deadline": None,
        "message": "",
        "error": None,
        "progress": {},
        **more,
    }


def problem(status: int, code: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """An answer that refuses."""
    titles = {404: "Not found", 409: "Conflict", 422: "Invalid", 401: "Unauthorized"}
    return status, {"title": titles.get(status, "Error"), "status": status, "code": code, "detail": f"{code}!", **more}


@dataclass
class FakeApi:
    """What the server knows, and what it was asked. A test changes the fields."""

    url: str = ""
    pipelines: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    logs: dict[int, str] = field(default_factory=dict)
    looks: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    migrations: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    failures: list[int] = field(default_factory=list)
    retry_after: str | None = None
    streams: list[list[str]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The requests of a method, in order."""
        return [request for request in self.requests if request["method"] == method]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """Status and body."""
        if self.failures:
            return self.failures.pop(0), {}
        if (method, path) in self.answers:
            return self.answers[method, path]
        parts = path.split("/")
        if parts[0] == "pipelines":
            return self._pipelines(method, parts[1:], body)
        if parts[0] == "operations":
            return 200, self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if parts[0] == "runs":
            return self._run(int(parts[1]), query, log=parts[-1] == "log")
        if parts == ["migrations"] and method == "GET":
            return 200, page([each for each in self.migrations if is_in(each, query.get("state"))])
        if parts[0] == "events":
            return 200, page(list(reversed(self.events)))
        return problem(404, "not_found")

    def _pipelines(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        if not parts:
            if method == "GET":
                return 200, page(list(self.pipelines.values()))
            self.pipelines["orders"] = pipeline("orders")
            return 201, self.pipelines["orders"]
        if parts[0] not in self.pipelines:
            return problem(404, "pipeline_not_found")
        match parts[1:]:
            case []:
                text = {"definition": {}, "definition_yaml": "name: orders\n", "as_written": True}
                return 200, self.pipelines[parts[0]] | text
            case ["runs"]:
                return 200, page(list(reversed(self.runs)))
            case ["ledger", "summary"]:
                return 200, self.totals
            case ["status"]:
                return 200, status(self.pipelines[parts[0]])
            case [("start" | "stop" | "pause" | "resume" | "restart") as kind]:
                return 202, operation(kind)
        return problem(404, "not_found")

    def _run(self, run_id: int, query: dict[str, str], *, log: bool) -> tuple[int, Any]:
        if not log:
            return 200, next(run for run in self.runs if run["id"] == run_id)
        text = self.logs[run_id]
        start = int(query["offset"]) if "offset" in query else 0
        size = len(text)
        whole = {"offset": size, "size": size, "rotated": False, "total": size, "searched": min(size, 100)}
        return 200, {"text": text[start:], "components": [], **whole}


def is_in(migration: dict[str, Any], state: str | None) -> bool:
    """Whether a list that is asked for in this state has the migration."""
    stage = migration["stage"]
    return stage not in FINAL if state == "open" else state in (None, stage)


def page(results: list[Any]) -> dict[str, Any]:
    """A list as the API shows it."""
    return {"results": results, "next": None}


def status(of: dict[str, Any]) -> dict[str, Any]:
    """A pipeline's status as the API shows it."""
    condition = {"type": "LedgerBalanced", "status": "True", "reason": "", "message": "", "last_transition_time": AT}
    return {
        **of,
        "conditions": [condition],
        "lag": None,
        "run": None,
        "runs": [],
        "queries": [],
        "ingest_buffers": [],
        "components": [],
        "findings": [],
    }


@contextmanager
def serving() -> Iterator[FakeApi]:
    """A server on a port of its own; `url` of the result is its address."""
    api = FakeApi()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _handler(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            query = {name: values[0] for name, values in parse_qs(split.query).items()}
            path = split.path.removeprefix("/api/v1/")
            headers = {name.lower(): value for name, value in self.headers.items()}
            api.requests.append(
                {"method": self.command, "path": path, "query": query, "body": body, "headers": headers}
            )
            if headers.get("authorization") != f"Token {TOKEN}":
                self._send(*problem(401, "not_authenticated"))
            elif headers.get("accept") == "text/event-stream":
                self._stream()
            else:
                self._send(*api.answer(self.command, path, query, body))

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names that http.server calls

        def _send(self, status: int, document: Any) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
            if status == HTTPStatus.SERVICE_UNAVAILABLE and api.retry_after is not None:
                self.send_header("Retry-After", api.retry_after)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self) -> None:
            if not api.streams:
                self._send(*problem(403, "forbidden"))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for frame in api.streams.pop(0):
                self.wfile.write(frame.encode())
                self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            pass

    return Handler
