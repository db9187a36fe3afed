"""Keys of the secret store, in files and in the environment."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from controlplane.environment import InvalidEnvironment, load
from pipelines.foundation.keyring import Keyring, StoreClosed, Undecryptable, add_key, open_keyring


def key() -> str:
    return Fernet.generate_key().decode()


def test_what_was_encrypted_is_decrypted_and_unreadable_to_other_keys() -> None:
    stored = Keyring([key()]).encrypt("canary")
    assert "canary" not in stored
    with pytest.raises(Undecryptable):
        Keyring([key()]).decrypt(stored)


def test_a_new_key_before_the_old_one_reads_and_rotates() -> None:
    old, new = key(), key()
    stored = Keyring([old]).encrypt("canary")
    both = Keyring([new, old])
    assert both.decrypt(stored) == "canary"
    rotated = both.rotate(stored)
    assert Keyring([new]).decrypt(rotated) == "canary"
    with pytest.raises(Undecryptable):
        Keyring([old]).decrypt(rotated)


def test_a_made_key_file_is_private_and_a_second_key_goes_first(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "keys"
    add_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    stored = open_keyring([], file).encrypt("canary")
    (first,) = file.read_text().split()
    add_key(file)
    assert file.read_text().split()[1:] == [first]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_keyring([], file).decrypt(stored) == "canary"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_reach_is_not_used(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "keys"
    add_key(file)
    file.chmod(mode)
    with pytest.raises(StoreClosed, match="others than its owner") as closed:
        open_keyring([], file)
    assert "chmod 600" in closed.value.hint


@pytest.mark.parametrize("content", ["", "\n", "not a key\n", "x" * 100, "ümlaut"])
def test_a_file_without_keys_closes_the_store_without_showing_its_content(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.touch(mode=0o600)
    file.write_text(content)
    with pytest.raises(StoreClosed) as closed:
        open_keyring([], file)
    assert not content.strip() or content.strip() not in f"{closed.value}{closed.value.hint}"


def test_without_any_key_the_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreClosed) as closed:
        open_keyring([], tmp_path / "none")
    assert "headgate add-secret-key" in closed.value.hint
    assert "HEADGATE_SECRET_KEYS" in closed.value.hint


def test_keys_of_the_environment_need_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, new = key(), key()
    monkeypatch.setenv("HEADGATE_STATE", str(tmp_path))
    monkeypatch.setenv("HEADGATE_SECRET_KEYS", f"{new}, {old}")
    environment = load()
    assert environment.keyring().decrypt(Keyring([old]).encrypt("canary")) == "canary"
    assert new not in repr(environment)


def test_wrong_keys_in_the_environment_are_refused_at_the_start_without_showing_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADGATE_STATE", str(tmp_path))
    monkeypatch.setenv("HEADGATE_SECRET_KEYS", "canary")
    with pytest.raises(InvalidEnvironment, match="HEADGATE_SECRET_KEYS") as refused:
        load()
    assert "canary" not in str(refused.value)


def test_keys_have_one_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADGATE_SECRET_KEYS", key())
    monkeypatch.setenv("HEADGATE_SECRET_KEY_FILE", str(tmp_path / "keys"))
    with pytest.raises(InvalidEnvironment, match="both set"):
        load()


def test_the_key_file_is_below_the_state_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADGATE_STATE", str(tmp_path))
    assert load().key_file == tmp_path / "secret_store.keys"
    monkeypatch.setenv("HEADGATE_SECRET_KEY_FILE", str(tmp_path / "other"))
    assert load().key_file == tmp_path / "other"
