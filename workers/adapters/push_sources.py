"""HTTP sources for replays: each dead letter is a request, acknowledged when the ingest buffer has it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence
from typing import Any

import httpx2

from pipelines.domain.base.causes import explain
from pipelines.domain.reprocessing.dead_letters import HttpTarget
from workers.ports import Away, Closed, Outgoing

_SECONDS = 20.0
_MOST_PARAMETERS = 100
"""The source accepts no more events."""
_FOR_ALL = {
    401: "Check the token of the source; a new one applies from its next start.",
    403: "Check the network between the worker and the port.",
    404: "The source listens on another path: restart the pipeline, so that its agent runs the current revision.",
    405: "Another program listens on the port.",
}
_PASSING = {408, 429}


class HttpPushSources:
    """`workers.ports.PushSources` with httpx."""

    def outlet(self, to: HttpTarget) -> PushSourceOutlet:
        return PushSourceOutlet(to)


class PushSourceOutlet:
    """`workers.ports.Outlet`: posts what a producer of the source would post."""

    def __init__(self, to: HttpTarget) -> None:
        self._to = to
        headers = {"Authorization": f"Bearer {to.token}"} if to.token else {}
        trusted = _trust(to.certificate) if to.certificate else True
        self._client = httpx2.Client(headers=headers, verify=trusted, trust_env=False, timeout=_SECONDS)

    def send(self, records: Sequence[Outgoing]) -> list[str | None]:
        answers: list[str | None] = []
        try:
            answers.extend(map(self._post, records))
        except Away as away:
            raise Away(str(away), [number for number, answer in enumerate(answers) if answer is None]) from away
        return answers

    def _post(self, record: Outgoing) -> str | None:
        try:
            request = _blob(record) if self._to.blob else _json(record)
        except _Unwritable as error:
            return str(error)
        try:
            answer = self._client.post(self._to.url, **request)
        except httpx2.TransportError as error:
            raise Away(f"{self._to.url}: {explain(error)}") from error
        return _verdict(answer)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class _Unwritable(Exception):
    """A request of this source cannot hold the letter."""


def _json(record: Outgoing) -> dict[str, Any]:
    try:
        event = {
            "headers": {name: value.decode() for name, value in record.headers},
            "body": record.body.decode(),
        }
    except UnicodeDecodeError:
        raise _Unwritable("The source accepts JSON in UTF-8; edit the event and retry.") from None
    return {"content": json.dumps([event]).encode(), "headers": {"Content-Type": "application/json"}}


def _blob(record: Outgoing) -> dict[str, Any]:
    if len(record.headers) > _MOST_PARAMETERS:
        raise _Unwritable(f"The event has {len(record.headers)} headers; a request accepts {_MOST_PARAMETERS}.")
    try:
        parameters = [(name, value.decode()) for name, value in record.headers]
    except UnicodeDecodeError:
        raise _Unwritable("A header is not UTF-8, so it cannot be a parameter; edit the event and retry.") from None
    return {"content": record.body, "params": parameters}


def _verdict(answer: httpx2.Response) -> str | None:
    """None where it is taken, else why it never is. Raises Away or Closed."""
    status = answer.status_code
    if status == httpx2.codes.OK:
        return None
    said = f"The source answers {status}: {answer.text[:200]}"
    if status in _FOR_ALL:
        raise Closed(said, _FOR_ALL[status])
    if status in _PASSING or answer.is_server_error:
        raise Away(said)
    return said


def _trust(certificate: str) -> ssl.SSLContext:
    """Trust the chain that this host's own source shows, and nothing else; the address need not be in it."""
    try:
        context = ssl.create_default_context(cafile=certificate)
    except (OSError, ssl.SSLError) as error:
        raise Closed(
            f"{certificate} cannot be read on this host: {explain(error)}", "Allow the worker to read the chain."
        ) from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context
