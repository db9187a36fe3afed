"""Secrets in the KV engine, version 2, of a Vault server: read when they are needed, and kept for seconds."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from pipelines.domain.access.secrets import value_problem
from pipelines.domain.access.vault_settings import VaultSettings
from workers.ports import SecretValue, Unreadable

KEPT_SECONDS = 5.0
"""One start asks several times; a server that is away is not asked again so long either."""
_LARGEST_ANSWER = 1024 * 1024
_LARGEST_FILE = 16 * 1024
_AGAIN = "Headgate asks again at the next start."

_SLOW = Unreadable("Vault is sealed, away or too slow.", _AGAIN)

log = structlog.get_logger(__name__)


class _Refused(Exception):
    """Vault gave no value: why, and what to do."""

    def __init__(self, reason: str, hint: str = _AGAIN, *, logged_in: bool = True) -> None:
        super().__init__(reason)
        self.hint = hint
        self.logged_in = logged_in


class VaultSecrets:
    """`workers.ports.Secrets` from Vault: names are `mount/path#key`. One request at a time, each within the time limit
    of the settings, and all of them within twice that; after one that failed to reach the server, others are answered
    without asking, for seconds."""

    def __init__(self, settings: VaultSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Mapping[str, Any] | _Refused]] = {}
        self._away: tuple[float, _Refused] | None = None
        self._client: Any = None
        self._token = ""

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        limit = 2 * self._settings.vault_timeout
        if not self._lock.acquire(timeout=limit):
            return dict.fromkeys(names, _SLOW)
        try:
            ends = time.monotonic() + limit
            return {name: self._value(*name.split("#")) if time.monotonic() < ends else _SLOW for name in sorted(names)}
        finally:
            self._lock.release()

    def _value(self, path: str, key: str) -> SecretValue | Unreadable:
        try:
            return _of_key(self._document(path), key)
        except _Refused as refused:
            return Unreadable(str(refused), refused.hint)

    def _document(self, path: str) -> Mapping[str, Any]:
        """What Vault has at a path, as of the last seconds. Raises _Refused."""
        now = self._clock()
        at, found = self._kept.get(path, (0.0, None))
        if found is None or now - at > KEPT_SECONDS:
            self._kept = {each: kept for each, kept in self._kept.items() if now - kept[0] <= KEPT_SECONDS}
            try:
                found = self._asked(path)
            except _Refused as refused:
                found = refused
            self._kept[path] = self._clock(), found
        if isinstance(found, _Refused):
            raise found
        return found

    def _asked(self, path: str) -> Mapping[str, Any]:
        if self._away and self._clock() - self._away[0] <= KEPT_SECONDS:
            raise self._away[1]
        try:
            return self._read(path)
        except _Refused as refused:
            if refused.logged_in:
                raise
        self._client = None  # its token has ended: log in once more
        return self._read(path)

    def _read(self, path: str) -> Mapping[str, Any]:
        mount, _, rest = path.partition("/")
        client = self._opened()
        with self._reached(f"Let the policy of its token read {mount}/data/{rest}."):
            found = client.secrets.kv.v2.read_secret_version(rest, mount_point=mount, raise_on_deleted_version=True)
        if not isinstance(found, dict) or not isinstance(found.get("data"), dict):
            raise _Refused("Vault answered with something else than a secret.", "Check HEADGATE_VAULT_ADDR.")
        document: dict[str, Any] = found["data"]
        return document

    def _opened(self) -> Any:
        """A client that is logged in. A token is read from its file at each request, since others exchange it."""
        settings = self._settings
        if settings.vault_token_file:
            token = _line_of(settings.vault_token_file)
            if self._client is None or token != self._token:
                self._client, self._token = _client(settings, token), token
        elif self._client is None:
            client = _client(settings, "")
            role = {"role_id": settings.vault_role_id_file, "secret_id": settings.vault_secret_id_file}
            given = {name: _line_of(path) for name, path in role.items() if path}
            with self._reached("Check the role id and the secret id of this host."):
                client.auth.approle.login(**given)
            self._client = client
        return self._client

    @contextmanager
    def _reached(self, advice: str) -> Iterator[None]:
        """Its errors in words. The texts of Vault and of the client stay out of them: they quote what was sent."""
        from hvac import exceptions
        from requests import RequestException

        try:
            yield
        except exceptions.InvalidPath:
            raise _Refused("Vault has nothing there, or has deleted it.", "Check path and key.") from None
        except (exceptions.Forbidden, exceptions.Unauthorized, exceptions.InvalidRequest):
            by_token = self._settings.vault_token_file is not None
            raise _Refused("Vault refuses this host.", advice, logged_in=by_token) from None
        except (exceptions.VaultError, RequestException, OSError, ValueError, KeyError, TypeError) as error:
            log.warning("vault_is_away", cause=type(error).__name__)
            self._away = self._clock(), _Refused(_SLOW.reason)
            raise self._away[1] from None


def _of_key(document: Mapping[str, Any], key: str) -> SecretValue:
    data, metadata = document.get("data"), document.get("metadata") or {}
    value = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(value, str):
        raise _Refused(f"Vault has no text under the key {key} there.", "Check path and key.")
    if problem := value_problem(value):
        raise _Refused(f"Vault has what cannot be a secret: {problem}", "Store another text in Vault.")
    return SecretValue(value, _number(metadata.get("version")), _time(metadata.get("created_time")))


def _number(version: Any) -> int:
    return version if isinstance(version, int) and 0 < version < 2**31 else 0


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _line_of(path: Path) -> str:
    """The line in a file that no other user of the machine reads. Raises _Refused."""
    private = f"Run `chmod o= {path}`, and exchange what is in it."
    try:
        with path.open(encoding="ascii") as file:
            if os.fstat(file.fileno()).st_mode & stat.S_IRWXO:
                raise _Refused(f"{path} on this host can be read by every user, so it is not used.", private)
            text = file.read(_LARGEST_FILE).strip()
    except (OSError, UnicodeDecodeError):
        raise _Refused(f"{path} on this host cannot be read.", "Make it readable by Headgate's user.") from None
    if not text.isprintable() or not text or " " in text:
        raise _Refused(f"{path} on this host does not hold one line.", "Write it anew.")
    return text


def _client(settings: VaultSettings, token: str) -> Any:
    """A client that takes nothing from the environment, follows no redirection, and reads no endless answer."""
    import hvac
    import requests

    class Bounded(requests.Session):
        def request(self, *args: Any, **kwargs: Any) -> requests.Response:
            ends = time.monotonic() + settings.vault_timeout
            response = super().request(*args, **{**kwargs, "stream": True})
            with response:
                body = b""
                for chunk in response.iter_content(16 * 1024):
                    body += chunk
                    if len(body) > _LARGEST_ANSWER or time.monotonic() > ends:
                        raise requests.Timeout
            response._content = body
            return response

    session = Bounded()
    session.trust_env = False
    session.verify = str(settings.vault_ca_file) if settings.vault_ca_file else True
    return hvac.Client(
        settings.vault_addr,
        token=token,
        namespace=settings.vault_namespace or None,
        timeout=settings.vault_timeout,
        allow_redirects=False,
        session=session,
        verify=session.verify,
    )
