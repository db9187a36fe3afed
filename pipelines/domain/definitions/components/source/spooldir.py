"""Finished files of a directory (Flume's SpoolDirectorySource)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from pipelines.domain.base.values import DirectoryPath, Duration, Syntax
from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.sources.file_source import FileNamePattern, FileSourceSpec


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


Suffix = Annotated[
    str, Syntax("invalid_suffix", r"[A-Za-z0-9._-]{1,32}", "Use letters, digits, dots, hyphens and underscores.")
]


class SpooldirSource(FileSourceSpec):
    """Reads whole files, line by line, in a fixed order. A file must be finished when it appears: write it elsewhere on
    the same file system, or under a name that is ignored, and rename it. One that changes afterwards is a finding."""

    title: ClassVar[str] = "Spooling directory"
    type: Literal["spooldir"] = field("Chooses this source.", example="spooldir")
    directory: DirectoryPath = field(
        "The directory on the owning host.",
        example="/var/spool/shop",
        reach="completed",
    )
    include_pattern: FileNamePattern = field(
        "A regular expression for the whole name of the files to read.", default=r"[^.].*", example=r".*\.csv"
    )
    ignore_pattern: FileNamePattern = field(
        "A regular expression for the whole name of files to leave alone; it wins.", default=r"^$", example=r".*\.part"
    )
    recursive: bool = field("Also read the directories below it.", default=False, example=True)
    consume_order: Annotated[Literal["oldest", "youngest", "random"], BeforeValidator(_lower)] = field(
        "The order in which files that wait are taken: by time of change, or any.", default="oldest", example="youngest"
    )
    completed: Literal["rename", "delete", "keep"] = field(
        "What becomes of a file once every required channel has delivered it.", default="rename", example="delete"
    )
    completed_suffix: Suffix = field(
        "What is added to the name of a delivered file with `completed: rename`; names with it are not read.",
        default=".COMPLETED",
        example=".done",
    )
    scan_interval: Duration = field("How often the directory is scanned.", default=0.5, example="5s", unit="seconds")
