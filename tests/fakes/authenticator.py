"""A security key of its own: it makes passkeys and signs challenges, as a browser hands them on."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_encode

PRESENT, HAS_CREDENTIAL = 0x01, 0x40


@dataclass
class Authenticator:
    """One passkey for one site. `origin`: the page that asks, which a browser states truthfully."""

    origin: str = "https://headgate.example.com"
    rp_id: str = "headgate.example.com"
    flags: int = PRESENT
    counter: int = 0
    credential_id: bytes = field(default_factory=lambda: os.urandom(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def make(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a registration."""
        public = cbor.encode(dict(ES256.from_cryptography_key(self.key.public_key())))  # type: ignore[no-untyped-call]
        length = len(self.credential_id).to_bytes(2, "big")
        attested = bytes(16) + length + self.credential_id + public
        data = self._data(self.flags | HAS_CREDENTIAL) + attested
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options)
        return self._credential(
            {"clientDataJSON": websafe_encode(client), "attestationObject": websafe_encode(attestation)}
        )

    def sign(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a challenge."""
        self.counter += 1
        data, client = self._data(self.flags), self._client("webauthn.get", options)
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._credential(
            {
                "clientDataJSON": websafe_encode(client),
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
            }
        )

    def _data(self, flags: int) -> bytes:
        return sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.counter.to_bytes(4, "big")

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def _credential(self, response: dict[str, str]) -> dict[str, Any]:
        identity = websafe_encode(self.credential_id)
        return {
            "id": identity,
            "rawId": identity,
            "type": "public-key",
            "response": response,
            "clientExtensionResults": {},
        }
