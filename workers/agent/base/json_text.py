"""JSON objects taken apart as text, so that whatever is not touched keeps every character.

Spark's own JSON functions read a number into a double and write it again; here values are cut out by regular
expressions. All repetitions are possessive: Java runs them in linear time and without recursion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as f

DEEPEST = 100
"""Levels of nesting; what is nested deeper counts as no JSON."""

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _nested(levels: int) -> str:
    """An object or array, `levels` deep at most."""
    plain = r'[^"\[\]{}]'
    pattern = rf"[\[{{](?:{plain}++|{STRING})*+[\]}}]"
    for _ in range(levels - 1):
        pattern = rf"[\[{{](?:{plain}++|{STRING}|{pattern})*+[\]}}]"
    return pattern


_VALUE = rf"{STRING}|{_nested(DEEPEST - 1)}|[^\s,\"\[\]{{}}]++"
_ENTRY = rf"\G\s*+[{{,]\s*+({STRING})\s*+:\s*+({_VALUE})"
_OBJECT = rf"\A\s*+\{{(?:[^\"\[\]{{}}]++|{STRING}|{_nested(DEEPEST - 1)})*+\}}\s*+\z"
STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of Spark's parser of JSON."""

_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def is_object(text: Column) -> Column:
    """Whether the text is one JSON object by RFC 8259, and nothing else. Never null."""
    parsed = f.from_json(text, "map<string,string>", STRICT)
    return has_form_of_object(text) & parsed.isNotNull()


def has_form_of_object(text: Column) -> Column:
    """Whether the text looks like one JSON object from end to end; a parser may refuse it yet. Never null."""
    return f.coalesce(f.is_valid_utf8(text) & text.rlike(_OBJECT), f.lit(False))


def entries(text: Column) -> Column:
    """array<struct<name, value>> of an object: decoded names in their order, and the values as they are written."""
    names = f.regexp_extract_all(text, f.lit(_ENTRY), f.lit(1))
    values = f.regexp_extract_all(text, f.lit(_ENTRY), f.lit(2))
    return f.zip_with(names, values, lambda name, value: f.struct(decoded(name).alias("name"), value.alias("value")))


def decoded(written: Column) -> Column:
    """The characters that a JSON string stands for."""
    plain = f.substring(written, f.lit(2), f.length(written) - 2)
    return f.when(f.contains(written, f.lit("\\")), f.get_json_object(written, "$")).otherwise(plain)


def is_string(written: Column) -> Column:
    """Whether a value is a string."""
    return f.startswith(written, f.lit('"'))


def quoted(text: Column) -> Column:
    """JSON text, without line ends inside its strings, as a JSON string."""
    for character, escape in _ESCAPES:
        text = f.replace(text, f.lit(character), f.lit(escape))
    return f.concat(f.lit('"'), text, f.lit('"'))


Changes: TypeAlias = Mapping[str, "Column | Changes | None"]
"""New values of the fields of an object, as JSON; a mapping: of the object in a field; None: the field goes."""


def changed(text: Column, changes: Changes) -> Column:
    """An object with some of its fields replaced, added at its end or removed. Null where a change leads through what
    is no object."""
    fields = entries(text)
    gone = [name for name, change in changes.items() if change is None]
    kept = without(fields, gone) if gone else fields
    new = {name: change for name, change in changes.items() if change is not None}
    replaced = f.transform(kept, lambda field: entry(field["name"], _replaced(field, new)))
    added = [
        f.when(~has(kept, name), entry(f.lit(name), value))
        for name, change in new.items()
        if (value := _new(change)) is not None
    ]
    whole = f.concat(replaced, f.array_compact(f.array(*added))) if added else replaced
    fits = ~f.exists(whole, lambda field: field["value"].isNull())
    return f.when(fits, written(whole))


def _replaced(field: Column, changes: Mapping[str, Column | Changes]) -> Column:
    value = field["value"]
    chosen = value
    for name, change in changes.items():
        within = change if isinstance(change, Column) else f.when(value.startswith("{"), changed(value, change))
        chosen = f.when(field["name"] == name, within).otherwise(chosen)
    return chosen


def _new(change: Column | Changes) -> Column | None:
    """The value of a field that was not there; None where there is nothing to write into it."""
    if isinstance(change, Column):
        return change
    within = {name: value for name, each in change.items() if each is not None and (value := _new(each)) is not None}
    pairs = [entry(f.lit(name), value) for name, value in within.items()]
    return written(f.array(*pairs)) if pairs else None


def entry(name: Column, value: Column) -> Column:
    """A field of an object: its name, and its value as it is written."""
    return f.struct(name.alias("name"), value.alias("value"))


def has(fields: Column, name: str) -> Column:
    """Whether there is a field of this name."""
    return f.exists(fields, lambda field: field["name"] == name)


def without(fields: Column, names: list[str]) -> Column:
    """The other fields."""
    return f.filter(fields, lambda field: ~field["name"].isin(*names))


def written(fields: Column) -> Column:
    """The text of an object."""
    pairs = f.transform(fields, lambda field: f.concat(_name_written(field["name"]), f.lit(":"), field["value"]))
    return f.concat(f.lit("{"), f.array_join(pairs, ","), f.lit("}"))


def _name_written(name: Column) -> Column:
    return f.regexp_extract(f.to_json(f.array(name)), r"\A\[(.*)\]\z", 1)
