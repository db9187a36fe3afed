"""What the sinks have in common that speak HTTP: address, log-in, encryption, timeouts, when to try again."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import Duration, Syntax, refuse
from pipelines.domain.definitions.parts.component import SinkSpec, Spec, field

Url = Annotated[
    str,
    Syntax(
        "invalid_url",
        r"https?://(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9][A-Za-z0-9._-]{0,252})(?::[0-9]{1,5})?(?:/[^\s#@\x00-\x1f\x7f]*)?",
        'Write "https://host:port/path", without user name and fragment.',
    ),
]
_OWN_HEADERS = frozenset(
    {
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def _header(name: str) -> str:
    if name.lower() in _OWN_HEADERS:
        refuse("forbidden_header", f"The header {quote(name)} is written by the sink itself.", "Remove it.")
    return name


RequestHeader = Annotated[
    str,
    Syntax("invalid_header", r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", "Use a name that HTTP allows."),
    AfterValidator(_header),
]
RequestHeaderValue = Annotated[
    str, Syntax("invalid_header_value", r"[\x20-\x7e\t]{0,4096}", "Use printable ASCII characters.")
]
Status = Annotated[int, Field(ge=100, le=599)]


class Tls(Spec):
    """Encryption, all of it PEM text by reference. Without `ca` the authorities of the system are trusted."""

    ca: str | None = field(
        "The certificates of the authorities to trust, instead of the system's.",
        default=None,
        example="${file:ca.pem}",
    )
    certificate: str | None = field(
        "The certificate that this client shows.", default=None, example="${file:client.pem}"
    )
    private_key: str | None = field(
        "The private key of that certificate: a reference.", default=None, example="${secret:client-key}", secret=True
    )


class HttpSinkSpec(SinkSpec):
    """A sink that sends batches in requests, out of the executors."""

    username: str | None = field("User name of basic authentication.", default=None, example="writer", max_length=256)
    password: str | None = field(
        "Its password: a reference.", default=None, example="${secret:lake-password}", secret=True
    )
    token: str | None = field(
        "A bearer token instead: a reference.", default=None, example="${secret:lake-token}", secret=True
    )
    tls: Tls = field("Encryption.", default=Tls(), example={"ca": "${file:ca.pem}"})
    batch_size: int = field(
        "The most events in one request.", default=500, example=1000, unit="events", ge=1, le=100_000
    )
    batch_bytes: int = field(
        "The size at which a request is sent, before compression. One larger event travels alone.",
        default=1 << 20,
        example=5 << 20,
        unit="bytes",
        ge=1,
        le=100 << 20,
    )
    gzip: bool = field("Compress requests.", default=False, example=True)
    connect_timeout: Duration = field(
        "How long a connection may take to be made.", default=5.0, example="5s", unit="seconds", gt=0
    )
    read_timeout: Duration = field(
        "How long the server may be silent.", default=30.0, example="30s", unit="seconds", gt=0
    )
    total_timeout: Duration = field(
        "How long one request may take with all its repetitions; then the write has failed and the batch is held.",
        default=120.0,
        example="2m",
        unit="seconds",
        gt=0,
    )
    retry_statuses: list[Status] = field(
        "Statuses after which a request is sent again, with growing pauses and as Retry-After says.",
        default=[408, 425, 429, 500, 502, 503, 504],
        example=[429, 503],
        max_length=100,
    )
