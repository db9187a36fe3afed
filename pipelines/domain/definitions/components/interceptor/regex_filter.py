"""Flume's RegexFilteringInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from pipelines.domain.definitions.parts.component import InterceptorSpec, field
from pipelines.domain.regex.safety import safe_regex


class RegexFilterInterceptor(InterceptorSpec):
    """Keeps, or drops, the events whose body has a match anywhere. What it drops is counted as filtered."""

    title: ClassVar[str] = "Regex filter"
    type: Literal["regex_filter"] = field("Chooses this interceptor.", example="regex_filter")
    regex: Annotated[str, AfterValidator(safe_regex)] = field(
        "A Java regular expression, searched for anywhere in the body. "
        "Patterns whose run time can explode are refused.",
        example=r"^\{",
    )
    exclude_events: bool = field("Drop the events that match, instead of keeping them.", default=False, example=True)
