"""Backup and restore: everything comes back as it was, on either database, and nothing else is accepted."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.core import serializers
from django.core.management import CommandError, call_command

from controlplane.backup import TEAMS, BackupError, _models, backup, check, restore
from pipelines.domain.base.roles import Role
from pipelines.models import (
    DEFAULT_TEAM,
    Event,
    Host,
    Identity,
    LedgerBatch,
    Passkey,
    Pipeline,
    RecoveryCode,
    Revision,
    RoleBinding,
    Secret,
    Team,
    Totp,
)
from pipelines.services.access import access
from tests.factories import (
    DeadLetterFactory,
    EventFactory,
    LedgerBatchFactory,
    PipelineFactory,
    PositionFactory,
    RunFactory,
    UserFactory,
    now,
)
from tests.postgres import running_postgres

pytestmark = pytest.mark.django_db
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def full() -> None:
    """A database with something of every kind that matters."""
    pipeline = PipelineFactory.create(name="orders", description="Grüße")
    run = RunFactory.create(pipeline=pipeline)
    LedgerBatchFactory.create_batch(3, run=run)
    PositionFactory.create(pipeline=pipeline, partition=2**63 - 1)
    DeadLetterFactory.create(run=run, body=bytes(range(256)))
    EventFactory.create(pipeline=pipeline)
    user = UserFactory.create(username="ana", role=Role.ADMIN)
    access.create_token(user=user, name="laptop", expires=None)
    Identity.objects.create(user=user, issuer="https://id.example.com", subject="s-1", created_at=now())
    Totp.objects.create(user=user, ciphertext="gAAAA", created_at=now(), last_step=2**40)
    RecoveryCode.objects.create(user=user, digest="0" * 64)
    Passkey.objects.create(user=user, name="key", credential="id", public=bytes(range(256)), created_at=now())
    stamped = {"created_at": now(), "updated_at": now(), "created_by": "ana", "updated_by": "ana"}
    Secret.objects.create(name="db/password", ciphertext="gAAAA", **stamped)
    Host.objects.update(seen_at=now() - timedelta(hours=1), lease_owner=None)


def everything() -> dict[str, list[str]]:
    """Every row, as text; the event that tells of a restore is left out."""
    found = {}
    for model in _models():
        rows = serializers.serialize("python", model._base_manager.order_by("pk"))
        found[model._meta.label] = [
            json.dumps(row, default=str, sort_keys=True)
            for row in rows
            if row["fields"].get("kind") != "database.restored"
        ]
    return found


def test_a_restore_brings_every_row_back_as_it_was(full: None, tmp_path: Path) -> None:
    before = everything()
    made = backup(tmp_path / "state.backup")
    assert made.total == sum(map(len, before.values()))
    LedgerBatch.objects.all().delete()
    Pipeline.objects.update(description="spoilt")
    User.objects.filter(username="ana").update(password="spoilt")
    PipelineFactory.create(name="later")
    Host.objects.update(lease_owner=None)
    restore(tmp_path / "state.backup", replace=True)
    assert everything() == before
    assert Event.objects.filter(kind="database.restored").count() == 1
    assert RoleBinding.objects.get(user__username="ana").role == Role.ADMIN


def without_teams(file: Path) -> None:
    """Make a backup one of a time when roles were groups, and revisions knew three roles."""
    header, *rows, _ = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
    header["migrations"] = [name for name in header["migrations"] if name < TEAMS]
    kept = [row for row in rows if row["model"] not in ("pipelines.team", "pipelines.rolebinding")]
    for row in kept:
        row["fields"].pop("team", None)
        if row["model"] == "pipelines.revision":
            row["fields"]["required_role"] = 3
        if row["model"] == "auth.user":
            row["fields"]["groups"] = [1, 2]
    groups = [
        {"model": "auth.group", "pk": pk, "fields": {"name": name, "permissions": []}}
        for pk, name in enumerate(("operator", "admin", "oidc:orders"), 1)
    ]
    lines = [json.dumps(each).encode() + b"\n" for each in (header, *groups, *kept)]
    footer = {"rows": len(lines) - 1, "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    file.write_bytes(gzip.compress(b"".join(lines) + json.dumps(footer).encode() + b"\n"))


def test_a_backup_of_before_there_were_teams_gives_all_to_the_default_one(full: None, tmp_path: Path) -> None:
    file = tmp_path / "state.backup"
    backup(file)
    without_teams(file)
    restore(file, replace=True)
    assert Pipeline.objects.get().team.name == Team.objects.get().name == DEFAULT_TEAM
    binding = RoleBinding.objects.select_related("user").get()
    assert (binding.user and binding.user.username, binding.team, binding.role) == ("ana", None, Role.ADMIN)
    assert [group.name for group in Group.objects.all()] == ["oidc:orders"]
    assert Revision.objects.get().required_role == Role.ADMIN


def test_a_full_database_is_replaced_only_when_that_is_said(full: None, tmp_path: Path) -> None:
    backup(tmp_path / "state.backup")
    with pytest.raises(BackupError, match="not empty"):
        restore(tmp_path / "state.backup", replace=False)


def test_nothing_is_restored_under_a_running_worker(full: None, tmp_path: Path) -> None:
    backup(tmp_path / "state.backup")
    Host.objects.update(seen_at=now(), lease_owner={"pid": 1, "start_time": 1, "boot_id": "b"})
    before = everything()
    with pytest.raises(BackupError, match="is running"):
        restore(tmp_path / "state.backup", replace=True)
    assert everything() == before


@pytest.mark.parametrize("cut", [10, 200, -2, -30])
def test_a_file_that_is_not_whole_is_refused_before_anything_is_touched(full: None, tmp_path: Path, cut: int) -> None:
    file = tmp_path / "state.backup"
    backup(file)
    before = everything()
    lines = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(lines[:cut]))
    with pytest.raises(BackupError):
        restore(file, replace=True)
    file.write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
    with pytest.raises(BackupError):
        check(file)
    assert everything() == before


def test_a_changed_row_and_a_newer_headgate_are_refused(full: None, tmp_path: Path) -> None:
    file = tmp_path / "state.backup"
    backup(file)
    text = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(text.replace(b'"orders"', b'"0rders"', 1)))
    with pytest.raises(BackupError, match="damaged"):
        check(file)
    (tmp_path / "other.gz").write_bytes(gzip.compress(b'{"format":"other"}\n{"rows":0,"sha256":""}\n'))
    with pytest.raises(BackupError, match="not a backup"):
        check(tmp_path / "other.gz")


def test_the_file_is_its_owners_alone_and_replaces_the_last_one_when_it_is_whole(full: None, tmp_path: Path) -> None:
    file = tmp_path / "state.backup"
    file.write_text("the last one")
    call_command("backup", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert check(file)["version"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["state.backup"]
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("backup", str(tmp_path / "missing" / "state.backup"))


def test_a_backup_of_one_database_is_restored_into_the_other(full: None, tmp_path: Path) -> None:
    with running_postgres() as address:
        assert_returned(tmp_path, HEADGATE_DATABASE_URL=address, HEADGATE_SECRET_KEY="a-key-for-tests-alone")


def test_processes_that_do_nothing_else_restore_and_back_up_an_embedded_database(full: None, tmp_path: Path) -> None:
    assert_returned(tmp_path)


def assert_returned(tmp_path: Path, **installation: str) -> None:
    """What is restored into another installation, and backed up there, by the commands, is what it was."""
    file, returned = tmp_path / "state.backup", tmp_path / "returned.backup"
    made = backup(file)
    env = {**os.environ, "HEADGATE_STATE": str(tmp_path / "state"), "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    for command in (["restore", str(file)], ["backup", str(returned)]):
        subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=PROJECT,
            env=env | installation,
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
        )
    assert _rows(returned) >= _rows(file)
    assert len(_rows(returned)) == made.total + 1  # the event that tells of the restore


def _rows(file: Path) -> set[str]:
    """Rows of a file; what a database adds by itself to times is none of their meaning."""
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    return {json.dumps(json.loads(line), sort_keys=True) for line in lines if '"model"' in line}
