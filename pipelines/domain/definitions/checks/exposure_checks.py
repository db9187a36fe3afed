"""Semantic findings about what a definition lays open: ports without a guard, credentials in sight, and texts that a
client would read as more than the value that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pipelines.domain.base.findings import Finding, PathParts, quote
from pipelines.domain.definitions.document.outline import Outline, error, parts
from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.parts.client_options import PEM_OPTIONS

_CREDENTIAL_NAME = re.compile(
    r"(?i)(?:^|[-_.])(?:auth|authorization|cookie|credentials?|jwt|passphrase|passwd|password|pat|secret|session|sig|"
    r"signature|token)(?:$|[-_.])|(?:api|access|account|auth|client|function|private|shared|subscription)[-_.]?keys?$|"
    r"^key$|[-_.]key$|(?:token|secret|password|apikey)$"
)
CREDENTIAL_VALUE = re.compile(
    r"(?i:^\s*(?:bearer|basic|digest|token|negotiate|apikey|aws4-hmac-sha256)\s+\S)|"
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}|\bAKIA[A-Z0-9]{12}|\b(?:ghp|gho|ghs|github_pat|glpat|xox[abp]|whsec)[_-]|"
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)|\bAIza[A-Za-z0-9_-]{20}|-----BEGIN"
)
_RANDOM = re.compile(r"[A-Za-z0-9+/_=-]{24,}")
_ONE_LINE = re.compile(r"[\n\r]")


def push_sources_are_guarded(outline: Outline) -> Iterator[Finding]:
    """Where other machines reach a port, a token says who may send, and TLS keeps it secret."""
    for source in outline.sources:
        bind = source.text("bind")
        if source.text("type") != "http" or bind is None or _is_loopback(bind):
            continue
        for key, advice in (
            ("token", 'Set token: "${secret:NAME}", or bind to 127.0.0.1 behind a proxy that asks for one.'),
            ("tls_certificate", "Set tls_certificate and tls_key, or bind to 127.0.0.1 behind a proxy with TLS."),
        ):
            if not source.keys.get(key):
                what = "without a token every client can send" if key == "token" else "without TLS it can be read"
                message = f"Other machines reach {quote(bind)}, and {what}."
                yield error((*source.path, "bind"), f"ingest_without_{key.split('_')[0]}", message, advice)


def _is_loopback(bind: str) -> bool:
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def request_headers_hold_no_credentials(outline: Outline) -> Iterator[Finding]:
    """What logs a sink in at a server is a reference: every viewer can read a definition."""
    for sink in outline.sinks:
        for name, value in sink.mapping("headers").items():
            if isinstance(value, str) and not REFERENCE.fullmatch(value) and looks_like_a_credential(str(name), value):
                message = f"The header {quote(name)} looks like a credential, which every viewer could read here."
                suggestion = 'Store it as a secret and write "${secret:NAME}" as the whole value.'
                yield error((*sink.path, "headers", str(name)), "literal_secret", message, suggestion)


def looks_like_a_credential(name: str, value: str) -> bool:
    """Whether a header is one that logs in, by its name or by what stands in it."""
    if not value.strip():
        return False
    return bool(_CREDENTIAL_NAME.search(name) or CREDENTIAL_VALUE.search(value)) or any(
        map(_is_random, _RANDOM.findall(value))
    )


def _is_random(text: str) -> bool:
    """Letters of both cases, or letters and digits, that change place too often for words."""
    kinds = [1 if each.isdigit() else 2 if each.isupper() else 3 if each.islower() else 0 for each in text]
    changes = sum(1 for one, other in pairwise(kinds) if one != other and one and other)
    return changes * 4 >= len(text)


def options_are_one_line(outline: Outline) -> Iterator[Finding]:
    """A line feed in a user name would end its line in what the client reads; only PEM texts have more than one."""
    for path, options in client_options(outline):
        for key, value in options.items():
            if isinstance(value, str) and key not in PEM_OPTIONS and _ONE_LINE.search(value):
                message = f"The value of {quote(key)} has a line feed."
                yield error((*path, key), "bad_option_value", message, "Write it on one line.")


def client_options(outline: Outline) -> Iterator[tuple[PathParts, dict[str, Any]]]:
    """The client options of every component, each with its place."""
    for part in (*outline.sources, *parts(outline.data, "channels"), *outline.sinks):
        yield (*part.path, "options"), part.mapping("options")
    errors = outline.data.get("errors")
    letters = errors.get("dead_letter") if isinstance(errors, dict) else None
    options = letters.get("options") if isinstance(letters, dict) else None
    if isinstance(options, dict):
        yield ("errors", "dead_letter", "options"), options


def databases_are_on_the_network(outline: Outline) -> Iterator[Finding]:
    """A socket of this machine logs in as the user of the agent, without a password and past every rule."""
    for sink in outline.sinks:
        dsn = sink.text("dsn")
        if dsn and not REFERENCE.fullmatch(dsn) and (problem := local_database(dsn)):
            advice = 'Write "postgresql://user@host:5432/database".'
            yield error((*sink.path, "dsn"), "unix_socket", problem, advice)


def local_database(dsn: str) -> str:
    """Why an address leads to a socket of this machine; empty where it names hosts, and nothing but hosts."""
    try:
        address = urlsplit(dsn)
        asked = dict(parse_qsl(address.query, keep_blank_values=True))
    except ValueError:
        return ""
    hosts = [unquote(each) for each in address.netloc.rpartition("@")[2].split(",")]
    for key in ("host", "hostaddr"):
        hosts = asked[key].split(",") if key in asked else hosts
    if any(not host.strip() or host.startswith((":", "/", "@")) for host in hosts):
        return "The address names no host, or the directory of a socket of this machine."
    return ""


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    push_sources_are_guarded,
    request_headers_hold_no_credentials,
    options_are_one_line,
    databases_are_on_the_network,
)
