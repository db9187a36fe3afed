"""Flume's RemoveHeaderInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, model_validator

from pipelines.domain.base.values import HeaderName, refuse
from pipelines.domain.definitions.parts.component import InterceptorSpec, field
from pipelines.domain.regex.safety import safe_regex, whole


def _matches_whole_names(pattern: str) -> str:
    safe_regex(whole(safe_regex(pattern)))
    return pattern


class RemoveHeaderInterceptor(InterceptorSpec):
    """Removes headers: one by its name, several by their names, or all whose whole name matches a pattern."""

    title: ClassVar[str] = "Remove headers"
    type: Literal["remove_header"] = field("Chooses this interceptor.", example="remove_header")
    with_name: HeaderName | None = field("A header to remove.", default=None, example="debug")
    from_list: list[HeaderName] = field("Headers to remove.", default=[], example=["debug", "trace"], max_length=1000)
    matching: Annotated[str, AfterValidator(_matches_whole_names)] | None = field(
        "A Java regular expression; headers whose whole name matches it are removed. Patterns whose run time can "
        "explode are refused.",
        default=None,
        example="x-internal-.*",
    )

    @model_validator(mode="after")
    def _removes_something(self) -> RemoveHeaderInterceptor:
        if self.with_name is None and not self.from_list and self.matching is None:
            refuse("nothing_to_do", "This removes no header.", "Add with_name, from_list or matching.")
        return self
