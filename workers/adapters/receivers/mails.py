"""Mail over SMTP: one bounded conversation with a server whose address was checked, and no other.

Django's backend does the talking. The connection is ours: it goes to one of the addresses that passed, as that of
`HttpPosts`, and is cut off at the deadline, however slowly the server answers.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from pipelines.domain.base.addresses import Address
from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.receivers import MailServer, MailTls
from pipelines.domain.monitoring.webhooks import DeliveryResponse, Reach
from workers.adapters.receivers.posts import Refused, Resolve, Route, connected, left, look_up, printable
from workers.ports import Mail

SECONDS = 30.0
"""For a whole attempt; a claim lasts longer."""
ACCEPTED = 250


class SmtpMails:
    """`workers.ports.Mails`. `seconds`: for a whole attempt; `trust`: authorities other than the system's."""

    def __init__(
        self, reach: Reach, *, seconds: float = SECONDS, resolve: Resolve = look_up, trust: ssl.SSLContext | None = None
    ) -> None:
        self._route = Route(reach, resolve)
        self._seconds = seconds
        self._trust = trust

    def send(self, server: MailServer, password: str, mail: Mail) -> DeliveryResponse:
        deadline = time.monotonic() + self._seconds
        try:
            return self._send(server, password, mail, deadline)
        except Refused as refused:
            return DeliveryResponse(None, str(refused))
        except smtplib.SMTPRecipientsRefused as error:
            return _refused(error.recipients)
        except smtplib.SMTPResponseException as error:
            return DeliveryResponse(error.smtp_code, f"The mail server answers {error.smtp_code}: {_said(error)}")
        except (OSError, ValueError) as error:  # smtplib's other errors are OSErrors
            if time.monotonic() >= deadline:
                return DeliveryResponse(None, f"No answer came within {self._seconds:g} s.")
            return DeliveryResponse(None, printable(explain(error)))

    def _send(self, server: MailServer, password: str, mail: Mail, deadline: float) -> DeliveryResponse:
        if server.tls == MailTls.NONE and not self._route.reach.http:
            raise Refused("Mail is sent with encryption only; use starttls or tls.")
        backend = _Backend(server, password, self._route.addresses(server.host, server.port, deadline), deadline)
        if self._trust is not None:
            backend.ssl_context = self._trust
        try:
            backend.send_messages([_message(mail)])
        finally:
            backend.cut()
        if backend.refused:
            return DeliveryResponse(ACCEPTED, f"Refused for {printable(', '.join(sorted(backend.refused)))}.")
        return DeliveryResponse(ACCEPTED)


def _message(mail: Mail) -> EmailMessage:
    headers = {"Message-ID": mail.message_id, "References": mail.thread, "Auto-Submitted": "auto-generated"}
    return EmailMessage(mail.subject, mail.text, mail.sender, list(mail.recipients), headers=headers)


class _Backend(EmailBackend):
    """Django's, with a connection of ours. `refused`: recipients that the server did not take, where it took others."""

    def __init__(self, server: MailServer, password: str, addresses: list[Address], deadline: float) -> None:
        super().__init__(
            host=server.host,
            port=server.port,
            username=server.user,
            password=password,
            use_tls=server.tls == MailTls.STARTTLS,
            use_ssl=server.tls == MailTls.TLS,
            timeout=left(deadline),
        )
        self._addresses = addresses
        self._deadline = deadline
        self._cutter: threading.Timer | None = None
        self._line: socket.socket | None = None
        self.refused: dict[str, Any] = {}

    @property
    def connection_class(self) -> Any:
        """What connects and talks."""
        return partial(_PinnedOverTls if self.use_ssl else _Pinned, self)

    def connect(self, port: int) -> socket.socket:
        """The connection. A second handle of it stays here, whatever encryption makes of the first."""
        made = connected(self._addresses, port, self._deadline)
        self._line = made.dup()
        self._cutter = threading.Timer(left(self._deadline), self._shut)
        self._cutter.daemon = True
        self._cutter.start()
        return made

    def _shut(self) -> None:
        line = self._line
        if line is not None:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def cut(self) -> None:
        """The conversation is over, whichever way."""
        if self._cutter is not None:
            self._cutter.cancel()
        if self._line is not None:
            self._shut()
            self._line.close()

    def _close_connection(self, connection: Any) -> None:
        """A server that has taken the message and answers badly to the goodbye has taken it."""
        try:
            super()._close_connection(connection)  # type: ignore[misc]
        except OSError:
            connection.close()


class _Pinned(smtplib.SMTP):
    """A connection to addresses that were checked, whatever the name is looked up to meanwhile."""

    def __init__(self, backend: _Backend, *args: Any, **more: Any) -> None:
        self._backend = backend
        super().__init__(*args, **more)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._backend.connect(port)

    def sendmail(self, *args: Any, **more: Any) -> Any:
        """Note who was refused; where all were, it raises."""
        refused = super().sendmail(*args, **more)
        self._backend.refused |= refused
        return refused


class _PinnedOverTls(smtplib.SMTP_SSL, _Pinned):
    """The same, encrypted from the start."""

    def __init__(self, backend: _Backend, *args: Any, **more: Any) -> None:
        self._backend = backend
        smtplib.SMTP_SSL.__init__(self, *args, **more)


def _refused(recipients: Mapping[str, tuple[int, bytes]]) -> DeliveryResponse:
    """Every recipient was refused."""
    address, (code, said) = next(iter(recipients.items()))
    words = printable(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said))
    return DeliveryResponse(code, f"The mail server refuses {address} with {code}: {words}")


def _said(error: smtplib.SMTPResponseException) -> str:
    said = error.smtp_error
    return printable(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said))
