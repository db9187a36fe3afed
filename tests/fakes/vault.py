"""A Vault server as far as reading goes: KV version 2, log-in by AppRole, namespaces, and how it refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hvs.token-of-a-host"
ROLE = {"role_id": "role-7", "secret_id": "secret-7"}
Answer = tuple[int, Any]


@dataclass
class Vault:
    """`documents`: the versions of each path, None for one that is deleted. `tokens`: those that may read. `moved`:
    where it redirects to. `stalled`: it sends the head of its answer and no body until that is set."""

    documents: dict[str, list[dict[str, Any] | None]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    namespace: str = ""
    sealed: bool = False
    moved: str = ""
    stalled: threading.Event | None = None
    logins: int = 0
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def write(self, path: str, **data: Any) -> None:
        """The next version of a document, as `mount/path`."""
        self.documents.setdefault(path, []).append(data)

    def answer(self, method: str, path: str, headers: dict[str, str], body: Any) -> Answer:
        """Status and document."""
        self.asked.append(f"{method} {path}")
        if self.sealed:
            return 503, {"errors": ["Vault is sealed"]}
        if headers.get("x-vault-namespace", "") != self.namespace:
            return 404, {"errors": []}
        if (method, path) == ("POST", "/v1/auth/approle/login"):
            return self._login(body)
        if headers.get("x-vault-token") not in self.tokens:
            return 403, {"errors": ["permission denied"]}
        mount, _, rest = path.removeprefix("/v1/").partition("/data/")
        return self._document(self.documents.get(f"{mount}/{rest}"))

    def _login(self, body: Any) -> Answer:
        if body != ROLE:
            return 400, {"errors": [f"invalid role or secret ID: {body}"]}
        self.logins += 1
        self.tokens = {f"hvs.of-log-in-{self.logins}"}
        (token,) = self.tokens
        return 200, {"auth": {"client_token": token, "lease_duration": 3600, "renewable": True}}

    def _document(self, versions: list[dict[str, Any] | None] | None) -> Answer:
        if not versions:
            return 404, {"errors": []}
        created = f"2026-01-{len(versions):02}T10:00:00.123456789Z"
        deleted = "2026-02-01T10:00:00Z" if versions[-1] is None else ""
        metadata = {"version": len(versions), "created_time": created, "deletion_time": deleted, "destroyed": False}
        return 404 if deleted else 200, {"data": {"data": versions[-1], "metadata": metadata}}


@contextmanager
def vault() -> Iterator[Vault]:
    """Run one on a free port."""
    made = Vault()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, document = made.answer(self.command, self.path, headers, body)
            content = json.dumps(document).encode()
            self.send_response(307 if made.moved else status)
            if made.moved:
                self.send_header("Location", made.moved + self.path)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if made.stalled is not None:
                made.stalled.wait(30)
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name is the server's

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        if made.stalled is not None:
            made.stalled.set()
        server.shutdown()
        thread.join()
        server.server_close()
