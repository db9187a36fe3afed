"""Small HTTP servers for sinks: one that takes batches, and one that answers bulk requests like OpenSearch."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Reply:
    """What a server answers. `garbage`: instead of HTTP, before the connection is closed."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    garbage: bytes = b""


@dataclass(frozen=True)
class Asked:
    """A request that a server has seen, unpacked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """Answers with what `reply` makes of a request; `seen` are those that had a body."""

    def __init__(self, reply: Callable[[Asked], Reply]) -> None:
        self.reply = reply
        self.seen: list[Asked] = []
        self.url = ""
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        """One at a time, in the order in which they came."""
        with self._lock:
            if asked.body:
                self.seen.append(asked)
            return self.reply(asked) if asked.body else Reply(404 if "missing" in asked.path else 200)


@contextmanager
def serving(reply: Callable[[Asked], Reply], tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server on a free port."""
    server = Server(reply)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(server.answer(Asked(self.command, self.path, headers, body)))

        def _send(self, reply: Reply) -> None:
            if reply.garbage:
                self.wfile.write(reply.garbage)
                self.close_connection = True
                return
            body = b"" if reply.body is None else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_OPTIONS = do_POST = do_PUT = handle_one  # noqa: N815 - names of the standard library

        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    httpd = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    httpd.daemon_threads = True
    if tls:
        httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
    server.url = f"{'https' if tls else 'http'}://{LOOPBACK}:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join(10)


class BulkIndex:
    """Answers /_bulk like OpenSearch. `faults` gives the statuses that a document's next attempts get, by its `n`."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], Any] = {}
        self.faults: dict[int, list[int]] = {}
        self.takes = 0

    def reply(self, asked: Asked) -> Reply:
        """Index what has no fault."""
        lines = [json.loads(line) for line in asked.body.splitlines()]
        items = [self._item(meta, document) for meta, document in zip(lines[::2], lines[1::2], strict=True)]
        return Reply(200, {"errors": any(next(iter(item.values()))["status"] >= 300 for item in items), "items": items})

    def _item(self, meta: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
        ((action, place),) = meta.items()
        self.takes += 1
        if waiting := self.faults.get(document.get("n", -1)):
            status = waiting.pop(0)
            return {action: {"status": status, "error": {"type": "mapper_parsing_exception", "reason": "bad field"}}}
        key = (place["_index"], place["_id"])
        if action == "create" and key in self.documents:
            return {action: {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "there"}}}
        self.documents[key] = document
        return {action: {"status": 201}}
