"""What the sources that read lines of files have in common."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import ByteSize, HeaderName, refuse
from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.sources.source import SourceSpec
from pipelines.domain.regex.safety import safe_regex


def _file_name_pattern(pattern: str) -> str:
    safe_regex(pattern)
    try:
        re.compile(pattern)
    except re.error as error:
        refuse("bad_regex", f"{quote(pattern)} cannot be used for names of files: {error}.", "Use simpler syntax.")
    return pattern


FileNamePattern = Annotated[str, AfterValidator(_file_name_pattern)]
"""A Java regular expression for the whole name of a file, as far as Python reads it in the same way."""


class FileSourceSpec(SourceSpec):
    """A source of lines: how long one may be, and the headers that tell where it stood."""

    on_host: ClassVar[bool] = True
    max_line_bytes: Annotated[ByteSize, Field(ge=1)] = field(
        "The longest line. A longer one becomes a dead letter that says how long it was; it is never cut silently.",
        default=1 << 20,
        example="64KiB",
        unit="bytes",
    )
    file_header: bool = field("Add a header with the path of the file.", default=False, example=True)
    file_header_key: HeaderName = field("The name of the header with the path.", default="file", example="path")
    basename_header: bool = field("Add a header with the name of the file.", default=False, example=True)
    basename_header_key: HeaderName = field("The name of the header with the name.", default="basename", example="name")
    byte_offset_header: bool = field(
        "Add a header with the byte of the file at which the line begins.", default=False, example=True
    )
    byte_offset_header_key: HeaderName = field(
        "The name of the header with the byte.", default="byteoffset", example="offset"
    )
