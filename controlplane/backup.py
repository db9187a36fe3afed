"""The control plane's state in one file that either database can read.

Lines of JSON, compressed: a header, one line per row, and a footer with their number and checksum, without which a file
is not whole. Secrets stay as they are in the database, encrypted; their keys are not in the file.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core import serializers
from django.core.management.color import no_style
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.db.migrations.loader import MigrationLoader

from pipelines.foundation import clock
from pipelines.migrations._roles_of_groups import bind
from pipelines.models import DEFAULT_TEAM, Host, Revision, RoleBinding, Team
from pipelines.services.access.teams import create_default_team
from pipelines.services.base import events

FORMAT = "headgate-backup"
VERSION = 1
APP = "pipelines"
TEAMS = "0045_teams"
"""The schema migration since which every pipeline has a team."""
CHUNK = 500
_SUPERVISED_WITHIN = timedelta(seconds=30)


class BackupError(Exception):
    """It cannot be done; nothing was changed. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class _Encoder(DjangoJSONEncoder):
    """Django's own, which cuts times to milliseconds, with whole times."""

    def default(self, o: Any) -> Any:
        """A value that JSON does not have."""
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


@dataclass(frozen=True)
class Summary:
    """What a file holds: rows by model, and when it was made."""

    created_at: str
    rows: dict[str, int]

    @property
    def total(self) -> int:
        """All rows."""
        return sum(self.rows.values())


def _models() -> list[type[models.Model]]:
    """Everything that is kept: users, and every table of our own."""
    return [Group, User, *apps.get_app_config(APP).get_models()]


