"""Flume's UUIDInterceptor, by default with UUIDs that follow from the event's origin (version 5, RFC 9562)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.event import ORIGIN, Event
from workers.agent.graph.component import InterceptorBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "headgate:event")
"""Namespace of the UUIDs; the name is `pipeline/source/topic/partition/offset`, for further copies with `/copy`."""


class Builder(InterceptorBuilder):
    """Sets one header."""

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """A random UUID is a column of its own, so that whoever looks at the header later sees the same one."""
        if not self.spec.random:
            return frame, self._with(event, self._from_origin(event))
        column = f"uuid of {self.place.path}"
        return frame.withColumn(column, f.uuid()), self._with(event, f.col(f"`{column}`"))

    def _with(self, event: Event, value: Column) -> Event:
        prefixed = f.concat(f.lit(self.spec.prefix), value)
        return event.with_header(self.spec.header_name, prefixed, preserve_existing=self.spec.preserve_existing)

    def _from_origin(self, event: Event) -> Column:
        source = self.place.path.split(".")[1]
        name = f.concat_ws("/", f.lit(self.place.pipeline), f.lit(source), *(f.col(part) for part in ORIGIN))
        if event.copy is not None:
            name = f.when(event.copy > 0, f.concat_ws("/", name, event.copy)).otherwise(name)
        return _version_5(f.sha1(f.concat(f.lit(NAMESPACE.bytes), name.cast("binary"))))


def _version_5(digest: Column) -> Column:
    """The UUID of a SHA-1 digest in hexadecimal."""
    variant = f.translate(f.substring(digest, 17, 1), "0123456789abcdef", "89ab89ab89ab89ab")
    return f.concat(
        f.substring(digest, 1, 8),
        f.lit("-"),
        f.substring(digest, 9, 4),
        f.lit("-5"),
        f.substring(digest, 14, 3),
        f.lit("-"),
        variant,
        f.substring(digest, 18, 3),
        f.lit("-"),
        f.substring(digest, 21, 12),
    )
