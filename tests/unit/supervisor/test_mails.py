"""Mail: the address that was checked is the one that is connected to, and nothing takes longer than allowed."""

from __future__ import annotations

import ssl
import time
from dataclasses import replace
from email import message_from_bytes
from email.message import Message
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.monitoring.receivers import MailServer, MailTls
from pipelines.domain.monitoring.webhooks import Reach
from tests.certificates import issue
from tests.fakes.smtp import mail_server
from workers.adapters.receivers.mails import SmtpMails
from workers.ports import Mail

LOOPBACK = Reach(http=True, networks=(ip_network("127.0.0.0/8"),))
MAIL = Mail(
    sender="headgate@example.com",
    recipients=("ana@example.com", "ops@example.com"),
    subject="[FIRING] orders: blocked (critical) – é",
    text="A sink refuses.\n.\nFrom here on it waits: é.\n",
    message_id="<msg_1@example.com>",
    thread="<headgate.blocked.17@example.com>",
)


def server(port: int, tls: MailTls = MailTls.NONE, **more: Any) -> MailServer:
    return MailServer(host="127.0.0.1", port=port, tls=tls, **more)


def read(data: str) -> tuple[Message, str]:
    message = message_from_bytes(data.encode())
    body = message.get_payload(decode=True)
    assert isinstance(body, bytes)
    return message, body.decode()


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    issued = issue()
    files = {name: tmp_path / name for name in ("certificate", "key")}
    for name, file in files.items():
        file.write_text(getattr(issued, name))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(files["certificate"], files["key"])
    return served, ssl.create_default_context(cadata=issued.ca)


def test_a_message_arrives_as_it_is() -> None:
    with mail_server() as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port), "", MAIL)
    assert (answer.accepted, answer.status, answer.error) == (True, 250, "")
    (taken,) = there.taken
    assert taken.recipients == list(MAIL.recipients)
    message, text = read(taken.data)
    assert text.replace("\r\n", "\n") == MAIL.text
    assert (message["Message-ID"], message["References"]) == (MAIL.message_id, MAIL.thread)
    assert message["From"] == MAIL.sender
    assert message["Auto-Submitted"] == "auto-generated"


def test_user_and_password_are_given_over_starttls(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    served, trust = contexts
    with mail_server(tls=served) as there:
        mails = SmtpMails(LOOPBACK, trust=trust, resolve=lambda _host, _port: [ip_address("127.0.0.1")])
        wanted = replace(server(there.port, MailTls.STARTTLS, user="u"), host="localhost")
        answer = mails.send(wanted, "canary", MAIL)
    assert answer.accepted, answer
    assert (there.taken[0].login, there.taken[0].encrypted) == (("u", "canary"), True)


def test_a_server_that_is_encrypted_from_the_start(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    served, trust = contexts
    with mail_server(tls=served, from_start=True) as there:
        mails = SmtpMails(LOOPBACK, trust=trust)
        answer = mails.send(replace(server(there.port, MailTls.TLS), host="localhost"), "", MAIL)
    assert answer.accepted, answer
    assert there.taken[0].encrypted


def test_a_certificate_that_is_not_trusted_is_refused(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with mail_server(tls=contexts[0]) as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port, MailTls.STARTTLS), "", MAIL)
    assert not answer.accepted
    assert there.taken == []


def test_encryption_is_not_dropped_where_the_server_has_none() -> None:
    with mail_server() as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port, MailTls.STARTTLS, user="u"), "canary", MAIL)
    assert not answer.accepted
    assert "STARTTLS" in answer.error
    assert not any(command.upper().startswith("AUTH") for command in there.commands)


def test_plain_text_is_refused_unless_it_is_allowed() -> None:
    answer = SmtpMails(Reach(networks=LOOPBACK.networks)).send(server(1), "", MAIL)
    assert "encryption" in answer.error


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]".strip("[]")])
def test_private_addresses_are_refused(host: str) -> None:
    answer = SmtpMails(Reach(http=True)).send(replace(server(25), host=host), "", MAIL)
    assert (answer.accepted, "HEADGATE_WEBHOOK_NETWORKS" in answer.error) == (False, True)


def test_a_name_that_leads_elsewhere_later_is_not_followed() -> None:
    seen = []

    def rebinding(host: str, _port: int) -> list[Any]:
        seen.append(host)
        return [ip_address("127.0.0.1" if len(seen) == 1 else "10.0.0.1")]

    with mail_server() as there:
        answer = SmtpMails(LOOPBACK, resolve=rebinding).send(
            replace(server(there.port), host="mail.example.com"), "", MAIL
        )
    assert (answer.accepted, seen) == (True, ["mail.example.com"])


@pytest.mark.parametrize(
    ("command", "words", "status", "shown"),
    [
        ("AUTH", "535 no such user", 535, '535: "no such user"'),
        ("MAIL", "451 later", 451, "451"),
        ("RCPT", "550 nobody here", 550, "refuses ana@example.com with 550"),
        ("DATA", "554 spam", 554, "554"),
        ("CONNECT", "421 busy", 421, "421"),
    ],
)
def test_what_the_server_answers_is_the_outcome(command: str, words: str, status: int, shown: str) -> None:
    with mail_server(lambda line: words if line.upper().startswith(command) else None) as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port, user="u"), "canary", MAIL)
    assert (answer.accepted, answer.status) == (False, status)
    assert shown.replace('"', "") in answer.error.replace('"', "")
    assert "canary" not in answer.error


def test_a_message_that_some_recipients_got_is_not_sent_to_them_again() -> None:
    with mail_server(lambda line: "550 nobody" if line.lower().startswith("rcpt to:<ops") else None) as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port), "", MAIL)
    assert (answer.accepted, answer.error) == (True, "Refused for ops@example.com.")
    assert there.taken[0].recipients == ["ana@example.com"]


def test_a_bad_goodbye_does_not_undo_what_was_taken() -> None:
    with mail_server(lambda line: "421 gone" if line.lower() == "quit" else None) as there:
        answer = SmtpMails(LOOPBACK).send(server(there.port), "", MAIL)
    assert answer.accepted, answer
    assert len(there.taken) == 1


@pytest.mark.parametrize("command", ["CONNECT", "MAIL", "DATA"])
def test_a_server_that_falls_silent_is_left(command: str) -> None:
    with mail_server(lambda line: "" if line.upper().startswith(command) else None) as there:
        begun = time.monotonic()
        answer = SmtpMails(LOOPBACK, seconds=0.5).send(server(there.port), "", MAIL)
        there.over.set()
    assert answer.error == "No answer came within 0.5 s."
    assert time.monotonic() - begun < 30


def test_nobody_listens() -> None:
    answer = SmtpMails(LOOPBACK).send(server(1), "", MAIL)
    assert (answer.status, answer.accepted) == (None, False)
    assert answer.error
