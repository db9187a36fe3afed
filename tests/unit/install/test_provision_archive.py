from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import Java
from controlplane.provision import archive, training

JAVA = Java(Path("/usr/bin/java"), 17, 'openjdk version "17.0.1" build 7', "/opt/jvm")


class Clone:
    """A clone of the project with its own PySpark, beside others that share a cache."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self._patch = root, monkeypatch
        self.jars = root / "site-packages" / "pyspark" / "jars"
        self.record = ["pyspark/sql.py,sha256=zzz,1", "pyspark/jars/a.jar,sha256=aaa,1"]
        self.jars.mkdir(parents=True)
        for name in ("a.jar", "b.jar"):
            (self.jars / name).write_text(name)
        self.java = JAVA

    def enter(self) -> None:
        """Work in this clone from now on."""
        self._patch.setattr(archive, "pyspark_jars", lambda: self.jars)
        self._patch.setattr(archive, "distribution", lambda _: self)
        self._patch.setattr(archive, "find_java", lambda: self.java)

    version = "4.2.0"

    def read_text(self, _: str) -> str:
        return "\n".join(self.record)


MakeClone = Callable[[str], Clone]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeClone:
    monkeypatch.setenv("HEADGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(archive.IN_PLACE, raising=False)
    connector = tmp_path / "connector.jar"
    connector.touch()
    monkeypatch.setattr(archive, "class_path", lambda: [connector])

    def make(name: str) -> Clone:
        made = Clone(tmp_path / name, monkeypatch)
        made.enter()
        return made

    return make


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The jars of every training run, each of which makes an archive at once."""
    runs: list[Path] = []

    def train(target: Path, jars: Path, _: Path) -> None:
        runs.append(jars)
        target.write_text("archive")

    monkeypatch.setattr(training, "train", train)
    return runs


def test_another_clone_with_the_same_jars_uses_the_same_archive(clone: MakeClone, trained: list[Path]) -> None:
    clone("one")
    assert archive.ensure(JAVA)
    first = archive.archive_path()
    clone("two")
    assert archive.archive_path() == first
    assert not archive.ensure(JAVA)
    assert len(trained) == 1


def test_the_archive_is_made_of_linked_jars_beside_it(clone: MakeClone, trained: list[Path]) -> None:
    own = clone("one")
    archive.ensure(JAVA)
    made = archive.archive_path()
    assert made
    assert trained == [made.parent / "jars"]
    assert {file.name for file in trained[0].iterdir()} == {"a.jar", "b.jar"}
    assert (trained[0] / "a.jar").samefile(own.jars / "a.jar")


def test_an_image_has_its_jars_once(clone: MakeClone, trained: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    own = clone("one")
    monkeypatch.setenv(archive.IN_PLACE, "1")
    archive.ensure(JAVA)
    assert trained[0].is_symlink()
    assert trained[0].resolve() == own.jars
    assert archive.archive_path()


def test_a_script_that_starts_the_same_jvm_has_its_archive_and_another_jvm_has_not(
    clone: MakeClone, trained: list[Path]
) -> None:
    own = clone("one")
    archive.ensure(JAVA)
    own.java = replace(JAVA, executable=Path("/home/ana/bin/java"))
    assert archive.archive_path()
    own.java = replace(JAVA, home="/opt/another")
    assert archive.archive_path() is None


def test_other_jars_another_java_and_jars_that_changed_get_an_archive_of_their_own(
    clone: MakeClone, trained: list[Path]
) -> None:
    own = clone("one")
    archive.ensure(JAVA)
    own.java = replace(JAVA, banner='openjdk version "17.0.1" build 8')
    assert archive.archive_path() is None
    assert archive.ensure(own.java)
    linked = trained[0] / "a.jar"
    os.utime(linked, ns=(0, 0))
    assert archive.archive_path() is None
    assert archive.ensure(own.java)
    own.record.append("pyspark/jars/b.jar,sha256=bbb,1")
    assert archive.archive_path() is None
    assert archive.ensure(own.java)
    assert len(trained) == 4


def test_jars_that_were_damaged_in_the_cache_are_linked_again(clone: MakeClone, trained: list[Path]) -> None:
    clone("one")
    archive.ensure(JAVA)
    (trained[0] / "a.jar").unlink()
    assert archive.archive_path() is None
    archive.ensure(JAVA)
    assert {file.name for file in trained[0].iterdir()} == {"a.jar", "b.jar"}
    assert archive.archive_path()


def test_nothing_is_found_where_set_up_never_ran_or_something_is_missing(
    clone: MakeClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone("one")
    assert archive.archive_path() is None

    def missing() -> Java:
        raise SetupError("no Java", "")

    monkeypatch.setattr(archive, "find_java", missing)
    assert archive.archive_path() is None


def test_the_archives_used_last_are_kept_and_their_jars(clone: MakeClone, trained: list[Path]) -> None:
    own = clone("one")
    made = []
    for number in range(archive.KEPT + 1):
        own.record.append(f"pyspark/jars/{number}.jar,sha256={number},1")
        archive.ensure(JAVA)
        found = archive.archive_path()
        assert found
        if number < archive.KEPT:
            os.utime(found, (number, number))
        made.append(found)
        if number == 1:
            own.record, last = own.record[:-1], own.record
            assert not archive.ensure(JAVA)  # the first one is used again
            own.record = last
    assert [file.is_file() for file in made] == [True, False, True, True]
    assert [file.parent.is_dir() for file in made] == [True, False, True, True]


def test_two_clones_that_build_at_the_same_time_build_once(clone: MakeClone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone("one")
    runs: list[Path] = []
    both = threading.Barrier(2, timeout=20)
    alone = archive._alone

    def together(lock: Path):  # type: ignore[no-untyped-def]
        both.wait()
        return alone(lock)

    def train(target: Path, jars: Path, _: Path) -> None:
        runs.append(jars)
        target.write_text("archive")

    monkeypatch.setattr(archive, "_alone", together)
    monkeypatch.setattr(training, "train", train)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(archive.ensure(JAVA))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results) == [False, True]
    assert len(runs) == 1


def test_the_lock_is_waited_for_within_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LOCK_TIMEOUT", 0.0)
    with (
        archive._alone(tmp_path / "lock"),
        pytest.raises(SetupError, match="has held"),
        archive._alone(tmp_path / "lock"),
    ):
        pass


def test_a_training_run_that_fails_leaves_no_archive(clone: MakeClone, monkeypatch: pytest.MonkeyPatch) -> None:
    own = clone("one")

    def train(target: Path, *_: Path) -> None:
        target.write_text("half")
        raise SetupError("it failed", "")

    monkeypatch.setattr(training, "train", train)
    with pytest.raises(SetupError, match="it failed"):
        archive.ensure(JAVA)
    assert archive.archive_path() is None
    assert not list((own.root.parent / "cache").rglob("*.jsa"))
