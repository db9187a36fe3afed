"""The values that a diagnostic bundle must not have, as far as this web process knows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db.models import Q
from pydantic import SecretStr

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.foundation.keyring import StoreClosed, Undecryptable
from pipelines.models import Pipeline, Revision, Run, Secret
from pipelines.selectors.access.secrets import secret_names

_LARGEST_FILE = 64 * 1024
_SHORTEST = 8
"""Shorter values of variables that are named like secrets are words and numbers."""
_NAMED = re.compile(r"PASSW|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|CREDENTIAL|_HEADERS$|_DSN$")


def installation_values() -> list[str]:
    """Secrets of the installation: in its settings, in the files that they name, and in the environment."""
    given = settings.HEADGATE
    fields = {name: getattr(given, name) for name in type(given).model_fields}
    direct = [value.get_secret_value() for value in fields.values() if isinstance(value, SecretStr)]
    parts = [each for value in direct for part in value.split(",") for each in (part, part.partition("=")[2])]
    files = [path for name, path in fields.items() if name.endswith("_file") and isinstance(path, Path)]
    lines = [line for path in [*files, given.key_file] for line in _lines(path)]
    with suppress(OSError):
        lines.append(given.signing_key())
    return [*direct, *map(str.strip, parts), *lines, *_variables(given.env_references)]


def _lines(path: Path) -> Iterator[str]:
    with suppress(OSError), path.open("rb") as file:
        lines = file.read(_LARGEST_FILE).decode("utf-8", "replace").splitlines()
        yield from (line.strip() for line in lines if not line.lstrip().startswith(("#", "-----")))


def _variables(references: Iterable[str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """Variables that definitions may refer to, and those that are named like secrets."""
    named = [value for name, value in environment.items() if _NAMED.search(name.upper()) and len(value) >= _SHORTEST]
    return [*named, *(environment[name] for name in references if name in environment)]


def stored_values(pipeline: Pipeline | None) -> tuple[list[str], str]:
    """Values in the secret store, for a pipeline without those that only others refer to; and why they are unknown,
    where they are."""
    rows = Secret.objects.exclude(ciphertext="")
    if pipeline is not None:
        rows = rows.filter(~Q(purpose=Purpose.PIPELINES) | Q(name__in=_names(pipeline)))
    stored = list(rows.values_list("ciphertext", flat=True))
    if not stored:
        return [], ""
    try:
        keyring = settings.HEADGATE.keyring()
    except StoreClosed as closed:
        return [], str(closed)
    found = []
    for ciphertext in stored:
        with suppress(Undecryptable):
            found.append(keyring.decrypt(ciphertext))
    return found, ""


def _names(pipeline: Pipeline) -> set[str]:
    definitions = Revision.objects.filter(pipeline=pipeline).values_list("definition", flat=True)
    given = Run.objects.filter(pipeline=pipeline).exclude(secret_versions={}).values_list("secret_versions", flat=True)
    return {name for each in definitions for name in secret_names(each)} | {name for each in given for name in each}
