"""Our parser of regular expressions against Java's own: what one refuses, the other refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pydantic_core import PydanticCustomError

from controlplane.install.tools.java import find_java
from pipelines.domain.regex.safety import safe_regex

TOKENS = [
    "a",
    "b",
    "ab",
    r"\d",
    r"\w",
    ".",
    "*",
    "+",
    "?",
    "*?",
    "++",
    "{2}",
    "{1,3}",
    "{2,}",
    "{",
    "}",
    "(",
    "(",
    "(?:",
    "(?=",
    "(?<=",
    "(?<!",
    "(?>",
    "(?<n>",
    "(?i)",
    "(?i:",
    "(?x)",
    "(?-i)",
    "(?z)",
    ")",
    ")",
    ")",
    "[",
    "[^",
    "[a-z]",
    "]",
    "-",
    "&&",
    "[a&&[^b]]",
    "|",
    "^",
    "$",
    r"\b",
    r"\Q",
    r"\E",
    r"\p{Alpha}",
    r"\pL",
    r"\p{Foo}",
    r"\x41",
    r"\x{41}",
    r"\u0041",
    r"\cA",
    r"\0",
    r"\07",
    r"\k<n>",
    r"\1",
    r"\R",
    r"\X",
    r"\y",
    "\\",
    "#",
    " ",
    r"\-",
    r"\h",
    "é",
    "[a-",
    "z-a",
    r"\z",
    "{,2}",
    "{2,1}",
    r"\_",
    r"\B",
    r"\b{g}",
    r"\N{DIGIT ONE}",
    r"\N{NO SUCH}",
]
PATTERNS = 4000


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """java.util.regex.Pattern in a JVM of its own."""
    (jar,) = Path(pyspark.__file__).parent.joinpath("jars").glob("py4j-*.jar")
    port = launch_gateway(jarpath=str(jar), java_path=str(find_java().executable), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway.jvm.java.util.regex.Pattern
    gateway.shutdown()


def java_accepts(java: Any, pattern: str) -> bool:
    try:
        java.compile(pattern)
    except Py4JJavaError:
        return False
    return True


def we_accept(pattern: str) -> bool:
    """Whether the syntax is accepted; a pattern that is refused as unsafe has been understood."""
    try:
        safe_regex(pattern)
    except PydanticCustomError as error:
        return error.type != "regex_syntax"
    return True


def test_what_java_refuses_is_refused_and_nothing_else(java: Any) -> None:
    chance = random.Random(20_260_101)
    patterns = ["".join(chance.choices(TOKENS, k=chance.randint(1, 7))) for _ in range(PATTERNS)]
    verdicts = [(java_accepts(java, pattern), we_accept(pattern), pattern) for pattern in patterns]
    assert sum(theirs for theirs, _, _ in verdicts) > PATTERNS // 10
    assert [pattern for theirs, ours, pattern in verdicts if theirs and not ours] == []
    assert [pattern for theirs, ours, pattern in verdicts if ours and not theirs] == []


@pytest.mark.parametrize("pattern", [r"^\{", "(ERROR|WARN).*timeout", "A.*B.*C", r"(\w+,)*\w+;", r'"([^"\\]|\\.)*"'])
def test_a_pattern_that_passes_ends_on_hostile_text(java: Any, pattern: str) -> None:
    safe_regex(pattern)
    for text in ("A" * 300, "AB" * 150, "a," * 300, '"' + "\\" * 301, "WARN" * 100):
        assert java.compile(pattern).matcher(text).find() in (True, False)
