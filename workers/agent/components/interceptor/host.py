"""Flume's HostInterceptor: the address or the name of the driver's host, looked up once."""

from __future__ import annotations

import socket
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.base.log import say
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Builder(InterceptorBuilder):
    """Sets one header, or none where the host does not know its own address."""

    @cached_property
    def _value(self) -> str | None:
        name = socket.gethostname()
        try:
            return socket.gethostbyname(name) if self.spec.use_ip else socket.getfqdn(name)
        except OSError as error:
            say(
                f"{self.place.path}: the address of {name} cannot be found, so events do not get the header: {error}",
                "WARNING",
            )
            return None

    def initialise(self, spark: SparkSession) -> None:
        """Look the host up, within the time that initialisation has."""
        _ = self._value

    def apply(self, event: Event) -> Event:
        """Add the header."""
        if self._value is None:
            return event
        return event.with_header(
            self.spec.host_header, f.lit(self._value), preserve_existing=self.spec.preserve_existing
        )
