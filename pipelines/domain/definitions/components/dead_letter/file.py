"""Files for dead letters."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import DirectoryPath
from pipelines.domain.definitions.parts.component import DeadLetterSpec, field


class FileDeadLetters(DeadLetterSpec):
    """Writes each dead letter as a line of JSON to a file of the day, in a directory of the owning host."""

    title: ClassVar[str] = "File"
    type: Literal["file"] = field("Chooses files.", example="file")
    path: DirectoryPath | None = field(
        "An absolute directory on the owning host; without it, one in Headgate's own state directory.",
        default=None,
        example="/data/orders-dead",
        reach="write",
    )
