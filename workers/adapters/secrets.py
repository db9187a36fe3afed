"""The secret store, as a host reads it: ciphertext from the database, keys from this host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pipelines.foundation.keyring import Keyring, StoreClosed, Undecryptable
from pipelines.selectors.access.secrets import ciphertexts
from workers.ports import Unreadable


class StoredSecrets:
    """`workers.ports.Secrets` from the database. `keyring` reads the keys and raises StoreClosed."""

    def __init__(self, keyring: Callable[[], Keyring]) -> None:
        self._keyring = keyring

    def read(self, names: Collection[str]) -> Mapping[str, str | Unreadable]:
        try:
            keyring = self._keyring()
        except StoreClosed as closed:
            return dict.fromkeys(names, Unreadable(str(closed), closed.hint))
        stored = ciphertexts(names)
        return {name: _read(keyring, name, stored.get(name)) for name in names}


def _read(keyring: Keyring, name: str, ciphertext: str | None) -> str | Unreadable:
    if ciphertext is None:
        return Unreadable(f"there is no secret {name}.", f"Store it: `headgate secrets set {name}`.")
    try:
        return keyring.decrypt(ciphertext)
    except Undecryptable:
        hint = f"Give this host the key that it was stored under, or store it again: `headgate secrets set {name}`."
        return Unreadable(f"no key of this host decrypts the secret {name}.", hint)
