"""The keys of the secret store: Fernet keys from a file or the environment, the first one current (MultiFernet).

The file is read whenever the keys are needed, so that another key takes effect without a restart. Without a usable key
the store is closed, which is told in words; everything that needs no secret works on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

PRIVATE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LARGEST_FILE = 64 * 1024


class StoreClosed(Exception):
    """There is no usable key; the text says why, `hint` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Undecryptable(Exception):
    """No key of this host decrypts the value."""


class Keyring:
    """Encrypts with the first key, decrypts with every one. Raises ValueError where one is not a Fernet key."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    def encrypt(self, value: str) -> str:
        """The value as it is stored."""
        return self._fernet.encrypt(value.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """The value itself. Raises Undecryptable."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise Undecryptable from None

    def rotate(self, stored: str) -> str:
        """The same value under the current key. Raises Undecryptable."""
        try:
            return self._fernet.rotate(stored.encode()).decode()
        except InvalidToken:
            raise Undecryptable from None


def open_keyring(keys: Sequence[str], file: Path) -> Keyring:
    """The keys given, or those in `file`, one a line, the current one first. Raises StoreClosed."""
    if keys:
        return Keyring(keys)
    lines = [line.strip() for line in _read(file).splitlines()]
    try:
        return Keyring([line for line in lines if line and not line.startswith("#")])
    except ValueError:
        message = f"{file} on this host does not hold one Fernet key a line."
        raise StoreClosed(message, f"Fix the file; `headgate add-secret-key --file {file}` creates keys.") from None


def _read(file: Path) -> str:
    try:
        with file.open(encoding="ascii") as opened:
            if os.fstat(opened.fileno()).st_mode & _OTHERS:
                message = f"{file} on this host can be read or written by others than its owner, so it is not used."
                raise StoreClosed(
                    message, f"Run `chmod 600 {file}`; rotate the keys if other users can have read them."
                )
            return opened.read(_LARGEST_FILE)
    except FileNotFoundError:
        raise StoreClosed(
            f"The secret store is unavailable: this host has no key file {file}.",
            "Run `headgate add-secret-key`, or set HEADGATE_SECRET_KEY_FILE or HEADGATE_SECRET_KEYS.",
        ) from None
    except (OSError, UnicodeDecodeError):
        message = f"The key file {file} cannot be read on this host."
        raise StoreClosed(message, "Make it readable by Headgate's user alone.") from None


def add_key(file: Path) -> None:
    """Put a new key, which becomes the current one, before those in `file`; the file is made where there is none.

    Raises StoreClosed where a file is there that cannot be used.
    """
    older = ""
    if file.exists():
        open_keyring([], file)
        older = _read(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as opened:
        opened.write(f"{Fernet.generate_key().decode()}\n{older}")
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
