"""Ports that listen, and what a local user without any secret can send to them."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from ipaddress import ip_address

import psutil

# Spark's network protocol: Message.Type.
REQUEST = 3
FAILURE = 5
ONE_WAY = 9
SECONDS = 2.0


def listening(pid: int) -> dict[int, str]:
    """The TCP ports on which a process and its children listen, with their addresses."""
    top = psutil.Process(pid)
    found: dict[int, str] = {}
    for process in (top, *top.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            for each in process.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN and each.laddr:
                    found[each.laddr.port] = each.laddr.ip
    return found


def is_loopback(address: str) -> bool:
    """Also as an IPv4 address in IPv6's clothes, which Java's sockets have."""
    parsed = ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def marker(port: int) -> bytes:
    """A serialised Java object which makes the process that reads it listen on `port`, as remote objects do; it needs
    no class beyond Java's own and does nothing else."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    def described(name: str, uid: int, flags: int, fields: list[bytes]) -> bytes:
        return b"\x72" + text(name) + struct.pack(">qBH", uid, flags, len(fields)) + b"".join(fields) + b"\x78"

    factories = [
        b"L" + text(field) + b"\x74" + text(f"Ljava/rmi/server/{kind};")
        for field, kind in (("csf", "RMIClientSocketFactory"), ("ssf", "RMIServerSocketFactory"))
    ]
    described_classes = (
        described("java.rmi.server.UnicastRemoteObject", 4974527148936298033, 2, [b"I" + text("port"), *factories])
        + described("java.rmi.server.RemoteServer", -4100238210092549637, 2, [])
        + described("java.rmi.server.RemoteObject", -3215090123894869218, 3, [])
        + b"\x70"
    )
    reference = text("UnicastServerRef")
    remote_object = b"\x77" + bytes([len(reference)]) + reference + b"\x78"
    return b"\xac\xed\x00\x05\x73" + described_classes + remote_object + struct.pack(">i", port) + b"\x70\x70"


def one_way(port: int, content: bytes) -> bytes:
    """A message to an endpoint that every driver has, as Spark's own clients frame it."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    body = b"\x00\x01" + text("127.0.0.1") + struct.pack(">i", port) + text("HeartbeatReceiver") + content
    return struct.pack(">qBi", 8 + 1 + 4 + len(body), ONE_WAY, len(body)) + body


def request(content: bytes) -> bytes:
    """A message that is answered, once those before it have been read."""
    return struct.pack(">qBqi", 8 + 1 + 8 + 4 + len(content), REQUEST, 1, len(content)) + content


def is_failure(answer: bytes) -> bool:
    """Whether a Spark port has answered that it does not take a request."""
    return len(answer) > 8 and answer[8] == FAILURE


def send(port: int, message: bytes) -> bytes:
    """Send a message. Returns the first that comes back: nothing where the other side closes the connection or stays
    silent."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(message)
        return connection.recv(4096)
    return b""
