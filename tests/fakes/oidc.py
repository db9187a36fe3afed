"""A real OpenID Connect provider (oidc-provider-mock) on a port of this process, and ways to have it lie.

What it signs is signed anew on the way out, so that tests choose claims, keys and algorithms; PKCE, which it does not
check, is checked here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import oidc_provider_mock
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from joserfc.jws import JWSRegistry
from oidc_provider_mock import User as ProvidedUser
from werkzeug.serving import make_server
from werkzeug.test import Client as Inside
from werkzeug.wrappers import Request, Response

CLIENT_ID = "headgate"
CLIENT_SECRET = "a secret: of Headgate"
Start = Callable[..., Any]


@dataclass
class FakeProvider:
    """Where it is, and what it does that it should not. `claims`: changed in the next ID tokens, None removes one;
    `metadata`: the same for its configuration; `answer`: for what it sends the browser back with."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, str] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    shared: bytes = b""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first"}))
    published: RSAKey | None = None
    requests: list[str] = field(default_factory=list)
    challenges: dict[str, str] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """The environment's settings that trust this provider."""
        from pydantic import SecretStr

        return {
            "oidc_issuer": self.url,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": SecretStr(CLIENT_SECRET),
            "public_url": "http://testserver",
        }


class _Outside:
    """The provider's application with what the test has changed."""

    def __init__(self, fake: FakeProvider, users: Iterable[ProvidedUser]) -> None:
        self._fake = fake
        self._inner = Inside(oidc_provider_mock.app(user_claims=list(users), require_nonce=True))

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        request = Request(environ)
        self._fake.requests.append(f"{request.method} {request.path}")
        body = request.get_data()
        if request.path == "/oauth2/token" and (refusal := self._refused(request, body)):
            return refusal(environ, start)
        answer = self._inner.open(
            request.full_path,
            method=request.method,
            data=body,
            headers=[(name, value) for name, value in request.headers if name != "Content-Length"],
            base_url=self._fake.url,
        )
        return self._changed(request, answer)(environ, start)

    def _refused(self, request: Request, body: bytes) -> Response | None:
        """Refuse what a strict provider refuses: a wrong client, and a verifier that belongs to no challenge."""
        form = dict(parse_qsl(body.decode()))
        auth = request.authorization
        known = (auth.username, auth.password) if auth else (form.get("client_id"), form.get("client_secret"))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = _base64(digest)
        secret_is_right = known in {(CLIENT_ID, quote(CLIENT_SECRET, safe="")), (CLIENT_ID, CLIENT_SECRET)}
        if secret_is_right and self._fake.challenges.pop(form.get("code", ""), None) == challenge:
            return None
        return Response(json.dumps({"error": "invalid_grant"}), status=400, content_type="application/json")

    def _changed(self, request: Request, answer: Any) -> Response:
        content, fake = answer.get_data(), self._fake
        headers = [(name, value) for name, value in answer.headers if name != "Content-Length"]
        if request.path == "/.well-known/openid-configuration":
            content = json.dumps(_with(json.loads(content), fake.metadata)).encode()
        elif request.path == "/jwks":
            public = fake.published or fake.key
            content = json.dumps(KeySet([public]).as_dict(private=False)).encode()
        elif request.path == "/userinfo":
            content = json.dumps(_with(json.loads(content), fake.userinfo)).encode()
        elif request.path == "/oauth2/token" and answer.status_code == 200:
            token = json.loads(content)
            token["id_token"] = self._signed(token["id_token"])
            content = json.dumps(token).encode()
        elif request.path == "/oauth2/authorize" and answer.status_code == 302:
            headers = [(name, self._back(request, value) if name == "Location" else value) for name, value in headers]
        return Response(content, status=answer.status_code, headers=headers)

    def _signed(self, text: str) -> str:
        payload = text.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        claims = _with(claims | {"auth_time": int(time.time())}, self._fake.claims)
        header = {"alg": self._fake.algorithm, **({"kid": self._fake.key.kid} if self._fake.key.kid else {})}
        if self._fake.algorithm in {"none", "HS256"}:
            signed = f"{_base64(json.dumps(header).encode())}.{_base64(json.dumps(claims).encode())}"
            digest = hmac.digest(self._fake.shared, signed.encode(), "sha256")
            return f"{signed}.{_base64(digest) if self._fake.algorithm == 'HS256' else ''}"
        registry = JWSRegistry(algorithms=[self._fake.algorithm])
        return jwt.encode(header, claims, self._fake.key, registry=registry)

    def _back(self, request: Request, location: str) -> str:
        parts = urlsplit(location)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "code" in query:
            self._fake.challenges[query["code"]] = request.args.get("code_challenge", "")
            assert request.args.get("code_challenge_method") == "S256"
        return parts._replace(query=urlencode(_with(query, self._fake.answer))).geturl()


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _with(found: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (found | changes).items() if value is not None}


@contextmanager
def provider(**users: dict[str, Any]) -> Iterator[FakeProvider]:
    """A provider with these users, by subject, and their claims."""
    fake = FakeProvider()
    known = [ProvidedUser(sub=subject, claims=claims) for subject, claims in users.items()]
    httpd = make_server("127.0.0.1", 0, _Outside(fake, known), threaded=True)
    fake.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        httpd.shutdown()
        thread.join(10)
        httpd.server_close()
