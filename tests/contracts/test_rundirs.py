"""What the supervisor may expect of `RunDirs`, of the real disk and of the fake one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.hosts.disk import DiskSpace
from pipelines.domain.runs.protocol import (
    ACTIVE_LOCK,
    JOURNAL,
    RESERVE,
    Control,
    Launch,
    Promotion,
    SparkSettings,
    boot_id,
)
from workers.adapters.rundirs import LocalRunDirs
from workers.ports import RunDirs
from workers.simulated.host import SimulatedHost


@dataclass
class Subject:
    """An implementation, and how an agent appends to its journal."""

    rundirs: RunDirs
    append: Callable[[Path, bytes], None]
    remove: Callable[[Path], None]


@pytest.fixture(params=["real", "fake"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    if request.param == "fake":
        host = SimulatedHost(state_dir=tmp_path)
        return Subject(
            host,
            lambda run_dir, data: host.directories[run_dir].journal.extend(data),
            lambda run_dir: host.directories.__delitem__(run_dir),
        )

    def append(run_dir: Path, data: bytes) -> None:
        with (run_dir / JOURNAL).open("ab") as file:
            file.write(data)

    return Subject(LocalRunDirs(tmp_path), append, shutil.rmtree)


def _launch(run: int = 1, **changes: str) -> Launch:
    launch = Launch(
        pipeline="orders",
        pipeline_id="id",
        run=run,
        epoch=run,
        token="one",
        host="alpha",
        revision=1,
        revision_digest="d",
        definition={},
        lineage=1,
        checkpoint_root="/c",
        heads=[],
        spark=SparkSettings(classpath=[]),
    )
    return launch.model_copy(update=changes)


def _control(seq: int = 1) -> Control:
    return Control(seq=seq, command=Command.RUN, boot_id=boot_id(), issued_at=1.0)


def test_what_was_prepared_can_be_read(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    assert subject.rundirs.launch(path) == _launch()
    assert subject.rundirs.control(path) == _control()


def test_a_disk_is_known_before_and_after_the_directory_is_there(subject: Subject, tmp_path: Path) -> None:
    if isinstance(subject.rundirs, SimulatedHost):
        subject.rundirs.disk = DiskSpace(str(tmp_path), 1, 2)
    path = subject.rundirs.path("orders", 1)
    for _ in range(2):
        space = subject.rundirs.space(path)
        assert space is not None
        assert 0 < space.free <= space.total
        assert subject.rundirs.space() is not None
        assert not subject.rundirs.found_full(path)
        subject.rundirs.prepare(path, _launch(), _control())


def test_an_empty_reserve_says_that_the_disk_was_found_full(tmp_path: Path) -> None:
    rundirs = LocalRunDirs(tmp_path)
    path = rundirs.path("orders", 1)
    rundirs.prepare(path, _launch(), _control())
    (path / RESERVE).write_bytes(b"x")
    assert not rundirs.found_full(path)
    (path / RESERVE).write_bytes(b"")
    assert rundirs.found_full(path)


def test_preparing_again_keeps_the_launch_and_gives_the_new_command(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    subject.rundirs.prepare(path, _launch(host="another"), _control(2))
    assert subject.rundirs.launch(path) == _launch()
    assert subject.rundirs.control(path) == _control(2)


def test_an_order_reaches_a_directory_that_was_removed_and_does_not_hide_that(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    assert subject.rundirs.exists(path)
    subject.remove(path)
    assert not subject.rundirs.exists(path)
    subject.rundirs.write_control(path, _control(2))
    assert subject.rundirs.control(path) == _control(2)
    assert not subject.rundirs.exists(path)


def test_the_directory_of_another_run_is_not_taken_for_ours(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    with pytest.raises(FileExistsError):
        subject.rundirs.prepare(path, _launch(token="another"), _control(2))
    assert subject.rundirs.control(path) == _control()


def test_a_promotion_is_replaced_and_read(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 2)
    subject.rundirs.prepare(path, _launch(2), _control())
    assert subject.rundirs.promotion(path) is None
    for epoch in (3, 4):
        promotion = Promotion(token="one", epoch=epoch, lineage=1, checkpoint_root="/c", heads=[])
        subject.rundirs.promote(path, promotion)
        assert subject.rundirs.promotion(path) == promotion


def test_the_last_number_knows_the_epochs_of_promoted_runs(tmp_path: Path) -> None:
    rundirs = LocalRunDirs(tmp_path)
    rundirs.prepare(rundirs.path("orders", 2), _launch(2), _control())
    (rundirs.path("orders", 2).parent / ACTIVE_LOCK).write_text("7")
    assert rundirs.last_number("orders") == 7


def test_the_last_number_is_that_of_the_highest_directory(subject: Subject) -> None:
    assert subject.rundirs.last_number("orders") == 0
    for run in (2, 10):
        subject.rundirs.prepare(subject.rundirs.path("orders", run), _launch(run), _control())
    assert subject.rundirs.last_number("orders") == 10
    assert subject.rundirs.last_number("other") == 0


def test_what_is_not_there_is_none(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    rundirs = subject.rundirs
    readings = [rundirs.launch, rundirs.identity, rundirs.control, rundirs.status, rundirs.exit_record]
    assert [read(path) for read in readings] == [None] * 5


def test_a_journal_is_read_from_an_offset_up_to_a_limit(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    assert subject.rundirs.journal(path, 0, 100).size == 0
    subject.append(path, b"0123456789")
    chunk = subject.rundirs.journal(path, 4, 3)
    assert (chunk.offset, chunk.data, chunk.size) == (4, b"456", 10)


def test_a_journal_shorter_than_the_offset_says_its_size(subject: Subject) -> None:
    path = subject.rundirs.path("orders", 1)
    subject.rundirs.prepare(path, _launch(), _control())
    subject.append(path, b"0123")
    chunk = subject.rundirs.journal(path, 9, 100)
    assert (chunk.data, chunk.size) == (b"", 4)


def test_a_run_directory_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    rundirs = LocalRunDirs(tmp_path)
    path = rundirs.path("orders", 1)
    rundirs.prepare(path, _launch(), _control())
    assert path.stat().st_mode & 0o077 == 0
