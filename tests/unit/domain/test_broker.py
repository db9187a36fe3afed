"""What is said of a Redis server that others could use against Headgate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.hosts.broker import BrokerServer, warnings

SOUND = BrokerServer("redis.internal:6380", loopback=False, password=True, tls=True, software="Redis", version="8.8.2")
SOCKET = replace(SOUND, place="", loopback=False, password=False, tls=False)


@pytest.mark.parametrize("server", [SOUND, replace(SOUND, loopback=True, tls=False), SOCKET])
def test_what_is_protected_has_no_warning(server: BrokerServer) -> None:
    assert warnings(server) == []


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (replace(SOUND, password=False), "asks for no password, so machines that reach it"),
        (replace(SOUND, password=False, loopback=True, tls=False), "asks for no password, so users of this machine"),
        (replace(SOUND, tls=False), "is not encrypted"),
    ],
)
def test_a_connection_that_others_can_use_has_one(server: BrokerServer, words: str) -> None:
    (found,) = warnings(server)
    assert words in found
    assert "Redis at redis.internal:6380" in found or "to Redis at redis.internal:6380" in found


@pytest.mark.parametrize(
    ("software", "version", "update"),
    [
        ("Redis", "6.2.14", "6.2.24"),
        ("Redis", "7.0.15", "7.2.16"),
        ("Redis", "8.0.4", "8.2.9"),
        ("Redis", "8.10.0", "8.10.1"),
        ("Redis", "5.0.7", "6.2.24"),
        ("Valkey", "7.2.11", "7.2.14"),
        ("Valkey", "9.1.0", "9.1.1"),
    ],
)
def test_a_version_with_known_holes_has_one_that_names_the_nearest_without(
    software: str, version: str, update: str
) -> None:
    (found,) = warnings(replace(SOUND, software=software, version=version))
    assert found.startswith(f"{software} {version} has known holes")
    assert f"Update it to {update} or a later release" in found


@pytest.mark.parametrize(
    ("software", "version"),
    [
        ("Redis", "6.2.24"),
        ("Redis", "8.2.10"),
        ("Redis", "9.0.0"),
        ("Valkey", "9.1.2"),
        ("", ""),
        ("Redis", "unstable"),
    ],
)
def test_another_version_has_none(software: str, version: str) -> None:
    assert warnings(replace(SOUND, software=software, version=version)) == []
