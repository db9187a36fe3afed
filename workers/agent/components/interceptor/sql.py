"""Expressions in Spark SQL: which events are kept, and what headers, body and key become.

Each expression is computed inside Spark's TryEval, which makes null of an exception, and inside a struct, which is
never null by itself: so an event that fails is told from a value that is null. Spark computes what expressions have in
common ahead of all of them, outside of any TryEval, unless it stands in a branch of a condition: hence `_guard`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pipelines.domain.base.findings import quote
from pipelines.domain.ledger.ledger import Cause
from pipelines.domain.runs.protocol import AgentFinding
from pipelines.domain.sql.checks import Problem
from pipelines.domain.sql.targets import Target, target
from workers.agent.base import json_text
from workers.agent.base.event import HEADER_MAP_TYPE, Event
from workers.agent.base.findings import Refused
from workers.agent.graph.component import ON_ERROR, InterceptorBuilder
from workers.agent.graph.errors import with_errors
from workers.agent.sql.catalyst import Catalyst, message_of, place_of_error
from workers.agent.sql.expression import Expression, Unfit, checked
from workers.agent.sql.permitted import offset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHERE = ("where",)
_CORRUPT = "headgate.corrupt"
"""Where Spark's parser leaves a body that does not fit; no schema may have a field of this name."""

_NOT_JSON = "The body is not JSON."
_DOES_NOT_FIT = "The body is not a JSON object that fits the schema."
_NO_OBJECT = "The body is not a JSON object, or what a field is set in is none."
_AS_TEXT = (
    t.StringType,
    t.BinaryType,
    t.BooleanType,
    t.NumericType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
    t.NullType,
)
_SHOWN = 200


class Builder(InterceptorBuilder):
    """Filters by `where`, then sets and drops; what cannot be computed follows `on_error`."""

    _expressions: Mapping[tuple[str, ...], Expression]

    @property
    def causes(self) -> frozenset[Cause]:
        """It filters, and what cannot be computed follows `on_error`."""
        filtered: frozenset[Cause] = frozenset({"filtered"} if self.spec.where is not None else {})
        return ON_ERROR[self.spec.on_error] | filtered

    def initialise(self, spark: SparkSession) -> None:
        """Have Spark parse and analyse the schema and every expression."""
        catalyst = Catalyst(spark)
        frame = _inputs_of_type(spark, self._json_type(spark))
        found: dict[tuple[str, ...], Expression] = {}
        findings: list[AgentFinding] = []
        for path, text in self.spec.expressions.items():
            try:
                found[path] = checked(catalyst, text, frame)
            except Unfit as unfit:
                findings += [self._finding(path, text, problem) for problem in unfit.problems]
            else:
                findings += [self._finding(path, text, problem) for problem in _of_type(path, found[path].type)]
        if findings:
            raise Refused(*findings)
        self._expressions = found

    def _finding(self, path: tuple[str, ...], text: str, problem: Problem) -> AgentFinding:
        place = self.place.path + "".join(f".{part}" if part.isidentifier() else f"[{quote(part)}]" for part in path)
        return AgentFinding(
            path=place, code=problem.code.upper(), message=problem.told(text), suggestion=problem.suggestion
        )

    def _json_type(self, spark: SparkSession) -> str:
        """The type of the parsed body. Raises Refused."""
        text = self.spec.json_schema
        if text is None:
            return "variant"
        try:
            parsed = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(text)  # type: ignore[union-attr]
            self._fields = t.StructType.fromJson(json.loads(parsed.json()))
            spark.range(0).select(f.from_json(f.lit(""), self._fields, json_text.STRICT))
        except Exception as error:
            problem = Problem("sql_schema", message_of(error), "Write it as in CREATE TABLE: id BIGINT, name STRING.")
            raise Refused(self._finding(("schema",), text, _at(problem, error, text))) from error
        if repeated := _repeated([*self._fields.names, _CORRUPT]):
            problem = Problem("sql_schema", f"The field {quote(repeated)} is there twice.", "Keep one of them.")
            raise Refused(self._finding(("schema",), text, problem))
        return self._fields.simpleString()

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """What is computed are columns of their own: what follows looks at them more than once."""
        return _Pass(self, frame, event).made()


