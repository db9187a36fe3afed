"""Parts of the agent that need neither Spark nor Kafka."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from controlplane.install.tools.java import find_java
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import Command
from pipelines.domain.definitions.parts.launchers import JvmProfile
from pipelines.domain.ledger.journal import Exited, PhaseChanged, read_entries
from pipelines.domain.runs.protocol import Control, boot_id
from workers.agent.delivery.delivery import cause_of
from workers.agent.delivery.gate import Cancelled, Gate
from workers.agent.kafka.admin import jvm_options, librdkafka_options
from workers.agent.run_dir.control import ControlFile
from workers.agent.run_dir.journal_writer import Journal, JournalUnwritable
from workers.agent.spark.jvm import FLAGS, PROFILES, command
from workers.agent.watching.mirror import slowest


def test_the_journal_numbers_its_entries_and_every_line_is_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", epoch=7)
    for phase in ("STARTING", "RUNNING"):
        journal.append(PhaseChanged(phase=phase))
    entries, _ = read_entries((tmp_path / "journal.jsonl").read_bytes())
    assert [(entry.n, entry.epoch, entry.data["phase"]) for entry in entries] == [(1, 7, "STARTING"), (2, 7, "RUNNING")]


def test_a_full_disk_leaves_no_torn_line_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, epoch=1)
    journal.append(PhaseChanged(phase="RUNNING"))
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, data: write(file, data[:10]))
        with pytest.raises(JournalUnwritable):
            journal.append(Exited(code=0, reason=""))
    journal.append(Exited(code=0, reason=""))
    assert [entry.n for entry in read_entries(path.read_bytes())[0]] == [1, 2]


def order(path: Path, seq: int, command_: Command, boot: str | None = None) -> None:
    Control(seq=seq, command=command_, boot_id=boot or boot_id(), issued_at=0).store(path)


def test_an_order_is_taken_once_and_an_older_or_foreign_or_torn_one_never(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    control = ControlFile(path, boot_id())
    assert control.poll() is None
    order(path, 2, Command.PAUSE)
    taken = control.poll()
    assert taken is not None
    assert taken.command is Command.PAUSE
    assert control.poll() is None
    order(path, 1, Command.RUN)
    assert control.poll() is None
    order(path, 3, Command.STOP, boot="another")
    assert control.poll() is None
    path.write_text('{"seq": 4, "comm')
    assert control.poll() is None
    order(path, 4, Command.STOP)
    assert control.poll() is not None


def test_a_supervisor_that_has_lost_the_run_to_another_neither_orders_nor_prolongs_it(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    control = ControlFile(path, boot_id())

    def reported(owner: int, seq: int, until: float | None) -> Command | None:
        order = Control(seq=seq, command=Command.PAUSE, boot_id=boot_id(), issued_at=0, owner=owner, lease_until=until)
        order.store(path)
        taken = control.poll()
        return taken.command if taken else None

    assert (reported(2, 1, 100.0), control.expired(99.9), control.expired(100.0)) == (Command.PAUSE, False, True)
    assert (reported(2, 1, 200.0), control.expired(199.9)) == (None, False), "the same order, prolonged"
    assert (reported(1, 2, 900.0), control.expired(200.0)) == (None, True), "of the supervisor before"
    assert (reported(3, 2, 300.0), control.expired(299.9)) == (Command.PAUSE, False)
    assert (reported(3, 3, None), control.expired(1e9)) == (Command.PAUSE, False), "without a lease"


def test_the_mirror_shows_the_slowest_cursor_of_partitions_that_all_have_met() -> None:
    keys = [TopicPartition("t", number) for number in range(3)]
    fast, slow = {keys[0]: 9, keys[1]: 4, keys[2]: 1}, {keys[0]: 5, keys[1]: 6}
    assert slowest([fast, slow]) == {keys[0]: 5, keys[1]: 4}
    assert slowest([]) == {}


def test_a_cancelled_hold_is_no_failure_of_the_sink() -> None:
    gate = Gate(1)
    gate.stop(cancel=True)
    with pytest.raises(Cancelled):
        gate.check()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("plain", "plain"),
        ("", "An unexpected error occurred, and says nothing about itself"),
        ("An error occurred while calling o9.write.\n: a.Null: no session\n\tat x\n\tat y", "a.Null: no session"),
        ("Job aborted\n at x\nCaused by: a.B: first\n\tat y\nCaused by: c.D: last\n\tat z", "c.D: last"),
        (
            "Job aborted: Lost task 0.0 (TID 1) (host executor driver): o.a.TimeoutException: 9 ms\n\tat x",
            "The operation timed out (9 ms). Check that the server runs and that this host can reach its address.",
        ),
    ],
)
def test_the_innermost_cause_is_told(text: str, cause: str) -> None:
    assert cause_of(RuntimeError(text)) == cause


FIRST = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\nValueError: first\n'
SECOND = 'Traceback (most recent call last):\n  File "b.py", line 2, in g\n    g()\n    ^^^\nhttp.Failed: 500\nmore\n'
CHAINED = f"{FIRST}\nThe above exception was the direct cause of the following exception:\n\n{SECOND}"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"Lost task 0.0 (TID 1) (host executor driver): o.a.s.PythonException: {FIRST}\n\tat z", "ValueError: first"),
        (f"Job aborted\n at x\nCaused by: o.a.s.PythonException: {CHAINED}\n\tat z", "http.Failed: 500"),
        (f"An exception was thrown from the Python worker. Please see below.\n{FIRST}", "ValueError: first"),
        (f"o.a.s.PythonException: {FIRST}\tat z\nCaused by: c.D: the JVM knows more\n", "c.D: the JVM knows more"),
    ],
)
def test_of_a_python_worker_the_last_line_of_the_traceback_is_told(text: str, cause: str) -> None:
    assert cause_of(RuntimeError(text)) == cause


def test_one_login_takes_the_form_of_each_client() -> None:
    options = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b',
    }
    jvm = jvm_options("b:1", options)
    assert jvm["kafka.sasl.jaas.config"].endswith('PlainLoginModule required username="me" password="a\\"b";')
    assert not {"kafka.sasl.username", "kafka.sasl.password"} & jvm.keys()
    assert librdkafka_options("b:1", options)["sasl.password"] == 'a"b'


def test_the_command_line_holds_flags_heap_and_class_path_and_passes_over_a_missing_archive() -> None:
    argv = command(["/jars/a.jar"], java_home="/java", heap="512m", archive="/does/not/exist")
    assert argv[0] == "/java/bin/java"
    assert set(FLAGS) < set(argv)
    assert "-Xmx512m" in argv
    assert argv[argv.index("-cp") + 1].startswith("/jars/a.jar:")
    assert not [flag for flag in argv if "SharedArchiveFile" in flag]


def test_an_archive_is_used_with_the_jars_that_it_was_made_of(tmp_path: Path) -> None:
    archive = tmp_path / "agent.jsa"
    (tmp_path / "jars").mkdir()
    for file in (archive, tmp_path / "jars" / "b.jar", tmp_path / "jars" / "a.jar"):
        file.touch()
    argv = command(["/jars/first.jar"], java_home="/java", heap="512m", archive=str(archive))
    assert f"-XX:SharedArchiveFile={archive}" in argv
    assert argv[argv.index("-cp") + 1] == f"/jars/first.jar:{tmp_path}/jars/a.jar:{tmp_path}/jars/b.jar"


def test_an_archive_without_its_jars_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "agent.jsa").touch()
    argv = command(["/jars/first.jar"], java_home="/java", heap="512m", archive=str(tmp_path / "agent.jsa"))
    assert not [flag for flag in argv if "SharedArchiveFile" in flag]
    assert "spark-core" in argv[argv.index("-cp") + 1]


@pytest.mark.parametrize(("heap", "first"), [("512m", "48m"), ("1024m", "1024m"), ("8192m", "8192m")])
def test_a_large_heap_is_laid_out_for_throughput(heap: str, first: str) -> None:
    argv = command(["/jars/a.jar"], java_home="/java", heap=heap)
    assert {f"-Xms{first}", f"-Xmx{heap}"} < set(argv)


@pytest.mark.parametrize(
    ("profile", "heap", "flags"),
    [
        ("small", "1024m", {"-Xms48m", "-XX:TieredStopAtLevel=1", "-Xss512k"}),
        ("standard", "1024m", {"-Xms48m", "-XX:NewRatio=1"}),
        ("large", "512m", {"-Xms512m", "-XX:NewRatio=1"}),
    ],
)
def test_a_profile_goes_before_what_the_heap_would_choose(profile: str, heap: str, flags: set[str]) -> None:
    argv = command(["/jars/a.jar"], java_home="/java", heap=heap, profile=profile)
    assert {*flags, f"-Xmx{heap}"} < set(argv)
    assert ("-XX:TieredStopAtLevel=1" in argv) is (profile == "small")


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_flag_is_one_that_a_jvm_passes_over_because_it_is_misspelt(profile: str) -> None:
    java = find_java().executable
    flags = [flag for flag in (*FLAGS, *PROFILES[profile]) if flag != "-XX:+IgnoreUnrecognizedVMOptions"]
    result = subprocess.run([java, *flags, "-version"], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr


def test_the_jvm_has_every_profile_that_a_definition_can_name() -> None:
    assert set(PROFILES) == set(get_args(JvmProfile))
