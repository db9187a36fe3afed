"""Which expressions may be evaluated: lists of what is allowed, of the tree as it is written and as Spark resolves it.

A name is checked where it is written, and once more by the class that Spark has made of it: a name without brackets may
be a function, a function may be another one than its name says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticCustomError

from pipelines.domain.base.findings import did_you_mean, listed, quote
from pipelines.domain.regex.safety import safe_regex
from pipelines.domain.sql.checks import DEEPEST, Problem, unknown_function
from pipelines.domain.sql.functions import LONGEST_PADDING, PADDINGS, PATTERNS, WITHOUT_PARENTHESES, functions
from workers.agent.sql.catalyst import Catalyst, Node, class_of, elements, place

INPUTS = ("body", "headers", "json", "key", "timestamp")

_SYNTAX = """
Add And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Concat CreateNamedStruct Divide EqualNullSafe EqualTo
GreaterThan GreaterThanOrEqual ILike In IntegralDivide IsNotNull IsNull LambdaFunction LessThan LessThanOrEqual Like
Literal Multiply Not Or Overlay RLike Remainder StringLocate StringTrim StringTrimLeft StringTrimRight Substring
Subtract TimestampAdd TimestampDiff UnaryMinus UnaryPositive
"""
"""What the syntax makes without a name, in both trees."""

_NAMES = """
analysis.UnresolvedAttribute analysis.UnresolvedExtractValue analysis.UnresolvedFunction
expressions.SemiStructuredExtract expressions.UnresolvedNamedLambdaVariable
"""

_INPUTS = """
AttributeReference GetArrayItem GetArrayStructFields GetMapValue GetStructField NamedLambdaVariable
"""
_TEXT = """
Ascii BitLength Chr ConcatWs Contains EndsWith InitCap Left Length Lower Luhncheck Mask OctetLength RegExpCount
RegExpExtract RegExpExtractAll RegExpInStr RegExpReplace RegExpSubStr Reverse Right SplitPart StartsWith StringInstr
StringLPad StringRPad StringReplace StringSplit StringTranslate StringTrimBoth SubstringIndex Upper
"""
_NUMBERS = """
Abs BRound Bin Ceil Conv Exp Floor Greatest IsNaN Least Log Log10 NaNvl Pmod Pow Round Signum Sqrt ToCharacter ToNumber
TryAdd TryDivide TryMod TryMultiply TrySubtract TryToNumber
"""
_CONDITIONS = "Between Coalesce EqualNull If NullIf Nvl Nvl2"
_TIME = """
AddMonths ConvertTimezone CurrentDate CurrentTimestamp DateAdd DateAddYMInterval DateDiff DateFormatClass
DateFromUnixDate DateSub DatetimeSub DayOfMonth DayOfWeek DayOfYear DivideDTInterval DivideYMInterval Extract
ExtractANSIIntervalDays FromUTCTimestamp FromUnixTime Hour LastDay LocalTimestamp MakeDate MakeTimestamp
MicrosToTimestamp MillisToTimestamp Minute Month MonthsBetween MultiplyDTInterval MultiplyYMInterval NextDay Now
ParseToDate ParseToTimestamp Quarter Second SecondsToTimestamp SubtractDates SubtractTimestamps TimestampAddInterval
TimestampAddYMInterval ToUTCTimestamp ToUnixTimestamp TruncDate TruncTimestamp UnixDate UnixMicros UnixMillis
UnixSeconds WeekDay WeekOfYear Year
"""
_DIGESTS = """
Base64 Crc32 Decode Encode Hex Md5 Murmur3Hash ParseUrl Sha1 Sha2 TryParseUrl TryToBinary UnBase64 Unhex UrlDecode
UrlEncode XxHash64
"""
_JSON = """
GetJsonObject JsonObjectKeys LengthOfJsonArray StructsToJson variant.IsVariantNull variant.ParseJson
variant.ToVariantObject variant.VariantGet
"""
_ARRAYS_AND_MAPS = """
ArrayAggregate ArrayAppend ArrayCompact ArrayContains ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll
ArrayIntersect ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayRemove ArraySize ArrayTransform ArrayUnion ArraysOverlap
CreateArray CreateMap ElementAt Flatten Get MapConcat MapContainsKey MapFromArrays MapKeys MapValues Size Slice
SortArray TryElementAt
"""


def _classes(*texts: str) -> frozenset[str]:
    return frozenset(f"expressions.{name}" for text in texts for name in text.split())


WRITTEN = _classes(_SYNTAX) | frozenset(_NAMES.split())
"""What may be written."""

RESOLVED = _classes(_SYNTAX, _INPUTS, _TEXT, _NUMBERS, _CONDITIONS, _TIME, _DIGESTS, _JSON, _ARRAYS_AND_MAPS)
"""What it may become."""

_REASONS = {
    "Subquery": "An expression sees one event: it has no subqueries.",
    "ListQuery": "An expression sees one event: it has no subqueries.",
    "Exists": "An expression sees one event: it has no subqueries.",
    "Window": "An expression sees one event: it has no windows.",
    "Aggregate": "An expression sees one event: it has no aggregates.",
    "Star": "There is no *: name what is wanted.",
    "Alias": "An expression has no name: what it sets is its key.",
    "Parameter": "An expression has no parameters.",
}
_LIKE_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}&#-]")


def problems_as_written(catalyst: Catalyst, root: Node, text: str) -> list[Problem]:
    """Everything in a parsed tree that may not be there."""
    return [problem for node, depth in catalyst.walk(root) for problem in _written(catalyst, node, depth, text)]


def problems_as_resolved(catalyst: Catalyst, root: Node, text: str) -> list[Problem]:
    """What an analysed tree is made of beside what is allowed."""
    unknown = [node for node, _ in catalyst.walk(root) if class_of(node) not in RESOLVED]
    return [_not_allowed(node, text) for node in unknown]


def inputs_of(catalyst: Catalyst, root: Node) -> frozenset[str]:
    """The inputs that a parsed tree mentions."""
    attributes = (node for node, _ in catalyst.walk(root) if is_attribute(node))
    return frozenset(name_parts(node)[0].lower() for node in attributes).intersection(INPUTS)


def is_attribute(node: Node) -> bool:
    """Whether a node of a parsed tree is the name of an input, or of a part of one."""
    return class_of(node) == "analysis.UnresolvedAttribute"


def name_parts(node: Node) -> list[str]:
    """The parts of the name of an attribute or a function."""
    return [str(part) for part in elements(node.nameParts())]


def offset(text: str, line_and_column: tuple[int, int] | None) -> int | None:
    """A place in a text, in characters from 0."""
    if line_and_column is None:
        return None
    line, column = line_and_column
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1


def _written(catalyst: Catalyst, node: Node, depth: int, text: str) -> Iterator[Problem]:
    name, at = class_of(node), offset(text, place(node.origin()))
    children = catalyst.children(node)
    if depth > DEEPEST * 2:
        yield Problem("sql_too_deep", "The expression is nested too deeply.", "Use several keys.", at)
    elif name == "expressions.Alias" and class_of(children[0]) == "expressions.SemiStructuredExtract":
        return  # Spark names what `json:field` takes out
    elif name not in WRITTEN:
        yield _not_allowed(node, text)
    elif name == "analysis.UnresolvedAttribute":
        yield from _attribute(name_parts(node), at)
    elif name == "analysis.UnresolvedFunction":
        yield from _function(node, at)
    elif name == "expressions.RLike":
        yield from _pattern(children[1], at)
    elif name in ("expressions.Like", "expressions.ILike"):
        yield from _like(children[1], str(node.escapeChar()), at)
    elif name == "expressions.LambdaFunction" and _has_lambda(catalyst, children):
        message = "A lambda stands within another, which can take as long as the product of their arrays."
        yield Problem("sql_not_allowed", message, "Use flatten, or a Python interceptor.", at)


def _not_allowed(node: Node, text: str) -> Problem:
    name = class_of(node).rpartition(".")[2].removesuffix("$")
    reason = next((said for part, said in _REASONS.items() if part in name), f"Expressions have no {name} here.")
    advice = "The page of this interceptor says what expressions are made of."
    return Problem("sql_not_allowed", reason, advice, offset(text, place(node.origin())))


def _attribute(parts: list[str], at: int | None) -> Iterator[Problem]:
    name = parts[0].lower()
    if name not in INPUTS and not (len(parts) == 1 and name in WITHOUT_PARENTHESES):
        advice = did_you_mean(name, INPUTS, otherwise=f"There are {listed(INPUTS)}; a field of the body is json.NAME.")
        yield Problem("sql_unknown_input", f"There is no input {quote(parts[0])}.", advice, at)


def _function(node: Node, at: int | None) -> Iterator[Problem]:
    parts, arguments = name_parts(node), elements(node.arguments())
    name = parts[-1].lower()
    if len(parts) > 1 or name not in functions():
        yield unknown_function(".".join(parts), at)
        return
    if name in PATTERNS and len(arguments) > PATTERNS[name]:
        yield from _pattern(arguments[PATTERNS[name]], at)
    if name in PADDINGS and len(arguments) > PADDINGS[name]:
        yield from _padding(arguments[PADDINGS[name]], at)


def _pattern(node: Node, at: int | None) -> Iterator[Problem]:
    pattern = _literal(node)
    if isinstance(pattern, str):
        yield from _unsafe(pattern, at)
    else:
        yield Problem("sql_pattern", "The pattern is not a text.", "Write it out, in quotes.", at)


def _like(node: Node, escape: str, at: int | None) -> Iterator[Problem]:
    pattern = _literal(node)
    if isinstance(pattern, str):
        yield from _unsafe(_of_like(pattern, escape), at)
    else:
        advice = "Write it out, in quotes, or use contains, startswith or endswith."
        yield Problem("sql_pattern", "The pattern is not a text.", advice, at)


def _unsafe(pattern: str, at: int | None) -> Iterator[Problem]:
    try:
        safe_regex(pattern)
    except PydanticCustomError as error:
        said: dict[str, Any] = error.context or {}
        yield Problem("sql_pattern", said["message"], said["suggestion"], at)


def _of_like(pattern: str, escape: str) -> str:
    r"""The regular expression that, searched for, is found where LIKE holds. A % at an end is no anchor."""
    made, escaped = "", False
    for character in pattern.strip("%") or "%":
        if not escaped and character == escape:
            escaped = True
            continue
        special = {"%": r"[\s\S]*", "_": r"[\s\S]"}.get(character) if not escaped else None
        made += special or _LIKE_SPECIAL.sub(r"\\\g<0>", character)
        escaped = False
    return ("" if pattern.startswith("%") else r"\A") + made + ("" if pattern.endswith("%") else r"\z")


def _padding(node: Node, at: int | None) -> Iterator[Problem]:
    length = _literal(node)
    if not isinstance(length, int) or length > LONGEST_PADDING:
        message = f"The length of what is filled up is not a number up to {LONGEST_PADDING}."
        yield Problem("sql_padding", message, "Write the number out.", at)


def _literal(node: Node) -> object:
    """The value of a constant: a number as it is, anything else as text; None where the node is none."""
    if class_of(node) != "expressions.Literal":
        return None
    value = node.value()
    return value if value is None or isinstance(value, int) else str(value.toString())


def _has_lambda(catalyst: Catalyst, nodes: list[Node]) -> bool:
    return any(class_of(node) == "expressions.LambdaFunction" for each in nodes for node, _ in catalyst.walk(each))
