from __future__ import annotations

import hashlib
import json
import re
import stat
from pathlib import Path

import pytest

from controlplane.install.tools import ivy, jars
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.jars import Jar
from controlplane.install.tools.java import Java

CONTENT = b"the content of a jar"
JAR = Jar("org.example:thing:1.2", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_java(directory: Path, script: str) -> Java:
    executable = directory / "java"
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return Java(executable, 17, "fake")


@pytest.mark.parametrize("set_name", [jars.SPARK_KAFKA, jars.KAFKA_BROKER])
def test_every_locked_jar_has_coordinates_and_a_sha256(set_name: str) -> None:
    locked = jars.locked(set_name)
    assert locked
    assert all(re.fullmatch(r"[\w.-]+:[\w.-]+:[\w.-]+", jar.coordinates) for jar in locked)
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in locked)
    assert len({jar.file_name for jar in locked}) == len(locked)


def test_the_lock_names_coordinates_and_checksums_alone_and_so_no_repository() -> None:
    for content in jars.read_lock().values():
        assert content.keys() == {"roots", "jars"}
        assert all(re.fullmatch(r"[\w.-]+(:[\w.-]+){2}", root) for root in content["roots"])
        assert all(jar.keys() == {"coordinates", "sha256"} for jar in content["jars"])


def test_a_file_with_the_locked_checksum_is_accepted_and_stays_as_it_is(cache: Path, tmp_path: Path) -> None:
    place = cache / "jars" / "some-set" / JAR.file_name
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"some-set": {"jars": [{"coordinates": JAR.coordinates, "sha256": JAR.sha256}]}}))
    jars.verify(place, JAR)
    assert jars.ensure("some-set", Java(Path("no-java"), 17, ""), lock) == 0
    assert jars.jar_paths("some-set", lock) == [place]
    assert place.read_bytes() == CONTENT


def test_a_wrong_checksum_names_the_jar_both_sums_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "thing.jar").write_bytes(b"something else")
    with pytest.raises(SetupError) as raised:
        jars.verify(tmp_path / "thing.jar", JAR)
    assert "org.example:thing:1.2 has the wrong checksum" in raised.value.message
    assert JAR.sha256 in raised.value.message
    assert hashlib.sha256(b"something else").hexdigest() in raised.value.message
    assert "run it again" in raised.value.hint


def test_missing_jars_are_counted_and_setup_is_named(cache: Path) -> None:
    with pytest.raises(SetupError) as raised:
        jars.jar_paths(jars.SPARK_KAFKA)
    assert f"{len(jars.locked(jars.SPARK_KAFKA))} jars of the set spark-kafka are missing" in raised.value.message
    assert raised.value.hint == "Run `headgate setup`, or `make setup` in a checkout."


def test_only_missing_and_damaged_jars_are_downloaded_and_nothing_wrong_stays(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = [Jar(f"org.example:part{n}:1", hashlib.sha256(f"part {n}".encode()).hexdigest()) for n in range(3)]
    monkeypatch.setattr(jars, "locked", lambda *_: locked)
    home = cache / "jars" / "some-set"
    home.mkdir(parents=True)
    (home / "part0-1.jar").write_bytes(b"part 0")
    (home / "part1-1.jar").write_bytes(b"damaged")
    asked: list[str] = []

    def retrieve(_: Java, coordinates: list[str], target: Path, **__: object) -> None:
        asked.extend(coordinates)
        for jar in locked:
            place = target / jar.download
            place.parent.mkdir(parents=True)
            place.write_bytes(f"part {jar.file_name[4]}".encode())

    monkeypatch.setattr(ivy, "retrieve", retrieve)
    assert jars.ensure("some-set", Java(Path("java"), 17, "")) == 2
    assert asked == ["org.example:part1:1", "org.example:part2:1"]
    assert {file.name for file in home.iterdir()} == {"part0-1.jar", "part1-1.jar", "part2-1.jar"}
    assert jars.ensure("some-set", Java(Path("java"), 17, "")) == 0
    assert [entry.name for entry in (cache / "jars").iterdir()] == ["some-set"]


def test_a_failed_download_says_why_and_names_proxy_and_mirror(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "echo '::          UNRESOLVED DEPENDENCIES'; echo 'Host not found'; exit 1")
    with pytest.raises(SetupError) as raised:
        ivy.retrieve(java, ["org.example:thing:1"], tmp_path / "jars", work=tmp_path / "work", transitive=False)
    assert "could not be downloaded" in raised.value.message
    assert "Host not found" in raised.value.message
    assert "HEADGATE_IVY_SETTINGS" in raised.value.hint
    assert "proxyHost" in raised.value.hint


def test_a_mirror_of_the_users_own_takes_the_place_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_IVY_SETTINGS", "/etc/mirror.xml")
    java = fake_java(tmp_path, f'echo "$@" > {tmp_path}/arguments')
    ivy.retrieve(java, ["org.example:thing:1"], tmp_path / "jars", work=tmp_path / "work", transitive=False)
    assert "-settings /etc/mirror.xml" in (tmp_path / "arguments").read_text()
