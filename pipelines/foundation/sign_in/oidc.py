"""OpenID Connect, the side that relies on a provider: authorization code with PKCE, state and nonce, and an ID token
whose signature and claims are checked (Authlib). What is fetched is bounded, by HTTPS, and follows no redirect."""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from pipelines.foundation.errors import HeadgateError

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by the provider's own keys: neither `none` nor those by the client's secret."""
SECONDS = 5.0
LARGEST = 1 << 20
KEPT_SECONDS = 600.0
KEYS_AGAIN_SECONDS = 30.0
LEEWAY_SECONDS = 60
"""What clocks of two machines may differ by."""


class SignInFailed(HeadgateError):
    """The provider did not sign the user in, or what it said is not to be believed."""

    status = 403
    code = "sign_in_failed"
    title = "Not signed in"


@dataclass(frozen=True)
class Attempt:
    """What is known of a sign-in between its two requests. `fresh`: the provider has to ask the user again."""

    state: str
    nonce: str
    verifier: str
    began: float
    fresh: bool = False

    @classmethod
    def new(cls, *, fresh: bool) -> Attempt:
        """One that nobody can guess."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, time.time(), fresh)


@dataclass
class _Known:
    """What a provider has published, and when it was read."""

    metadata: dict[str, Any]
    at: float
    keys: dict[str, Any] = field(default_factory=dict)
    keys_at: float = 0.0


_known: dict[str, _Known] = {}


