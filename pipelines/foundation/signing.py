"""The key by which an installation signs: Ed25519, derived from the key that all its processes share."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_PURPOSE = b"headgate/signing/v1"


class NotAKey(ValueError):
    """The text is not a public key."""


@dataclass(frozen=True)
class PublicKey:
    """What signatures are verified by: 32 bytes, in base64."""

    text: str

    @property
    def raw(self) -> bytes:
        """Its bytes. Raises NotAKey."""
        try:
            found = base64.b64decode(self.text, validate=True)
        except ValueError:
            found = b""
        if len(found) != 32:
            raise NotAKey("A public key is 32 bytes in base64.")
        return found

    @property
    def id(self) -> str:
        """A short name of the key: the begin of its SHA-256. Raises NotAKey."""
        return hashlib.sha256(self.raw).hexdigest()[:16]

    def verifies(self, signature: object, content: bytes) -> bool:
        """Whether `signature`, in base64, is that of the content. Raises NotAKey."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        try:
            key.verify(base64.b64decode(str(signature), validate=True), content)
        except (ValueError, InvalidSignature):
            return False
        return True


class Signer:
    """Signs with the key that belongs to `secret`, the same in every process of the installation."""

    def __init__(self, secret: str) -> None:
        seed = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret.encode())
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(base64.b64encode(self._key.public_key().public_bytes_raw()).decode())

    def sign(self, content: bytes) -> str:
        """The signature, in base64."""
        return base64.b64encode(self._key.sign(content)).decode()