class _Pass:
    """One frame on its way through the interceptor."""

    def __init__(self, builder: Builder, frame: DataFrame, event: Event) -> None:
        self._builder, self._frame, self._event = builder, frame, event
        self._catalyst = Catalyst(frame.sparkSession)
        self._expressions = builder._expressions
        self._spec, self._place = builder.spec, builder.place
        self._inputs = {"body": event.body.cast("string"), "key": event.key.cast("string")}
        self._guard = f.coalesce(f.octet_length(event.body), f.lit(0)) >= 0
        self._unreadable: Column = f.lit(None).cast("string")
        self._own = event.undecided

    def made(self) -> tuple[DataFrame, Event]:
        """The frame and the event in it."""
        self._read_inputs()
        kept, error = self._where()
        values, error = self._values(kept, error)
        body, error = self._body(kept, values, error)
        done = kept & error.isNull()
        event = self._changed(done, values, body)
        if self._spec.where is not None:
            event = event.keep_where(kept | error.isNotNull(), self._place.number)
        return self._frame, with_errors(event, error, self._spec.on_error, self._place)

    def _column(self, what: str, value: Column) -> Column:
        name = f"{what} of {self._place.path}"
        self._frame = self._frame.withColumn(name, value)
        return f.col(f"`{name}`")

    def _used(self, *paths: tuple[str, ...]) -> frozenset[str]:
        return frozenset().union(*(self._expressions[path].inputs for path in paths))

    def _read_inputs(self) -> None:
        used = self._used(*self._expressions)
        if used & {"headers", "timestamp"}:
            self._inputs["headers"] = self._column("headers", self._event.header_map())
            milliseconds = self._inputs["headers"]["timestamp"].cast("bigint")
            self._inputs["timestamp"] = f.timestamp_millis(milliseconds)
        if "json" in used:
            self._read_json()

    def _read_json(self) -> None:
        """The parsed body, and why there is none: both columns, since Spark would parse once for each mention."""
        text = self._event.text
        if self._spec.json_schema is None:
            parsed = self._column("json", f.try_parse_json(text))
            whole = f.coalesce(~text.rlike(r"\A\s*+[{]"), f.lit(False)) | json_text.has_form_of_object(text)
            self._unreadable = self._column("unreadable", f.when(parsed.isNull() | ~whole, f.lit(_NOT_JSON)))
            self._inputs["json"] = parsed
            return
        fields = t.StructType([*self._builder._fields.fields, t.StructField(_CORRUPT, t.StringType())])
        options = {**json_text.STRICT, "columnNameOfCorruptRecord": _CORRUPT}
        parsed = self._column("json", f.from_json(text, fields, options))
        fits = json_text.has_form_of_object(text) & parsed.isNotNull() & parsed[_CORRUPT].isNull()
        self._unreadable = self._column("unreadable", f.when(~f.coalesce(fits, f.lit(False)), f.lit(_DOES_NOT_FIT)))
        self._inputs["json"] = f.struct(*(parsed[name].alias(name) for name in self._builder._fields.names))

    def _where(self) -> tuple[Column, Column]:
        """Whether an event is kept, never null, and what is wrong with it so far. What an earlier component filtered
        or refused is left alone."""
        if self._spec.where is None:
            return self._own, f.lit(None).cast("string")
        tried = self._column("where", self._tried(_WHERE, self._own))
        failed = f.when(tried.isNull(), f.lit(self._cause(_WHERE)))
        error = f.coalesce(self._unreadable, failed) if "json" in self._used(_WHERE) else failed
        error = f.when(self._own, error)
        return f.coalesce(tried["value"], f.lit(False)) & error.isNull(), error

    def _values(self, kept: Column, error: Column) -> tuple[dict[str, Column], Column]:
        """The values of `set` by its keys, of the events that are kept."""
        paths = [path for path in self._expressions if path != _WHERE]
        if not paths:
            return {}, error
        wanted = kept & self._unreadable.isNull() if "json" in self._used(*paths) else kept
        tried = {path: self._tried(path, wanted).alias(str(n)) for n, path in enumerate(paths)}
        struct = self._column("set", f.struct(*tried.values()))
        made = {path: struct[str(n)] for n, path in enumerate(paths)}
        failures = [f.when(wanted & value.isNull(), f.lit(self._cause(path))) for path, value in made.items()]
        unreadable = [f.when(kept, self._unreadable)] if "json" in self._used(*paths) else []
        error = self._column("error", f.coalesce(error, *unreadable, *failures))
        return {path[1]: value["value"] for path, value in made.items()}, error

    def _body(self, kept: Column, values: Mapping[str, Column], error: Column) -> tuple[Column | None, Column]:
        """The new body, if there is one."""
        if "body" in values:
            return values["body"].cast("binary"), error
        if not (changes := _changes(self._spec.targets, values)):
            return None, error
        text = self._event.text
        wanted = kept & error.isNull() & json_text.is_object(text)
        made = self._column("body", f.when(wanted, json_text.changed(text, changes)))
        return made.cast("binary"), f.coalesce(error, f.when(kept & made.isNull(), f.lit(_NO_OBJECT)))

    def _changed(self, done: Column, values: Mapping[str, Column], body: Column | None) -> Event:
        """A dead letter is what was read: nothing changes but where all went well."""
        event = self._event
        if body is not None:
            event = event.with_body(f.when(done, body).otherwise(event.body))
        if "key" in values:
            event = event.with_key(f.when(done, values["key"].cast("binary")).otherwise(event.key))
        for each in self._spec.targets:
            if each.kind == "header":
                event = event.with_header_if(done, each.parts[1], values.get(each.name, f.lit(None).cast("string")))
        return event

    def _tried(self, path: tuple[str, ...], wanted: Column) -> Column:
        """A struct with the value where it is wanted, null where it cannot be computed."""
        expression = self._expressions[path]
        value = _converted(path, expression.bound(self._catalyst, self._inputs), expression.type)
        return self._catalyst.tried(f.struct(f.when(self._guard & wanted, value).alias("value")))

    def _cause(self, path: tuple[str, ...]) -> str:
        text = self._expressions[path].text
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        return f"{path[-1]} cannot be computed for this event: {shown}"


