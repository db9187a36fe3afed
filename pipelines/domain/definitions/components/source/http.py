"""Events that are posted (Flume's HTTPSource)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipelines.domain.base.values import ByteSize, DirectoryPath, Syntax, refuse
from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.sources.push_source import PushSourceSpec

Address = Annotated[
    str, Syntax("bad_address", r"[0-9A-Fa-f:.]{2,45}|[A-Za-z0-9][A-Za-z0-9.-]{0,252}", "Write an address or host name.")
]
UrlPath = Annotated[str, Syntax("invalid_path", r"/[A-Za-z0-9._~/-]{0,255}", 'Start with "/", as in "/events".')]


class HttpSource(PushSourceSpec):
    """Takes events by POST. An event that was answered with 200 is in the ingest buffer, and is delivered. A full
    buffer is answered with 503 and Retry-After, and names what holds it up."""

    title: ClassVar[str] = "HTTP"
    type: Literal["http"] = field("Chooses this source.", example="http")
    bind: Address = field(
        "The address to listen on. By default only this machine reaches it; with another address, set a token and TLS.",
        default="127.0.0.1",
        example="10.0.0.5",
        reach="bind",
    )
    port: int = field("The port to listen on.", example=5140, unit="port number", ge=1, le=65_535)
    path: UrlPath = field("The path that takes events.", default="/", example="/events")
    handler: Literal["json", "blob"] = field(
        "`json`: the request is an array of objects with `headers` (texts) and `body` (text). `blob`: the whole "
        "request is the body of one event, and the parameters of the address are its headers.",
        default="json",
        example="blob",
    )
    token: str | None = field(
        "The bearer token that every request must carry, as a reference. Without it, every client that reaches the "
        "port can send.",
        default=None,
        example="${secret:shop-ingest}",
        secret=True,
        max_length=1024,
    )
    max_request_bytes: Annotated[ByteSize, Field(ge=1)] = field(
        "The largest request; a larger one is answered with 413.", default=10 << 20, example="1MiB", unit="bytes"
    )
    tls_certificate: DirectoryPath | None = field(
        "The file with the certificate chain (PEM) on the owning host; with it, the port speaks TLS 1.2 or newer only.",
        default=None,
        example="/etc/headgate/ingest.pem",
        reach="read",
    )
    tls_key: DirectoryPath | None = field(
        "The file with the private key (PEM) on the owning host.",
        default=None,
        example="/etc/headgate/ingest.key",
        reach="read",
    )

    @model_validator(mode="after")
    def _tls_is_whole(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            refuse("tls_incomplete", "A certificate and its key belong together.", "Give tls_certificate and tls_key.")
        return self
