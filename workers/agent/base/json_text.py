"""JSON objects taken apart as text, so that whatever is not touched keeps every character.

Spark's own JSON functions read a number into a double and write it again; here values are cut out by regular
expressions. All repetitions are possessive: Java runs them in linear time and without recursion.
"""

from __future__ import annotations

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
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def is_object(text: Column) -> Column:
    """Whether the text is one JSON object by RFC 8259, and nothing else. Never null."""
    parsed = f.from_json(text, "map<string,string>", _STRICT)
    return f.coalesce(f.is_valid_utf8(text) & text.rlike(_OBJECT) & parsed.isNotNull(), f.lit(False))


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
