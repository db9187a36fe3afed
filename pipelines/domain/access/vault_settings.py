"""Where Vault is, and how a host logs in to it, as the environment says it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator, model_validator

from pipelines.domain.base.addresses import address_of


class VaultSettings(BaseModel):
    """`vault_addr`: the server, whose address begins with https:// unless it is loopback; without it, no `${vault:}` is
    resolved. `vault_ca_file`: authorities to trust instead of the system's. `vault_namespace`: of Vault Enterprise and
    OpenBao. `vault_token_file`: a file with a token, or `vault_role_id_file` and `vault_secret_id_file` for AppRole.
    `vault_timeout`: seconds for one request."""

    vault_addr: str = ""
    vault_ca_file: Path | None = None
    vault_namespace: str = ""
    vault_token_file: Path | None = None
    vault_role_id_file: Path | None = None
    vault_secret_id_file: Path | None = None
    vault_timeout: float = Field(default=5.0, ge=0.1, le=30)

    @field_validator("vault_addr")
    @classmethod
    def _is_an_encrypted_server(cls, value: str) -> str:
        parts = urlsplit(value)
        more = parts.path.strip("/") or parts.query or parts.fragment or "@" in value
        if value and (more or parts.scheme not in {"http", "https"} or not parts.hostname):
            raise ValueError("is not the address of a server, such as https://vault.example.com:8200")
        if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise ValueError("must begin with https://; http:// is for loopback alone")
        return value.rstrip("/")

    @field_validator("vault_ca_file", "vault_token_file", "vault_role_id_file", "vault_secret_id_file")
    @classmethod
    def _is_absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @model_validator(mode="after")
    def _logs_in_one_way(self) -> VaultSettings:
        role = [self.vault_role_id_file, self.vault_secret_id_file]
        ways = (self.vault_token_file is not None) + all(role)
        if (self.vault_addr and ways != 1) or any(role) is not all(role):
            raise ValueError(
                "HEADGATE_VAULT_ADDR needs HEADGATE_VAULT_TOKEN_FILE, or else both HEADGATE_VAULT_ROLE_ID_FILE and "
                "HEADGATE_VAULT_SECRET_ID_FILE"
            )
        return self

    @property
    def vault_files(self) -> list[Path]:
        """The files with what logs in to Vault."""
        return [each for each in (self.vault_token_file, self.vault_role_id_file, self.vault_secret_id_file) if each]


def _is_loopback(host: str) -> bool:
    address = address_of(host)
    return address.is_loopback if address else host == "localhost"
