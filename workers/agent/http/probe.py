"""What sinks with HTTP look at before they start."""

from __future__ import annotations

import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.base.causes import sentences
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Refused, refuse
from workers.agent.base.reach import allowed_addresses
from workers.agent.graph.component import REACH_TIMEOUT
from workers.agent.http.requests import Connection, HttpResponse, RequestFailed, Requests
from workers.agent.spark.executor_writer import Deadline, DeadlineReached

_PROBE_TIMEOUT = 10.0


def check_client(spec: Any, path: str) -> None:
    """The PEM texts are such, and a log-in is whole. Raises Refused with every finding."""
    findings: list[AgentFinding] = []
    if spec.username and spec.token:
        findings += refuse(path, "TWO_LOGINS", "There are a user name and a token.", "Remove one.").findings
    if bool(spec.tls.certificate) != bool(spec.tls.private_key):
        message = "A client certificate needs its key."
        findings += refuse(f"{path}.tls", "BAD_CERTIFICATE", message, "Give both, or none.").findings
    try:
        Connection.of(spec, ["http://localhost"], {}).context()
    except (ssl.SSLError, ValueError) as error:
        message = f"The certificates cannot be read: {error}."
        findings += refuse(f"{path}.tls", "BAD_CERTIFICATE", message, "Put PEM text there.").findings
    if findings:
        raise Refused(*findings)


def reach_server(connection: Connection) -> None:
    """One of the addresses takes a connection. A server may be busy with the very write that is slow, so no request is
    sent. Raises OSError where none does."""
    refused: OSError | None = None
    for url in connection.urls:
        address = urlsplit(url)
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            host = address.hostname or ""
            (host, *_) = allowed_addresses(host, port, connection.reach) if connection.reach is not None else [host]
            socket.create_connection((host, port), REACH_TIMEOUT / len(connection.urls)).close()
        except OSError as error:
            refused = error
        else:
            return
    if refused is not None:
        raise refused


def probe_server(connection: Connection, path: str, method: str, resource: str) -> HttpResponse:
    """Ask once. Raises Refused where the server is away or turns the log-in away."""
    requests = Requests(connection)
    try:
        answer = requests.send(method, resource, b"", Deadline.after(_PROBE_TIMEOUT))
    except (RequestFailed, DeadlineReached) as error:
        advice = "Check the address, and that the server runs."
        raise refuse(path, "SERVER_UNREACHABLE", sentences(error), advice, retryable=True) from error
    finally:
        requests.close()
    if answer.status in (401, 403):
        advice = "Check user name, password or token, and its rights."
        answer.log_body(connection.urls[0])
        raise refuse(path, "NOT_PERMITTED", f"{connection.urls[0]} answered {answer.summary()}.", advice)
    return answer
