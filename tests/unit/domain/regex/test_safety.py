"""Regular expressions: ordinary ones pass, what Java refuses and what can explode does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from pipelines.domain.regex.safety import LONGEST_PATTERN, safe_regex


def verdict(pattern: str) -> str:
    try:
        safe_regex(pattern)
    except PydanticCustomError as error:
        return error.type
    return "safe"


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\{",
        r"\d+",
        "(ERROR|WARN).*timeout",
        ".*DEBUG.*",
        "(INFO.*)|(WARNING.*)",
        "WARN",
        ".*",
        "^$",
        "foo|bar|baz",
        "(?i)error",
        r"\bERROR\b.*\d{3}",
        r"\p{Alpha}+",
        r"\p{L}+",
        r"\p{IsLatin}+",
        "a++b",
        "(?<n>a)b",
        "(?>a+)b",
        r"\Q(a+)+$\E",
        "[a-z&&[^b]]+",
        "(foo|bar)+",
        "(a|ab)*c",
        r'"([^"\\]|\\.)*"',
        r"(.|\n)*x",
        r"(\w+,)*\w+;",
        r"^([^,]*,){5}x",
        r"\d{1,3}(\.\d{1,3}){3}",
        "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "A.*B.*C",
        r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
        r'^(\S+) (\S+) \[([^\]]+)\] "(GET|POST) ([^"]*)" (\d{3}) (\d+)$',
        r'"level":\s*"(ERROR|FATAL)"',
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
        "(?x) a b # a comment",
        "[]a]",
        r"(?=.*error).*\d",
        r"\x{1F600}",
        "foo(.*)?bar",
    ],
)
def test_ordinary_patterns_pass(pattern: str) -> None:
    assert verdict(pattern) == "safe"


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "([a-zA-Z]+)*1",
        "(a|a)*b",
        "(a|aa)+$",
        r"(\w|\d)*x",
        r"(.|\s)*x",
        "(a*)*b",
        "(a?b?)*c",
        "(x+x+)+y",
        ".*.*=.*",
        r"\d+\d+x",
        r"^\s*.*\s*x",
        "(.*,){5}x",
        r"(\w+\s?)*$",
        r"^\w+([-.]?\w+)*@",
        "(a+a)+b",
        "((a*)?b)*c",
        "(a?){20}a{20}",
        "(a|a){20}b",
        "((a{0,9}){0,9}){0,9}b",
        "a?" * 12 + "a" * 12,
        "(?=(a+)+$)b",
        r"(\w+)\1",
        ".*a.*b.*c.*d",
        r"(\s*\w*\s*)*x",
        "(?i)(a|A)*b",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
    ],
)
def test_patterns_whose_time_can_explode_are_refused(pattern: str) -> None:
    assert verdict(pattern) == "regex_unsafe"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "(",
        ")",
        "*a",
        "a**",
        "[a",
        "a{2,1}",
        "^{",
        "{",
        "a{,2}",
        r"\y",
        "(?z)",
        "[z-a]",
        "(?<=a*)b",
        r"\p{Foo}",
        "\\",
        "(?<1a>x)",
        r"\k<n>",
        "(?<n>a)(?<n>b)",
        r"\x{110000}",
        "a" * (LONGEST_PATTERN + 1),
        "(" * 99 + ")" * 99,
    ],
)
def test_patterns_that_java_refuses_are_refused(pattern: str) -> None:
    assert verdict(pattern) == "regex_syntax"


def test_the_reason_names_the_place() -> None:
    with pytest.raises(PydanticCustomError, match=r"near character 2\b"):
        safe_regex("(a+)+$")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=r"ab.*+?|(){}[]^$\d1,2-&:<>=!iQE", max_size=25))
def test_every_pattern_gets_a_verdict_soon(pattern: str) -> None:
    start = time.monotonic()
    assert verdict(pattern) in ("safe", "regex_unsafe", "regex_syntax")
    assert time.monotonic() - start < 10, "a bound against hanging, not a measurement"
