"""Properties files are read as Java reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.flume.reading.placeholders import translate
from pipelines.domain.imports.properties import MalformedError, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", ("a", "b")),
        ("a : b", ("a", "b")),
        ("a b=c", ("a", "b=c")),
        ("  a\t=  b  ", ("a", "b  ")),
        ("a", ("a", "")),
        ("a==b", ("a", "=b")),
        (r"a\=b\:c\ d = e", ("a=b:c d", "e")),
        ("a = b\\\n   c", ("a", "bc")),
        ("a = b\\\r\n\t# c", ("a", "b# c")),
        ("a = b\\\\\nx=y", ("a", "b\\")),
        (r"a = \t\n\r\f\q\"", ("a", '\t\n\r\fq"')),
        (r"\u0061 = Plze\u0148", ("a", "Plzeň")),
        (r"a = \ud83d\ude00", ("a", "😀")),
        ("a = b # no comment", ("a", "b # no comment")),
        ("\ufeffa = b", ("a", "b")),
        ("a = b\\", ("a", "b")),
    ],
)
def test_a_line_is_read_as_java_reads_it(text: str, expected: tuple[str, str]) -> None:
    assert (parse(text)[0].key, parse(text)[0].value) == expected


def test_comments_and_empty_lines_count_as_lines_and_nothing_else() -> None:
    found = parse("# one\n\n! two \\\na = 1\n   \nb = 2 \\\n  3\nc = 4\r\nd = 5")
    assert [(each.key, each.line) for each in found] == [("a", 4), ("b", 6), ("c", 8), ("d", 9)]


def test_a_broken_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(MalformedError) as refused:
        parse("a = 1\nb = \\u00g1")
    assert refused.value.line == 2


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_what_is_escaped_is_read_back(pairs: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        units = text.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in pairs.items())
    assert {each.key: each.value for each in parse(text)} == pairs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("${HOST}:9092", "${env:HOST}:9092"),
        ("${env:HOST}", "${env:HOST}"),
        ("${HOST:-localhost}", "${env:HOST}"),
        ("${e['KEY']}", "${env:KEY}"),
        ('${e["KEY"]}', "${env:KEY}"),
        ("${e[KEY]}", "${env:KEY}"),
        ("${v['my_key']}", "${secret:my_key}"),
        ("${other['KEY']}", "${other['KEY']}"),
        ("${e['KEY\"]}", "${e['KEY\"]}"),
        ("${sys:user.home}", "${sys:user.home}"),
        ("plain $ {text}", "plain $ {text}"),
    ],
)
def test_placeholders_become_references(value: str, text: str) -> None:
    assert translate(value, {"e": "env", "v": "external"}).text == text
