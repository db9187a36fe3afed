"""What every backend of secrets does alike: values as they are, reasons instead of exceptions, all names at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.access.vault_settings import VaultSettings
from pipelines.foundation.keyring import Keyring, StoreClosed
from pipelines.services.access import secrets
from pipelines.services.base.audit import Actor
from tests.fakes.vault import TOKEN, vault
from workers.adapters.secrets import EnvironmentSecrets, FileSecrets, StoredSecrets
from workers.adapters.vault import VaultSecrets
from workers.ports import Secrets, SecretValue, Unreadable

pytestmark = pytest.mark.django_db
VALUE = "canary-33ab é / \u20ac"
KEY = Fernet.generate_key().decode()


@dataclass
class Backend:
    """One under test. `write` gives a name its next value, `close` takes away what it reads from."""

    secrets: Secrets
    write: Callable[[str, str], None]
    close: Callable[[], None]
    prefix: str = ""
    counts: bool = True

    def read(self, name: str) -> SecretValue | Unreadable:
        return self.secrets.read({f"{self.prefix}{name}"})[f"{self.prefix}{name}"]


def store() -> Backend:
    keys = [KEY]

    def keyring() -> Keyring:
        if not keys:
            raise StoreClosed("there is no key.", "Add one.")
        return Keyring(keys)

    def write(name: str, value: str) -> None:
        wanted = secrets.Wanted(Purpose.RECEIVERS)
        secrets.put(name=name, value=value, keyring=Keyring([KEY]), actor=Actor("ana"), wanted=wanted)

    return Backend(StoredSecrets(keyring, Purpose.RECEIVERS), write, keys.clear)


def environment() -> Backend:
    variables: dict[str, str] = {}
    return Backend(EnvironmentSecrets(variables), variables.__setitem__, variables.clear, counts=False)


def files(directory: Path) -> Backend:
    def write(name: str, value: str) -> None:
        (directory / name).write_text(f"{value}\n")

    def close() -> None:
        for each in directory.iterdir():
            each.unlink()

    return Backend(FileSecrets(directory), write, close, counts=False)


@pytest.fixture(params=["store", "environment", "files", "vault"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param != "vault":
        yield {"store": store, "environment": environment}.get(request.param, lambda: files(tmp_path))()
        return
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    with vault() as server:

        def write(name: str, value: str) -> None:
            server.write(f"kv/shop/{name.partition('#')[0]}", password=value)

        settings = VaultSettings(vault_addr=server.url, vault_token_file=tmp_path / "token")
        always_later = map(float, range(0, 9999, 9)).__next__
        made = VaultSecrets(settings, clock=always_later)
        yield Backend(made, write, lambda: setattr(server, "sealed", True), "kv/shop/")


def named(backend: Backend, name: str) -> str:
    return f"{name}#password" if backend.prefix else name


@pytest.mark.parametrize("value", [VALUE, "two\nlines", " spaces ", "x" * 65_536, '"quoted\\'])
def test_a_value_is_what_was_written(backend: Backend, value: str) -> None:
    backend.write("a", value)
    found = backend.read(named(backend, "a"))
    assert isinstance(found, SecretValue)
    assert found.text == value


def test_a_value_is_in_no_representation(backend: Backend) -> None:
    backend.write("a", "canary")
    assert "canary" not in repr(backend.read(named(backend, "a")))


def test_versions_grow_where_the_backend_counts_them(backend: Backend) -> None:
    found = []
    for value in ("one", "two"):
        backend.write("a", value)
        found.append(backend.read(named(backend, "a")))
    versions = [each.version for each in found if isinstance(each, SecretValue)]
    assert versions == ([1, 2] if backend.counts else [0, 0])
    assert all((each.changed_at is not None) is backend.counts for each in found if isinstance(each, SecretValue))


def test_a_name_that_is_not_there_has_a_reason_and_a_hint(backend: Backend) -> None:
    backend.write("a", VALUE)
    found = backend.read(named(backend, "b"))
    assert isinstance(found, Unreadable)
    assert found.reason.endswith(".")
    assert found.hint
    assert VALUE not in f"{found.reason} {found.hint}"


def test_all_names_are_answered_at_once_whatever_becomes_of_one(backend: Backend) -> None:
    backend.write("a", "one")
    backend.write("b", "two")
    names = {f"{backend.prefix}{named(backend, each)}" for each in ("a", "b", "c")}
    found = backend.secrets.read(names)
    assert found.keys() == names
    assert sorted(each.text for each in found.values() if isinstance(each, SecretValue)) == ["one", "two"]
    assert sum(isinstance(each, Unreadable) for each in found.values()) == 1


def test_a_backend_that_is_away_has_a_reason_and_raises_nothing(backend: Backend) -> None:
    backend.write("a", "one")
    backend.close()
    assert isinstance(backend.read(named(backend, "a")), Unreadable)
    assert not backend.secrets.read(set())
