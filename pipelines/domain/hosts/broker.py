"""What a Redis server lacks that others could use against Headgate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SOUND = {
    "Redis": {(6, 2): 24, (7, 2): 16, (7, 4): 11, (8, 2): 9, (8, 4): 6, (8, 6): 6, (8, 8): 2, (8, 10): 1},
    "Valkey": {(7, 2): 14, (8, 0): 10, (8, 1): 9, (9, 0): 5, (9, 1): 1},
}
"""Of each series that gets fixes, the first release without a known hole by which a client runs code on the server:
CVE-2025-49844, CVE-2026-23479, CVE-2026-81934 and their like, as published until November 2026."""
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class BrokerServer:
    """A server as a worker reaches it. `place`: host and port, empty for a socket; `software` and `version` are empty
    where it does not say."""

    place: str
    loopback: bool
    password: bool
    tls: bool
    software: str
    version: str


def warnings(server: BrokerServer) -> list[str]:
    """What is wrong with it, why that matters, and what to do."""
    return [*_about_the_connection(server), *_about_the_version(server)]


def _about_the_connection(server: BrokerServer) -> Iterator[str]:
    if server.place and not server.password:
        clients = "users of this machine" if server.loopback else "machines that reach it"
        yield (
            f"Redis at {server.place} asks for no password, so {clients} can hold messages back and fill it. Set "
            "`requirepass` there and the password in HEADGATE_REDIS_URL."
        )
    if server.place and not server.loopback and not server.tls:
        yield (
            f"The connection to Redis at {server.place} is not encrypted, so its password can be read on the way. Use "
            "`rediss://` in HEADGATE_REDIS_URL, unless the network is Headgate's own."
        )


def _about_the_version(server: BrokerServer) -> Iterator[str]:
    sound, found = _SOUND.get(server.software), _VERSION.match(server.version)
    if sound is None or found is None:
        return
    major, minor, patch = map(int, found.groups())
    first = sound.get((major, minor), 0 if (major, minor) > max(sound) else None)
    if first is None or patch < first:
        newer = [f"{each[0]}.{each[1]}.{sound[each]}" for each in sorted(sound) if each >= (major, minor)]
        yield (
            f"{server.software} {server.version} has known holes by which its clients can run code on it. Update it to "
            f"{newer[0]} or a later release, unless your distribution has fixed them in this version."
        )
