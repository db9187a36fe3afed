"""Backends of secrets: the store, as ciphertext from the database and keys of this host, variables, and files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.definitions.parts.client_options import LONGEST_VALUE
from pipelines.foundation.keyring import Keyring, StoreClosed, Undecryptable
from pipelines.selectors.access.secrets import Stored, stored
from workers.ports import ABSENT, ON_THIS_HOST, Secrets, SecretValue, Unreadable, missing


def backends(
    variables: Mapping[str, str],
    directory: Path | None,
    secrets: Secrets,
    clusters: Secrets | None = None,
    vault: Secrets | None = None,
) -> dict[str, Secrets]:
    """The backends of a host by the kind of reference that they answer; `cluster`: of the definitions of clusters."""
    known = {"secret": secrets, "cluster": clusters, "vault": vault}
    found = {kind: backend for kind, backend in known.items() if backend is not None}
    return {**found, "env": EnvironmentSecrets(variables), "file": FileSecrets(directory)}


class StoredSecrets:
    """`workers.ports.Secrets` of one purpose from the database. `keyring` reads the keys and raises StoreClosed."""

    def __init__(self, keyring: Callable[[], Keyring], purpose: Purpose = Purpose.PIPELINES) -> None:
        self._keyring = keyring
        self._purpose = purpose

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        try:
            keyring = self._keyring()
        except StoreClosed as closed:
            return dict.fromkeys(names, Unreadable(str(closed), closed.hint))
        found = stored(names, self._purpose)
        return {
            name: _read(keyring, name, found[name]) if name in found else missing(name, self._purpose) for name in names
        }


def _read(keyring: Keyring, name: str, row: Stored) -> SecretValue | Unreadable:
    try:
        return SecretValue(keyring.decrypt(row.ciphertext), row.version, row.updated_at, row.team)
    except Undecryptable:
        hint = f"Give this host the key that it was stored under, or store it again: `headgate secrets set {name}`."
        return Unreadable(f"no key of this host decrypts the secret {name}.", hint)


class EnvironmentSecrets:
    """`workers.ports.Secrets` from variables of the worker, those alone that administrators offer."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        known = self._variables
        return {name: SecretValue(known[name]) if name in known else ABSENT["env"] for name in names}


class FileSecrets:
    """`workers.ports.Secrets` from the files below one directory; links and dots must not lead out of it."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        return {name: self._file(name) for name in names}

    def _file(self, name: str) -> SecretValue | Unreadable:
        """The file's text without its last line feed."""
        if self._directory is None:
            return Unreadable("it needs HEADGATE_FILE_REFERENCES, the directory of such files.", ON_THIS_HOST)
        path = (self._directory / name).resolve()
        if not path.is_relative_to(self._directory.resolve()):
            return Unreadable("it is outside the directory of such files.", ON_THIS_HOST)
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(LONGEST_VALUE + 2).removesuffix("\n")
        except (OSError, UnicodeDecodeError):
            return ABSENT["file"]
        if len(text) > LONGEST_VALUE:
            return Unreadable(f"it is longer than {LONGEST_VALUE} characters.", ON_THIS_HOST)
        return SecretValue(text)
