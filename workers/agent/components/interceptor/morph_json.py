"""Reshapes JSON objects: select, rename, cast and drop fields of the top level."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.ledger.ledger import Cause
from workers.agent.base import json_text
from workers.agent.base.event import Event
from workers.agent.graph.component import ON_ERROR, InterceptorBuilder
from workers.agent.graph.errors import with_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOT_JSON = "The body is not a JSON object."
_INTEGER = r"\A[+-]?[0-9]++(?:\.0++)?\z"
_NUMBER = r"\A[+-]?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?\z"


class Builder(InterceptorBuilder):
    """Rewrites the body; `on_error` decides about what cannot be rewritten."""

    @property
    def causes(self) -> frozenset[Cause]:
        """What becomes of events that cannot be rewritten."""
        return ON_ERROR[self.spec.on_error]

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """Body and error are columns of their own: what follows looks at them more than once."""
        column = f"morph of {self.place.path}"
        frame = frame.withColumn(f"{column}, fields", self._fields(event.text))
        fields = f.col(f"`{column}, fields`")
        frame = frame.withColumn(
            column, f.struct(_error(fields).alias("error"), json_text.written(fields).cast("binary").alias("body"))
        )
        morph = f.col(f"`{column}`")
        body = f.when(morph["error"].isNull(), morph["body"]).otherwise(event.body)  # a dead letter is what was read
        return frame, with_errors(event.with_body(body), morph["error"], self.spec.on_error, self.place)

    def _fields(self, text: Column) -> Column:
        """array<struct<name, value>> after all steps, null where the body is no object; a value that cannot be cast is
        null."""
        steps: list[Callable[[Column], Column]] = [self._select, self._rename, self._cast, self._drop]
        fields = reduce(lambda found, step: step(found), steps, json_text.entries(text))
        return f.when(json_text.is_object(text), fields)

    def _select(self, fields: Column) -> Column:
        names = self.spec.select
        return fields if names is None else f.filter(fields, lambda field: field["name"].isin(*names))

    def _rename(self, fields: Column) -> Column:
        for old, new in self.spec.rename.items():
            if new not in self.spec.rename:
                fields = f.when(json_text.has(fields, old), json_text.without(fields, [new])).otherwise(fields)
        if not self.spec.rename:
            return fields
        return f.transform(fields, lambda field: json_text.entry(self._new_name(field["name"]), field["value"]))

    def _new_name(self, name: Column) -> Column:
        return _by_name(name, {old: f.lit(new) for old, new in self.spec.rename.items()}, otherwise=name)

    def _cast(self, fields: Column) -> Column:
        if not self.spec.cast:
            return fields
        return f.transform(
            fields, lambda field: json_text.entry(field["name"], self._casted(field["name"], field["value"]))
        )

    def _casted(self, name: Column, value: Column) -> Column:
        casts = {known: _CASTS[kind](value) for known, kind in self.spec.cast.items()}
        return f.when(value == "null", value).otherwise(_by_name(name, casts, otherwise=value))

    def _drop(self, fields: Column) -> Column:
        return json_text.without(fields, self.spec.drop) if self.spec.drop else fields


def _by_name(name: Column, choices: dict[str, Column], *, otherwise: Column) -> Column:
    chosen = otherwise
    for known, column in choices.items():
        chosen = f.when(name == known, column).otherwise(chosen)
    return chosen


def _error(fields: Column) -> Column:
    """What is wrong with an event; null where it was reshaped."""
    wrong = f.get(f.filter(fields, lambda field: field["value"].isNull()), 0)["name"]
    cause = f.concat(f.lit('The value of "'), wrong, f.lit('" cannot be cast.'))
    return f.when(fields.isNull(), f.lit(_NOT_JSON)).otherwise(cause)


def _plain(value: Column) -> Column:
    """The characters of a string, the text of anything else."""
    return f.trim(f.when(json_text.is_string(value), json_text.decoded(value)).otherwise(value))


def _as_string(value: Column) -> Column:
    return f.when(json_text.is_string(value), value).otherwise(json_text.quoted(value))


def _as_integer(value: Column) -> Column:
    digits = f.regexp_replace(_plain(value), r"\A\+|\.0+\z", "")
    return f.when(_plain(value).rlike(_INTEGER), _without_zeros(digits))


def _as_number(value: Column) -> Column:
    return f.when(_plain(value).rlike(_NUMBER), _without_zeros(f.regexp_replace(_plain(value), r"\A\+", "")))


def _without_zeros(number: Column) -> Column:
    return f.regexp_replace(number, r"\A(-?)0+(?=[0-9])", "$1")


def _as_boolean(value: Column) -> Column:
    text = f.lower(_plain(value))
    return f.when(text.isin("true", "1"), f.lit("true")).otherwise(f.when(text.isin("false", "0"), f.lit("false")))


_CASTS: dict[str, Callable[[Column], Column]] = {
    "string": _as_string,
    "integer": _as_integer,
    "number": _as_number,
    "boolean": _as_boolean,
}