def _inputs_of_type(spark: SparkSession, json_type: str) -> DataFrame:
    """A frame whose columns are the inputs of expressions."""
    types = {"body": "string", "headers": HEADER_MAP_TYPE, "key": "string", "timestamp": "timestamp", "json": json_type}
    return spark.range(0).select(*(f.lit(None).cast(type_name).alias(name) for name, type_name in types.items()))


def _of_type(path: tuple[str, ...], type_: t.DataType) -> Iterator[Problem]:
    """What is wrong with the type of a value."""
    name = type_.simpleString().upper()
    if path == _WHERE:
        if not isinstance(type_, t.BooleanType):
            yield Problem("sql_type", f"The condition is {name}, not BOOLEAN.", "Compare it with something.")
    elif not isinstance(type_, _AS_TEXT) and not _is_field(path):
        yield Problem("sql_type", f"{name} is not written as text.", "Use to_json, or a cast to STRING.")


def _is_field(path: tuple[str, ...]) -> bool:
    found = target(path[-1])
    return found is not None and found.kind == "field"


def _converted(path: tuple[str, ...], value: Column, type_: t.DataType) -> Column:
    """A condition as it is, the value of a field as JSON, anything else as text or bytes."""
    if path == _WHERE:
        return value
    if _is_field(path):
        written = f.to_json(f.array(value))
        return f.substring(written, f.lit(2), f.length(written) - 2)
    return value if isinstance(type_, t.BinaryType) else value.cast("string")


def _changes(targets: list[Target], values: Mapping[str, Column]) -> dict[str, Any]:
    """What becomes of the fields of a body, as `json_text.changed` takes it."""
    changes: dict[str, Any] = {}
    for each in targets:
        if each.kind == "field":
            *outer, last = each.parts[1:]
            within = changes
            for name in outer:
                within = within.setdefault(name, {})
            within[last] = values.get(each.name)
    return changes


def _repeated(names: list[str]) -> str:
    """A name that is there twice, as Spark compares names, or nothing."""
    folded = [name.lower() for name in names]
    return next((name for name in names if folded.count(name.lower()) > 1), "")


def _at(problem: Problem, error: Exception, text: str) -> Problem:
    return Problem(problem.code, problem.message, problem.suggestion, offset(text, place_of_error(error)))
