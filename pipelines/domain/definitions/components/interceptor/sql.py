"""Interceptors written in Spark's own language."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import refuse
from pipelines.domain.definitions.parts.component import InterceptorSpec, field
from pipelines.domain.sql.checks import LONGEST, expressions_in, is_volatile
from pipelines.domain.sql.functions import functions
from pipelines.domain.sql.targets import Target, target

MOST_SET = 50
MOST_DROPPED = 200


def _is_target(name: str) -> str:
    if target(name) is None:
        advice = "Write headers.NAME, body, body.FIELD with further names behind dots, or key."
        refuse("unknown_target", f"{quote(name)} is no part of an event.", advice)
    return name


def _can_be_dropped(name: str) -> str:
    if name in ("body", "key"):
        refuse("unknown_target", f"The {name} cannot be dropped.", f"Set {name} to NULL.")
    return _is_target(name)


Expression = Annotated[str, Field(max_length=LONGEST)]


def _with_functions(schema: JsonDict) -> None:
    """What an editor offers while an expression is written."""
    schema["functions"] = [
        {"name": each.name, "signature": each.signature, "description": each.description, "group": each.group}
        for each in functions().values()
    ]


class SqlInterceptor(InterceptorSpec):
    """Keeps the events for which an expression is true, and sets headers, body and key to the values of others.

    Expressions are Spark SQL over one event: `body` and `key` as text, `headers` as a map of texts, `timestamp` (the
    header `timestamp`, in milliseconds since 1970, as a time in UTC) and `json`, the parsed body: with `schema` a
    struct, without it a VARIANT. All of them see the event as it came; null is null and never guessed. A body that is
    not JSON where `json` is used, a value that cannot be cast, a division by zero: all that Spark's ANSI mode calls an
    error follows `on_error`. Spark itself checks expressions in `headgate test` and `rehearse`, in previews and before
    a start; what it has refused in a test is not published.
    """

    model_config = ConfigDict(serialize_by_alias=True, json_schema_extra=_with_functions)

    title: ClassVar[str] = "SQL"
    type: Literal["sql"] = field("Chooses this interceptor.", example="sql")
    where: Expression | None = field(
        "Keep only the events for which this is true; false and null are counted as filtered.",
        default=None,
        example="json.amount >= 10 AND headers['country'] = 'CZ'",
    )
    set: dict[Annotated[str, AfterValidator(_is_target)], Expression] = field(
        "Expressions by what they set: `headers.NAME`, `body`, `body.FIELD` (further names behind dots) or `key`. Null "
        "removes a header, leaves no body or key, and is the null of JSON in a field. Numbers, times and so on become "
        "text; a struct, map or array needs to_json.",
        default={},
        example={"headers.total": "json.amount * 2"},
        max_length=MOST_SET,
    )
    drop: list[Annotated[str, AfterValidator(_can_be_dropped)]] = field(
        "What to remove of the events that are kept: `headers.NAME` or `body.FIELD`.",
        default=[],
        example=["headers.debug", "body.card.number"],
        max_length=MOST_DROPPED,
    )
    json_schema: Annotated[str, Field(min_length=1, max_length=LONGEST)] | None = field(
        "The fields of a body that is a JSON object, as in CREATE TABLE; fields that are not named are left alone. A "
        "body that does not fit follows `on_error`. Without it, `json` is a VARIANT: json:customer.id::BIGINT.",
        default=None,
        example="id BIGINT, amount DECIMAL(18, 2), tags ARRAY<STRING>",
        alias="schema",
    )
    on_error: Literal["dead_letter", "fail", "drop"] = field(
        "What becomes of an event for which an expression cannot be computed: `dead_letter`; `fail` holds the batch "
        "until the definition is changed; `drop` counts it as filtered.",
        default="dead_letter",
        example="drop",
    )

    @model_validator(mode="after")
    def _does_something_once(self) -> SqlInterceptor:
        if self.where is None and not self.set and not self.drop:
            refuse("nothing_to_do", "This changes no event.", "Add where, set or drop.")
        for one, other in combinations(sorted(self.targets, key=lambda each: each.parts), 2):
            if one.contains(other):
                refuse("repeated", f"{one.name} and {other.name} decide about the same.", "Keep one of them.")
        return self

    @property
    def targets(self) -> list[Target]:
        """What is set or dropped."""
        return [found for name in (*self.set, *self.drop) if (found := target(name))]

    @property
    def expressions(self) -> dict[tuple[str, ...], str]:
        """All of them, by their paths below this interceptor."""
        return expressions_in({"where": self.where, "set": self.set})

    @property
    def repeatable(self) -> bool:
        """Not where an expression looks at the clock."""
        return not any(map(is_volatile, self.expressions.values()))