@dataclass(frozen=True)
class Provider:
    """One provider, as an administrator has set it up. Every method raises SignInFailed."""

    issuer: str
    client_id: str
    client_secret: str
    scopes: str
    redirect_uri: str

    def address(self, attempt: Attempt) -> str:
        """Where the user signs in."""
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": create_s256_code_challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        if attempt.fresh:
            parameters |= {"prompt": "login", "max_age": "0"}
        endpoint = self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters)}"

    def claims(self, answer: Mapping[str, str], attempt: Attempt, wanted: set[str]) -> dict[str, Any]:
        """What the provider says of the user who came back with `answer`; `wanted`: claims that are looked up at its
        userinfo endpoint where the ID token lacks them."""
        self._require_sender(answer)
        token = self._redeem(str(answer.get("code", "")), attempt)
        claims = self._verified(token, attempt)
        endpoint = self._metadata().get("userinfo_endpoint")
        if endpoint and token.get("access_token") and wanted - claims.keys():
            headers = {"Authorization": f"Bearer {token['access_token']}"}
            more = self._fetch("GET", self._endpoint("userinfo_endpoint"), headers=headers)
            if more.get("sub") != claims["sub"]:
                raise _unbelievable("its userinfo endpoint speaks of another user")
            claims |= {name: more[name] for name in wanted - claims.keys() if name in more}
        return claims

    def _require_sender(self, answer: Mapping[str, str]) -> None:
        """An answer of another provider (RFC 9207) would send its code to this one, or the other way round."""
        issuer = answer.get("iss")
        named = self._metadata().get("authorization_response_iss_parameter_supported") is True
        if (issuer is None and named) or (issuer is not None and issuer != self.issuer):
            raise _unbelievable("the answer came from another issuer")

    def _redeem(self, code: str, attempt: Attempt) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": attempt.verifier,
            "client_id": self.client_id,
        }
        auth = None
        methods = self._metadata().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self.client_secret and "client_secret_basic" in methods:
            auth = httpx2.BasicAuth(quote(self.client_id, safe=""), quote(self.client_secret, safe=""))
        elif self.client_secret:
            form["client_secret"] = self.client_secret
        return self._fetch("POST", self._endpoint("token_endpoint"), data=form, auth=auth)

    def _verified(self, token: dict[str, Any], attempt: Attempt) -> dict[str, Any]:
        text = token.get("id_token")
        if not isinstance(text, str):
            raise _unbelievable("it sent no ID token")
        options = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self.client_id},
            "exp": {"essential": True},
            "sub": {"essential": True},
        }
        expected = {
            "nonce": attempt.nonce,
            "client_id": self.client_id,
            "access_token": token.get("access_token"),
            "max_age": 1 if attempt.fresh else None,
        }
        try:
            signed = self._signed(text)
            claims = CodeIDToken(signed.claims, signed.header, options, expected)
            claims.validate(now=int(time.time()), leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError) as error:
            raise _unbelievable(f"its ID token is not valid ({type(error).__name__})") from error
        if not isinstance(claims["sub"], str) or not 1 <= len(claims["sub"]) <= 255:
            raise _unbelievable("its ID token names no user")
        if attempt.fresh and claims["auth_time"] < attempt.began - LEEWAY_SECONDS:
            raise SignInFailed(
                "The provider did not ask you to sign in again.",
                code="sign_in_not_fresh",
                hint="Sign out at the provider, then try again.",
            )
        return dict(claims)

    def _signed(self, text: str) -> jwt.Token:
        """The token, once its signature is right; keys are read again where it names one that is not known."""
        published = self._metadata().get("id_token_signing_alg_values_supported") or ["RS256"]
        registry = JWSRegistry(algorithms=[each for each in ALGORITHMS if each in published], strict_check_header=False)
        try:
            return jwt.decode(text, KeySet.import_key_set(self._keys()), registry=registry)
        except InvalidKeyIdError:
            return jwt.decode(text, KeySet.import_key_set(self._keys(again=True)), registry=registry)

    def _metadata(self) -> dict[str, Any]:
        known = _known.get(self.issuer)
        if known is None or time.monotonic() - known.at > KEPT_SECONDS:
            found = self._fetch("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            if not hmac.compare_digest(str(found.get("issuer")).encode(), self.issuer.encode()):
                raise _unbelievable("its configuration names another issuer")
            known = _known[self.issuer] = _Known(found, time.monotonic())
        return known.metadata

    def _keys(self, *, again: bool = False) -> Any:
        self._metadata()
        known = _known[self.issuer]
        if not known.keys or (again and time.monotonic() - known.keys_at > KEYS_AGAIN_SECONDS):
            known.keys, known.keys_at = self._fetch("GET", self._endpoint("jwks_uri")), time.monotonic()
        return known.keys

    def _endpoint(self, name: str) -> str:
        address = self._metadata().get(name)
        if not isinstance(address, str) or not is_confidential(address):
            raise _unbelievable(f"its configuration has no {name} with https://")
        return address

    def _fetch(self, method: str, address: str, **request: Any) -> dict[str, Any]:
        try:
            with (
                httpx2.Client(timeout=SECONDS, follow_redirects=False) as client,
                client.stream(method, address, **request) as response,
            ):
                content = _bounded(response)
                document = json.loads(content)
        except (httpx2.HTTPError, ValueError) as error:
            raise _away(f"{urlsplit(address).netloc} gave no answer that can be read") from error
        if response.status_code != 200 or not isinstance(document, dict):
            raise _away(f"{urlsplit(address).netloc} answered {response.status_code}")
        return document


def is_confidential(address: str) -> bool:
    """Whether nobody on the way reads and changes what is sent: HTTPS, or this machine."""
    parts = urlsplit(address)
    if parts.scheme == "http":
        try:
            return parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
        except ValueError:
            return False
    return parts.scheme == "https" and bool(parts.hostname)


def _bounded(response: httpx2.Response) -> bytes:
    content = b""
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > LARGEST:
            raise ValueError("too long")
    return content


def _unbelievable(reason: str) -> SignInFailed:
    hint = (
        "Try again. If it fails again, ask an administrator to compare the settings HEADGATE_OIDC_* with the provider."
    )
    return SignInFailed(f"The answer of the provider was refused: {reason}.", code="sign_in_not_verified", hint=hint)


def _away(reason: str) -> SignInFailed:
    return SignInFailed(f"The provider could not be asked: {reason}.", code="provider_unavailable", hint="Try again.")
