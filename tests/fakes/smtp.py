"""A small mail server: it takes messages, or answers as a test wants."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"


@dataclass
class Taken:
    """A message as the server got it. `login`: user and password, empty without one."""

    sender: str = ""
    recipients: list[str] = field(default_factory=list)
    data: str = ""
    login: tuple[str, str] = ("", "")
    encrypted: bool = False


@dataclass
class SmtpServer:
    """`answer` says what a command is answered instead of what is usual; None: as usual, "" : nothing, ever."""

    answer: Callable[[str], str | None] = lambda _: None
    tls: ssl.SSLContext | None = None
    taken: list[Taken] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    port: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def mail_server(
    answer: Callable[[str], str | None] = lambda _: None, *, tls: ssl.SSLContext | None = None, from_start: bool = False
) -> Iterator[SmtpServer]:
    """Run one on a free port. `tls`: it offers STARTTLS, or is encrypted from the start."""
    state = SmtpServer(answer, tls)

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            if from_start and tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle(self) -> None:
            try:
                _Conversation(self, state, encrypted=from_start).talk()
            except OSError:
                return

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that does not trust the certificate hangs up."""

    with Server((LOOPBACK, 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.over.set()
            server.shutdown()
            thread.join(10)


class _Conversation:
    def __init__(self, handler: socketserver.StreamRequestHandler, state: SmtpServer, *, encrypted: bool) -> None:
        self.handler, self.state = handler, state
        self.message = Taken(encrypted=encrypted)

    def say(self, text: str) -> None:
        self.handler.wfile.write(text.encode() + b"\r\n")
        self.handler.wfile.flush()

    def talk(self) -> None:
        if not self.reply("CONNECT", "220 ready"):
            return
        while line := self.handler.rfile.readline().decode().rstrip("\r\n"):
            self.state.commands.append(line)
            if not self.command(line):
                return

    def reply(self, command: str, usual: str) -> bool:
        words = self.state.answer(command)
        if words == "":
            self.state.over.wait(60)
            return False
        self.say(usual if words is None else words)
        return words is None

    def command(self, line: str) -> bool:
        verb = line.split(" ")[0].lower()
        if verb == "quit":
            self.reply(line, "221 bye")
            return False
        getattr(self, f"on_{verb}", lambda _: self.say("250 ok"))(line)
        return True

    def on_ehlo(self, line: str) -> None:
        offered = "250-AUTH PLAIN\r\n" if self.message.encrypted or self.state.tls is None else "250-STARTTLS\r\n"
        self.reply(line, f"250-here\r\n{offered}250 8BITMIME")

    def on_starttls(self, _: str) -> None:
        self.say("220 go")
        if self.state.tls is not None:
            self.encrypt(self.state.tls)

    def on_auth(self, line: str) -> None:
        _, user, password = base64.b64decode(line.split(" ")[2]).decode().split("\0")
        if self.reply(line, "235 ok"):
            self.message.login = (user, password)

    def on_mail(self, line: str) -> None:
        if self.reply(line, "250 ok"):
            self.message.sender = line.partition(":")[2]

    def on_rcpt(self, line: str) -> None:
        if self.reply(line, "250 ok"):
            self.message.recipients.append(line.partition("<")[2].rstrip(">"))

    def on_data(self, _: str) -> None:
        self.say("354 go ahead")
        lines = iter(self.handler.rfile.readline, b".\r\n")
        self.message.data = b"".join(line.removeprefix(b".") for line in lines).decode()
        if self.reply("DATA", "250 queued"):
            self.state.taken.append(self.message)

    def encrypt(self, tls: ssl.SSLContext) -> None:
        made = tls.wrap_socket(self.handler.connection, server_side=True)
        self.handler.connection = made
        self.handler.rfile, self.handler.wfile = made.makefile("rb"), made.makefile("wb")
        self.message.encrypted = True
