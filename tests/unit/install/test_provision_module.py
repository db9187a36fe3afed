"""The agents' module for the JVM: compiled once of its sources, again where it is damaged, and never used unchecked."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import Java
from controlplane.provision import module

JAVA = Java(Path("/usr/bin/java"), 17, "")


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the compiler was asked to put classes, each time; the sources and the cache are of this test."""
    asked: list[Path] = []

    def compile_(_: Java, classes: Path) -> None:
        asked.append(classes)
        (classes / "a").mkdir()
        (classes / "a" / "B.class").write_bytes(b"code")

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "One.scala").write_text("class One")
    monkeypatch.setenv("HEADGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(module, "_compile", compile_)
    monkeypatch.setattr(module, "jar_paths", lambda _: [Path("connector.jar")])
    return asked


def test_it_is_compiled_once_and_stands_ahead_of_the_connector(compiled: list[Path]) -> None:
    assert [module.ensure(JAVA), module.ensure(JAVA)] == [True, False]
    own, connector = module.class_path()
    assert connector == Path("connector.jar")
    assert zipfile.ZipFile(own).read("a/B.class") == b"code"
    assert len(compiled) == 1
    assert not compiled[0].exists()


def test_without_it_nothing_starts_and_the_command_is_named(compiled: list[Path]) -> None:
    with pytest.raises(SetupError, match="has not been compiled") as raised:
        module.class_path()
    assert "setup" in str(raised.value)
    assert not compiled


def test_a_damaged_one_is_compiled_again(compiled: list[Path]) -> None:
    module.ensure(JAVA)
    own = module.class_path()[0]
    before = own.read_bytes()
    own.write_bytes(b"damaged")
    assert module.ensure(JAVA)
    assert own.read_bytes() == before
    own.with_suffix(".sha256").unlink()
    assert module.ensure(JAVA)
    assert len(compiled) == 3


def test_other_sources_have_another_jar(compiled: list[Path]) -> None:
    module.ensure(JAVA)
    first = module.class_path()[0]
    (module.SOURCES / "One.scala").write_text("class One { }")
    with pytest.raises(SetupError):
        module.class_path()
    assert module.ensure(JAVA)
    assert module.class_path()[0] != first
    assert len(compiled) == 2


def test_what_the_compiler_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left in the place of the jar."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'One.scala:1: error: not found'\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("HEADGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "jar_paths", lambda _: [])
    with pytest.raises(SetupError) as raised:
        module.ensure(Java(java, 17, ""))
    assert "not found" in str(raised.value)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_sources_are_few() -> None:
    """What is not Python is kept small on purpose."""
    lines = {path.name: len(path.read_text().splitlines()) for path in module.SOURCES.glob("*.scala")}
    assert 0 < lines.pop("KafkaWriter.scala") < 60
    assert 0 < lines.pop("KeptWrite.scala") < 60
    assert 0 < sum(lines.values()) < 400
