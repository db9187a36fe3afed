"""Flume's SearchAndReplaceInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from pipelines.domain.definitions.parts.component import InterceptorSpec, field
from pipelines.domain.definitions.parts.text_charsets import charset_name
from pipelines.domain.regex.java_replacement import check_replacement
from pipelines.domain.regex.safety import safe_regex


class SearchReplaceInterceptor(InterceptorSpec):
    """Replaces every match in the body. A body without a match passes byte for byte."""

    title: ClassVar[str] = "Search and replace"
    type: Literal["search_replace"] = field("Chooses this interceptor.", example="search_replace")
    search_pattern: Annotated[str, AfterValidator(safe_regex)] = field(
        "A Java regular expression. Patterns whose run time can explode are refused.", example=r"\d{4}-\d{4}"
    )
    replace_string: Annotated[str, Field(max_length=10_000)] = field(
        r"What each match is replaced by: $1 is the first group, ${name} a named one, \$ a dollar sign.",
        default="",
        example="****-$1",
    )
    charset: Annotated[str, AfterValidator(charset_name)] = field(
        "How the body's bytes stand for characters.", default="UTF-8", example="ISO-8859-1"
    )

    @model_validator(mode="after")
    def _replacement_fits_the_pattern(self) -> SearchReplaceInterceptor:
        check_replacement(self.replace_string, self.search_pattern)
        return self
