"""Reshapes JSON bodies: what a short morphline did behind Flume's MorphlineInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from pipelines.domain.base.values import refuse
from pipelines.domain.definitions.parts.component import InterceptorSpec, field

FieldName = Annotated[str, Field(min_length=1, max_length=256)]
JsonType = Literal["string", "integer", "number", "boolean"]


class MorphJsonInterceptor(InterceptorSpec):
    """Reshapes a body that is a JSON object: select, rename, cast and drop fields of its top level, in this order.

    What no key mentions keeps its place and its exact text: big numbers, decimals, nulls and nested values are copied
    as they are. A body that is no JSON object, and a value that cannot be cast, follow `on_error`.
    """

    title: ClassVar[str] = "Reshape JSON"
    type: Literal["morph_json"] = field("Chooses this interceptor.", example="morph_json")
    select: list[FieldName] | None = field(
        "The fields to keep; without it, all. One that an event lacks stays absent.",
        default=None,
        example=["id", "total", "customer"],
        min_length=1,
        max_length=1000,
    )
    rename: dict[FieldName, FieldName] = field(
        "New names by old ones. A field that had the new name before is replaced.",
        default={},
        example={"customer": "customer_id"},
        max_length=1000,
    )
    cast: dict[FieldName, JsonType] = field(
        "Types by names, after renaming. Null stays null. `integer` and `number` keep every digit; `string` takes the "
        "text of a number and the JSON of an object; `boolean` takes true, false, 1 and 0.",
        default={},
        example={"total": "number"},
        max_length=1000,
    )
    drop: list[FieldName] = field(
        "The fields to remove, by their names after renaming.", default=[], example=["debug"], max_length=1000
    )
    on_error: Literal["dead_letter", "fail", "drop"] = field(
        "What becomes of an event that cannot be reshaped: `dead_letter`; `fail` holds the batch until the definition "
        "is changed; `drop` counts it as filtered.",
        default="dead_letter",
        example="drop",
    )

    @model_validator(mode="after")
    def _does_something(self) -> MorphJsonInterceptor:
        if self.select is None and not (self.rename or self.cast or self.drop):
            refuse("nothing_to_do", "This changes no body.", "Add select, rename, cast or drop.")
        if len(set(self.rename.values())) < len(self.rename):
            refuse("repeated", "Two fields are renamed to one name.", "Give each a name of its own.")
        return self
