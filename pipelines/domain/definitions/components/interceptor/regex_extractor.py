"""Flume's RegexExtractorInterceptor with its pass-through and milliseconds serialisers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, model_validator

from pipelines.domain.base.values import HeaderName, refuse
from pipelines.domain.definitions.parts.component import InterceptorSpec, Spec, field
from pipelines.domain.definitions.parts.time_patterns import parsing_pattern, time_zone
from pipelines.domain.regex.safety import safe_regex


class Serializer(Spec):
    """What becomes of one group: `pass_through` takes its text, `millis` reads it as a time."""

    name: HeaderName = field("The header to set; one that an event has is replaced.", example="order_id")
    type: Literal["pass_through", "millis"] = field(
        "`pass_through`: the text of the group. `millis`: the group's time in milliseconds since 1970; an event whose "
        "group is not such a time becomes a dead letter.",
        default="pass_through",
        example="millis",
    )
    pattern: Annotated[str, AfterValidator(parsing_pattern)] | None = field(
        "For `millis`: how the time is written, with the letters of Java's DateTimeFormatter.",
        default=None,
        example="yyyy-MM-dd HH:mm:ss",
    )
    timezone: Annotated[str, AfterValidator(time_zone)] = field(
        "For `millis`: the time zone of times without one.", default="UTC", example="Europe/Prague"
    )

    @model_validator(mode="after")
    def _times_have_a_pattern(self) -> Serializer:
        if self.type == "millis" and self.pattern is None:
            refuse("missing_key", "A millis serialiser needs a pattern.", "Add pattern, such as yyyy-MM-dd HH:mm:ss.")
        if self.type == "pass_through" and self.pattern is not None:
            refuse("unused_key", "A pattern has no meaning for pass_through.", "Write type: millis, or remove it.")
        return self


class RegexExtractorInterceptor(InterceptorSpec):
    """Sets headers to the groups of the first match in the body. An event without a match passes as it is."""

    title: ClassVar[str] = "Regex extractor"
    type: Literal["regex_extractor"] = field("Chooses this interceptor.", example="regex_extractor")
    regex: Annotated[str, AfterValidator(safe_regex)] = field(
        "A Java regular expression with groups, searched for anywhere in the body. Patterns whose run time can explode "
        "are refused.",
        example=r"^order (\d+) of (\w+)",
    )
    serializers: list[Serializer] = field(
        "One per group, in their order. Groups beyond the list, and serialisers beyond the groups, are not used; a "
        "group that took no part in the match is empty.",
        example=[{"name": "order_id"}, {"name": "customer"}],
        min_length=1,
        max_length=100,
    )
