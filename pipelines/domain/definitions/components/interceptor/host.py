"""Flume's HostInterceptor."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import HeaderName
from pipelines.domain.definitions.parts.component import InterceptorSpec, field


class HostInterceptor(InterceptorSpec):
    """Sets a header to the address or the name of the host that the agent runs on.

    Where the host has no address that can be found, the header is left out and the event passes.
    """

    title: ClassVar[str] = "Host"
    type: Literal["host"] = field("Chooses this interceptor.", example="host")
    host_header: HeaderName = field("The header to set.", default="host", example="agent_host")
    preserve_existing: bool = field("Leave the header alone where an event has it.", default=False, example=True)
    use_ip: bool = field("Set the IP address; otherwise the full host name.", default=True, example=False)
