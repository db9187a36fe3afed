from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import check_modules, feature_version, find_java
from tests.java import quick_java


@pytest.mark.parametrize(
    ("banner", "feature"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "25.0.1" 2025-10-21', 25),
    ],
)
def test_the_feature_version_is_read_from_every_kind_of_banner(banner: str, feature: int) -> None:
    assert feature_version(banner) == feature


def test_a_banner_without_a_version_is_refused() -> None:
    with pytest.raises(ValueError, match="no version"):
        feature_version("command not found")


def java_home(directory: Path, script: str) -> Path:
    (directory / "bin").mkdir()
    (directory / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "bin" / "java").chmod(0o755)
    return directory


def test_no_java_at_all_names_the_command_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Java was not found") as raised:
        find_java()
    assert "apt-get install -y openjdk-17-jre-headless" in raised.value.hint


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"JAVA_HOME is {tmp_path}"):
        find_java()


def test_an_old_java_is_refused_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")))
    with pytest.raises(SetupError, match=r"Java 11 at .* is too old: Spark needs Java 17"):
        find_java()


def test_a_runtime_without_the_vector_module_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'case "$*" in *--add-modules*) exit 1;; esac; echo \'openjdk version "17.0.1"\' >&2'
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, script)))
    with pytest.raises(SetupError, match=r"has no module jdk\.incubator\.vector"):
        check_modules(find_java())


@pytest.mark.parametrize("mode", ["mixed mode, sharing", "mixed mode, emulated-client, sharing", "interpreted mode"])
def test_a_jvm_is_the_same_whatever_its_flags_make_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """`-version` tells how it compiles, too. The archive of the class data fits all the same."""
    said = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1, {})'
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, f"cat >&2 <<END\n{said.format(mode)}\nEND")))
    assert find_java().banner == said.format("").replace(", )", ")")


def test_the_quick_java_of_the_tests_is_the_same_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else none of the agents that a stack of the tests starts has the archive."""
    java = find_java()
    monkeypatch.setenv("JAVA_HOME", quick_java(tmp_path))
    quick = find_java()
    assert (quick.banner, quick.home) == (java.banner, java.home)


def test_a_jvm_is_the_same_whatever_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the home that it names, which is not where the script lies."""
    said = ["    java.home = /opt/jvm-17", "    user.dir = /home/ana", 'openjdk version "17.0.1"', "build 7"]
    script = "\n".join(["cat >&2 <<END", "Property settings:", *said, "END"])
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, script)))
    java = find_java()
    assert (java.feature, java.banner, java.home) == (17, 'openjdk version "17.0.1"\nbuild 7', "/opt/jvm-17")
    assert java.executable == tmp_path / "bin" / "java"