def backup(path: Path) -> Summary:
    """Write everything, as it is at one moment, while others go on writing. Replaces `path` when it is whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="") as file, _snapshot():
                summary = _write(file)
            raw.flush()
            os.fsync(raw.fileno())
        temporary.replace(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error}.", "Choose another file, or free disk space.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return summary


@contextmanager
def _snapshot() -> Iterator[None]:
    """One moment of the database, for reading: no writer waits for it."""
    if connection.vendor == "sqlite":
        sqlite: Any = connection
        connection.ensure_connection()  # which sets the mode
        mode, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
        try:
            with transaction.atomic():
                yield
        finally:
            sqlite.transaction_mode = mode
        return
    nested = connection.in_atomic_block
    with transaction.atomic():
        if not nested:  # a transaction that has begun is of one kind until its end
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _write(file: gzip.GzipFile) -> Summary:
    created_at = clock.now().isoformat()
    digest, rows = hashlib.sha256(), {}
    header = {"format": FORMAT, "version": VERSION, "created_at": created_at, "migrations": _applied()}

    def line(document: dict[str, Any]) -> None:
        data = json.dumps(document, cls=_Encoder, separators=(",", ":")).encode() + b"\n"
        digest.update(data)
        file.write(data)

    line(header)
    for model in _models():
        found = model._base_manager.order_by("pk").iterator(chunk_size=CHUNK)
        number = 0
        for number, row in enumerate(serializers.serialize("python", found), 1):  # noqa: B007
            line(row)
        rows[model._meta.label] = number
    footer = {"rows": sum(rows.values()), "sha256": digest.hexdigest()}
    file.write(json.dumps(footer).encode() + b"\n")
    return Summary(created_at, rows)


def _applied() -> list[str]:
    return sorted(name for app, name in MigrationLoader(connection).applied_migrations if app == APP)


def check(path: Path) -> dict[str, Any]:
    """The header of a whole file. Raises BackupError where it is none, is damaged, or is of a newer Headgate."""
    digest, number, header, last = hashlib.sha256(), 0, None, b""
    try:
        with gzip.open(path, "rb") as file:
            for line in file:
                if last:
                    digest.update(last)
                    header = json.loads(last) if number == 0 else header
                    number += 1
                last = line
        footer = json.loads(last)
    except (OSError, EOFError, ValueError) as error:
        raise BackupError(f"{path} cannot be read: {error}.", "Is it a file of `headgate backup`?") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BackupError(f"{path} is not a backup of Headgate.", "Use a file of `headgate backup`.")
    if footer != {"rows": number - 1, "sha256": digest.hexdigest()}:
        raise BackupError(f"{path} is damaged or was cut off.", "Use another backup.")
    _require_known(header)
    return header


def _require_known(header: dict[str, Any]) -> None:
    known = {name for app, name in MigrationLoader(connection).disk_migrations if app == APP}
    newer = sorted(set(header["migrations"]) - known)
    if header["version"] > VERSION or newer:
        raise BackupError(
            f"The backup is of a newer Headgate; {newer[0] if newer else 'its format'} is not known to this version.",
            "Restore it with that version.",
        )


def restore(path: Path, *, replace: bool) -> Summary:
    """Put everything back, all or nothing. `replace`: what is there now is deleted. Raises BackupError."""
    header = check(path)
    with transaction.atomic():
        _require_free(replace=replace)
        for model in reversed(_models()):
            _empty(model)
        rows = _read(path) if TEAMS in header["migrations"] else _read_without_teams(path)
        connection.check_constraints()
        _reset_sequences()
        Host.objects.update(lease_owner=None, lease_until=None)
        message = f"The database was restored from a backup of {header['created_at']}."
        events.record(kind="database.restored", message=message, data={"created_at": header["created_at"]})
    return Summary(header["created_at"], rows)


def _require_free(*, replace: bool) -> None:
    awake = Host.objects.filter(lease_owner__isnull=False, seen_at__gte=clock.now() - _SUPERVISED_WITHIN).first()
    if awake is not None:
        raise BackupError(f"A worker of {awake.name} is running.", "Stop every worker and web server first.")
    full = [model._meta.label for model in _models() if _holds_rows(model)]
    if full and not replace:
        raise BackupError(f"The database is not empty: {', '.join(full[:5])}.", "Use --replace to delete its content.")


def _holds_rows(model: type[models.Model]) -> bool:
    """Whether there is more than what every database begins with."""
    rows = model._base_manager.all()
    return (rows.exclude(name=DEFAULT_TEAM) if model is Team else rows).exists()


def _empty(model: type[models.Model]) -> None:
    for field in model._meta.many_to_many:
        through: Any = field.remote_field.through
        through._base_manager.all()._raw_delete(connection.alias)
    model._base_manager.all()._raw_delete(connection.alias)


def _read_without_teams(path: Path) -> dict[str, int]:
    """Rows of a time without teams, when roles were groups: the default team owns every pipeline."""
    create_default_team()
    team = Team.objects.get(name=DEFAULT_TEAM).pk
    rows = _read(path, owner={"pipelines.pipeline": {"team": team}})
    bind(group=Group, binding=RoleBinding, revision=Revision)
    return rows


def _read(path: Path, owner: Mapping[str, dict[str, Any]] | None = None) -> dict[str, int]:
    """Insert every row; `owner`: fields that rows of a model get beside their own."""
    rows: dict[str, int] = {}
    with gzip.open(path, "rb") as file:
        documents = _documents(file, owner or {})
        while chunk := list(itertools.islice(documents, CHUNK)):
            for label, found in itertools.groupby(serializers.deserialize("python", chunk), key=_label):
                rows[label] = rows.get(label, 0) + _insert(list(found))
    return rows


def _documents(file: Iterable[bytes], owner: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows between header and footer."""
    for document in map(json.loads, file):
        if "model" in document:
            document["fields"] |= owner.get(document["model"], {})
            yield document


def _label(row: Any) -> str:
    return str(row.object._meta.label)


def _insert(rows: Sequence[Any]) -> int:
    """As they are: times that a row would be stamped with when it is saved stay what they were."""
    objects = [row.object for row in rows]
    model = type(objects[0])
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    at_once = max(1, connection.ops.bulk_batch_size(fields, objects))
    for start in range(0, len(objects), at_once):
        part = objects[start : start + at_once]
        model._base_manager._insert(part, fields=fields, using=connection.alias, raw=True)
    for row in rows:
        for name, values in (row.m2m_data or {}).items():
            getattr(row.object, name).set(values)
    return len(objects)


def _reset_sequences() -> None:
    statements = connection.ops.sequence_reset_sql(no_style(), _models())
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
