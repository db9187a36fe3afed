"""The REST API as the stack uses it: like any user, with a token."""

from __future__ import annotations

import time
from typing import Any

import httpx2

from controlplane.install.services.interrupt import Interrupt

REQUEST_TIMEOUT = 70.0  # seconds; longer than the longest `?wait=`
UNREACHABLE_FOR = 30.0  # seconds that a web server may take to come back
WAIT = 20  # seconds of one long poll
FINAL = {"SUCCEEDED", "FAILED", "CANCELLED", "SUPERSEDED"}
Json = dict[str, Any]


class Refused(Exception):
    """The API answered with a problem; the text is its title, detail, hint and findings."""

    def __init__(self, status: int, problem: Json) -> None:
        self.status = status
        findings = [f"{each.get('path')}: {each.get('message')}" for each in problem.get("findings") or []]
        parts = [problem.get("title"), problem.get("detail"), problem.get("hint"), *findings]
        super().__init__(f"HTTP {status}: " + " ".join(str(part) for part in parts if part))


class Api:
    """Calls below `/api/v1`; a connection that fails is tried again for a while."""

    def __init__(self, url: str, token: str, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._http = httpx2.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Token {token}"}, timeout=REQUEST_TIMEOUT
        )

    def get(self, path: str) -> Json:
        return self._call("GET", path)

    def post(self, path: str, body: Json) -> Json:
        return self._call("POST", path, body)

    def delete(self, path: str) -> None:
        self._call("DELETE", path)

    def find(self, pipeline: str) -> Json | None:
        """The pipeline's object; None where there is none of that name."""
        try:
            return self.get(f"/pipelines/{pipeline}")
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def act(self, pipeline: str, action: str, *, timeout: float, **body: Any) -> Json:
        """Ask for an action and wait for its end. Raises TimeoutError, and RuntimeError when it did not succeed."""
        operation = self.post(f"/pipelines/{pipeline}/{action}", body)
        deadline = time.monotonic() + timeout
        while operation["state"] not in FINAL:
            self._interrupt.check()
            left = int(deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"{action} of {pipeline} has not ended in {timeout:.0f} s: {operation['message']}")
            operation = self.get(f"/operations/{operation['id']}?wait={min(left, WAIT)}")
        if operation["state"] != "SUCCEEDED":
            raise RuntimeError(f"{action} of {pipeline} ended {operation['state']}: {operation['message']}")
        return operation

    def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        deadline = time.monotonic() + UNREACHABLE_FOR
        while True:
            try:
                response = self._http.request(method, path, json=body)
                break
            except httpx2.TransportError:
                if time.monotonic() > deadline:
                    raise
                self._interrupt.wait(lambda: False, 0.5)
        if response.is_error:
            raise Refused(response.status_code, _problem(response))
        content: Json = response.json() if response.content else {}
        return content


def _problem(response: httpx2.Response) -> Json:
    try:
        problem = response.json()
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"title": response.reason_phrase}
