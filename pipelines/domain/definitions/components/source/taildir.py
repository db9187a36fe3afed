"""Lines of growing files (Flume's TaildirSource)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import ComponentName, DirectoryPath, Duration, HeaderName
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.sources.file_source import FileNamePattern, FileSourceSpec


class FileGroup(Spec):
    """Files of one directory that belong together."""

    directory: DirectoryPath = field(
        "The directory on the owning host; it may be created later.",
        example="/var/log/shop",
        reach="read",
    )
    pattern: FileNamePattern = field(
        "A regular expression for the whole name of a file. Files are known by their inode: one that is renamed is "
        "followed under any name in the directory and is not read twice. Let the pattern cover the names that rotation "
        "gives where several rotations may happen while the agent is down.",
        example=r"shop\.log(\.\d+)?",
    )
    headers: dict[HeaderName, Annotated[str, Field(max_length=4096)]] = field(
        "Headers for every event of the group.", default={}, example={"service": "shop"}, max_length=32
    )


class TaildirSource(FileSourceSpec):
    """Follows the lines of growing files by inode and byte position, through rotation by renaming and by
    copy-and-truncate. A line ends with LF or CRLF; the last line waits for its end. The file that was modified longest
    ago is read first, and of files of one age the one that is first by name."""

    title: ClassVar[str] = "Growing files"
    type: Literal["taildir"] = field("Chooses this source.", example="taildir")
    file_groups: dict[ComponentName, FileGroup] = field(
        "The files to follow, in named groups.",
        example={"shop": {"directory": "/var/log/shop", "pattern": r"shop\.log(\.\d+)?"}},
        min_length=1,
        max_length=100,
    )
    skip_to_end: bool = field(
        "At the very first start, start at the end of existing files. Later files are read whole.",
        default=False,
        example=True,
    )
    scan_interval: Duration = field("How often the directories are scanned.", default=0.2, example="1s", unit="seconds")
    idle_timeout: Duration = field(
        "A file that has not grown for this long is closed, and a last line without an end is then read as it stands. "
        "0: such a line waits forever.",
        default=0.0,
        example="2m",
        unit="seconds",
    )
    max_file_share: int = field(
        "The most events of one file in one batch, so that a busy file does not starve the others. 0: no such limit.",
        default=0,
        example=100_000,
        unit="events",
        ge=0,
        le=100_000_000,
    )
