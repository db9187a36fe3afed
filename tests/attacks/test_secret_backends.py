"""What is kept in Vault, variables and files goes where it is bound alone, and the way to Vault gives nothing away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.environment import Environment
from pipelines.domain.access.secret_bindings import SecretBinding, SecretUser
from pipelines.domain.access.vault_settings import VaultSettings
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from tests.attacks.test_exposure import definition
from tests.fakes.vault import ROLE, TOKEN, Vault, vault
from workers.adapters import vault as adapter
from workers.adapters.secrets import EnvironmentSecrets, FileSecrets
from workers.adapters.vault import VaultSecrets
from workers.ports import SecretValue, Unreadable
from workers.supervisor.launch.references import References, Resolved, of_pipeline

NAME = "kv/shop#password"
VALUE = "canary-90ab1c"
GOOD = SecretBinding(pipelines=("attack",), destinations=("good.example:443",))


@pytest.fixture
def server() -> Iterator[Vault]:
    with vault() as made:
        made.write("kv/shop", password=VALUE, port=5432)
        yield made


@pytest.fixture
def token(tmp_path: Path) -> Path:
    return private(tmp_path / "token", f"{TOKEN}\n")


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def secrets_of(server: Vault, token: Path, **more: Any) -> VaultSecrets:
    return VaultSecrets(VaultSettings(vault_addr=server.url, vault_token_file=token, **more))


def read(backend: VaultSecrets, name: str = NAME) -> SecretValue | Unreadable:
    return backend.read({name})[name]


def words(found: SecretValue | Unreadable) -> str:
    assert isinstance(found, Unreadable)
    assert found.hint
    for text in (TOKEN, VALUE, *ROLE.values()):
        assert text not in f"{found.reason} {found.hint}"
    return found.reason


def resolved(text: str, bindings: dict[str, SecretBinding], vault_secrets: Any = None, **sink: str) -> Resolved:
    """A definition whose sink has `text` as its token, resolved with a variable and a file on this host."""
    made = definition(sink={"type": "http", "url": "https://good.example/", "token": text, **sink})
    data = Definition.model_validate(made).plain()
    known = {"env": EnvironmentSecrets({"PASSWORD": VALUE}), "file": FileSecrets(None), "vault": vault_secrets}
    found = {name: bindings[name] for name in bindings}
    return References(known, bindings=lambda _: found).resolve(data, of_pipeline(SecretUser(name="attack")))


def codes(found: Resolved) -> list[str]:
    assert not (found.findings and found.values)
    return [each.code for each in found.findings]


def test_what_is_in_vault_goes_where_it_is_bound(server: Vault, token: Path) -> None:
    found = resolved("${vault:kv/shop#password}", {f"vault:{NAME}": GOOD}, secrets_of(server, token))
    assert found.values == {"${vault:kv/shop#password}": VALUE}
    assert VALUE in found.handover().masked
    assert found.versions == {f"vault:{NAME}": 1}


@pytest.mark.parametrize(
    ("bindings", "sink", "wanted"),
    [
        ({}, {}, ["UNRESOLVED_REFERENCE"]),
        ({f"vault:{NAME}": GOOD}, {"url": "https://evil.example/"}, ["SECRET_NOT_BOUND"]),
        ({f"vault:{NAME}": GOOD}, {"url": "http://good.example:443/"}, ["SECRET_NOT_ENCRYPTED"]),
        ({f"vault:{NAME}": GOOD.model_copy(update={"pipelines": ("other",)})}, {}, ["SECRET_NOT_BOUND"]),
    ],
)
def test_what_is_not_bound_is_not_even_asked_for(
    bindings: Any, sink: Any, wanted: list[str], server: Vault, token: Path
) -> None:
    assert codes(resolved("${vault:kv/shop#password}", bindings, secrets_of(server, token), **sink)) == wanted
    assert server.asked == []


def test_a_variable_goes_everywhere_until_it_is_bound() -> None:
    reference, evil = "${env:PASSWORD}", {"url": "https://evil.example/"}
    assert codes(resolved(reference, {}, **evil)) == []
    assert codes(resolved(reference, {"env:PASSWORD": GOOD}, **evil)) == ["SECRET_NOT_BOUND"]
    bound = resolved(reference, {"env:PASSWORD": GOOD})
    assert (codes(bound), bound.versions) == ([], {"env:PASSWORD": 0})
    assert VALUE in bound.handover().masked


def test_a_bound_variable_stands_where_nothing_shows_it() -> None:
    shown = resolved("${secret:s}", {"env:PASSWORD": GOOD}, url="https://good.example/${env:PASSWORD}")
    assert "secret_not_allowed" in codes(shown)


def test_what_is_in_vault_stands_where_secrets_stand() -> None:
    sink = {"type": "http", "url": "https://good.example/${vault:kv/shop#password}"}
    assert "secret_not_allowed" in {each.code for each in validate_data(definition(sink=sink)).findings}


@pytest.mark.parametrize(
    "name",
    ["kv/../sys/seal#x", "kv//shop#x", "kv/./shop#x", "kv#x", "kv/shop", "kv/shop#a#b", "/kv/shop#x", "kv/a?b#x"],
)
def test_no_name_leads_out_of_its_mount(name: str) -> None:
    sink = {"type": "http", "url": "https://good.example/", "token": f"${{vault:{name}}}"}
    assert {each.code for each in validate_data(definition(sink=sink)).findings} & {"bad_reference", "literal_secret"}


def test_a_token_that_every_user_reads_is_not_used(server: Vault, token: Path) -> None:
    token.chmod(0o644)
    assert "can be read by every user" in words(read(secrets_of(server, token)))
    assert server.asked == []


@pytest.mark.parametrize("text", ["", "two\nlines", "with space", "\x00"])
def test_a_file_that_holds_no_token_is_not_sent(text: str, server: Vault, tmp_path: Path) -> None:
    words(read(secrets_of(server, private(tmp_path / "odd", text))))
    words(read(secrets_of(server, tmp_path / "none")))
    assert server.asked == []


def test_another_server_is_never_given_the_token(server: Vault, token: Path) -> None:
    with vault() as evil:
        server.moved = evil.url
        assert "something else" in words(read(secrets_of(server, token)))
        assert evil.asked == []


def test_proxies_and_tokens_of_the_environment_are_not_used(
    server: Vault, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vault() as evil:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, evil.url)
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("VAULT_TOKEN", "hvs.another")
        assert isinstance(read(secrets_of(server, token)), SecretValue)
        assert evil.asked == []


def test_a_server_that_stalls_is_left_and_not_asked_for_every_name(server: Vault, token: Path) -> None:
    server.stalled = threading.Event()
    began = time.monotonic()
    found = secrets_of(server, token, vault_timeout=0.3).read({f"kv/a{number}#x" for number in range(20)})
    assert time.monotonic() - began < 10
    assert len(server.asked) == 1
    assert all("too slow" in words(each) for each in found.values())


def test_an_endless_answer_is_cut(server: Vault, token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_LARGEST_ANSWER", 50)
    words(read(secrets_of(server, token)))


def test_what_is_no_text_or_not_there_has_a_reason(server: Vault, token: Path) -> None:
    backend = secrets_of(server, token)
    assert "no text" in words(read(backend, "kv/shop#port"))
    assert "no text" in words(read(backend, "kv/shop#none"))
    assert "nothing there" in words(read(backend, "kv/none#x"))
    server.documents["kv/gone"] = [{"x": "1"}, None]
    assert "deleted" in words(read(backend, "kv/gone#x"))
    server.write("kv/odd", x="a\x00b")
    assert "control characters" in words(read(backend, "kv/odd#x"))


def test_several_keys_and_looks_are_one_request(server: Vault, token: Path) -> None:
    backend = secrets_of(server, token)
    backend.read({NAME, "kv/shop#port"})
    backend.read({NAME})
    assert len(server.asked) == 1


def test_a_token_is_exchanged_in_its_file(server: Vault, token: Path) -> None:
    backend = secrets_of(server, token)
    server.tokens = {"hvs.next"}
    assert "refuses" in words(read(backend))
    private(token, "hvs.next")
    server.write("kv/other", x="1")
    assert isinstance(read(backend, "kv/other#x"), SecretValue)


def role_of(server: Vault, tmp_path: Path, secret: str = ROLE["secret_id"]) -> VaultSecrets:
    role, proof = private(tmp_path / "role", ROLE["role_id"]), private(tmp_path / "proof", secret)
    settings = VaultSettings(vault_addr=server.url, vault_role_id_file=role, vault_secret_id_file=proof)
    return VaultSecrets(settings)


def test_a_host_logs_in_by_its_role_and_once_more_when_its_token_has_ended(server: Vault, tmp_path: Path) -> None:
    backend = role_of(server, tmp_path)
    assert isinstance(read(backend), SecretValue)
    server.tokens.clear()
    server.write("kv/other", x="1")
    assert isinstance(read(backend, "kv/other#x"), SecretValue)
    assert server.logins == 2


def test_a_wrong_role_is_refused_without_its_words(server: Vault, tmp_path: Path) -> None:
    assert "refuses" in words(read(role_of(server, tmp_path, "secret-8")))
    assert server.logins == 0
    assert len(server.asked) <= 2


def test_a_namespace_is_asked_in(server: Vault, token: Path) -> None:
    server.namespace = "team"
    words(read(secrets_of(server, token)))
    assert isinstance(read(secrets_of(server, token, vault_namespace="team")), SecretValue)


@pytest.mark.parametrize(
    "settings",
    [
        {"vault_addr": "http://vault.example.com:8200"},
        {"vault_addr": "https://user@vault.example.com"},
        {"vault_addr": "https://vault.example.com/v1"},
        {"vault_addr": "vault.example.com"},
        {"vault_token_file": None},
        {"vault_role_id_file": "/r", "vault_secret_id_file": "/s"},
        {"vault_token_file": None, "vault_role_id_file": "/r"},
        {"vault_timeout": 600},
    ],
)
def test_such_settings_are_refused(settings: dict[str, Any]) -> None:
    good = {"vault_addr": "https://vault.example.com:8200", "vault_token_file": "/t"}
    assert VaultSettings.model_validate(good)
    with pytest.raises(ValidationError):
        VaultSettings.model_validate(good | settings)


def test_no_pipeline_reaches_what_logs_in_to_vault(token: Path) -> None:
    here = Environment(vault_addr="https://vault.example.com", vault_token_file=token)
    assert str(token) in here.never_reached
