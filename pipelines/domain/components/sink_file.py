"""Events as files in a directory of the owning host."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.component import SinkSpec, field
from pipelines.domain.values import DirectoryPath


class FileSink(SinkSpec):
    """Writes each batch to files in a directory on the host that runs the pipeline, exactly once."""

    title: ClassVar[str] = "File"
    type: Literal["file"] = field("Chooses this sink.", example="file")
    path: DirectoryPath = field(
        "An absolute directory on the owning host. It is created where it does not exist.", example="/data/orders"
    )
    format: Literal["json"] = field(
        "How an event is written. `json`: one object with headers and body on each line.",
        default="json",
        example="json",
    )
