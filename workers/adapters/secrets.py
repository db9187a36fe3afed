"""The secret store, as a host reads it: ciphertext from the database, keys from this host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.foundation.keyring import Keyring, StoreClosed, Undecryptable
from pipelines.selectors.access.secrets import ciphertexts
from workers.ports import Unreadable, missing


class StoredSecrets:
    """`workers.ports.Secrets` of one purpose from the database. `keyring` reads the keys and raises StoreClosed."""

    def __init__(self, keyring: Callable[[], Keyring], purpose: Purpose = Purpose.PIPELINES) -> None:
        self._keyring = keyring
        self._purpose = purpose

    def read(self, names: Collection[str]) -> Mapping[str, str | Unreadable]:
        try:
            keyring = self._keyring()
        except StoreClosed as closed:
            return dict.fromkeys(names, Unreadable(str(closed), closed.hint))
        stored = ciphertexts(names, self._purpose)
        return {
            name: _read(keyring, name, stored[name]) if name in stored else missing(name, self._purpose)
            for name in names
        }


def _read(keyring: Keyring, name: str, ciphertext: str) -> str | Unreadable:
    try:
        return keyring.decrypt(ciphertext)
    except Undecryptable:
        hint = f"Give this host the key that it was stored under, or store it again: `headgate secrets set {name}`."
        return Unreadable(f"no key of this host decrypts the secret {name}.", hint)
