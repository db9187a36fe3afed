"""Secrets in a stream of output and in texts for people."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.access.secrets import REDACTED, Mask, forms, value_problem
from workers.keeper.redaction import Redactor

CANARY = b"canary-7f3a"
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nshortish-line\n-----END KEY-----\n"


def redacted(texts: list[bytes], chunks: list[bytes]) -> bytes:
    redactor = Redactor(texts)
    return b"".join([*map(redactor.feed, chunks), redactor.flush()])


def test_what_holds_no_secret_passes_unchanged_and_at_once() -> None:
    assert Redactor([]).feed(b"half a line") == b"half a line"
    redactor = Redactor([CANARY])
    assert redactor.feed(b"a line\nand ") == b"a line\n"
    assert redactor.feed(b"another\n") == b"and another\n"


@pytest.mark.parametrize("cut", range(len(CANARY) + 2))
def test_a_secret_is_found_wherever_a_chunk_ends(cut: int) -> None:
    text = b"<" + CANARY + b">\nrest"
    assert redacted([CANARY], [text[:cut], text[cut:]]) == b"<[redacted]>\nrest"
    assert redacted([CANARY], [text[i : i + 1] for i in range(len(text))]) == b"<[redacted]>\nrest"


def test_the_longer_of_two_secrets_that_begin_alike_is_taken_out_whole() -> None:
    texts = [b"pass", b"password-1"]
    assert redacted(texts, [b"pass", b"word-1, pass", b"ing"]) == b"[redacted], [redacted]ing"


def test_a_secret_at_the_very_end_is_taken_out() -> None:
    assert redacted([CANARY], [b"the end: ", CANARY[:4], CANARY[4:]]) == b"the end: [redacted]"


@given(
    texts=st.lists(st.text("abc", min_size=1, max_size=5).map(str.encode), min_size=1, max_size=4),
    data=st.text("abc\n", max_size=60).map(str.encode),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_chunks_make_no_difference(texts: list[bytes], data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert redacted(texts, chunks) == redacted(texts, [data])
    kept = redacted(texts, chunks).replace(b"[redacted]", b"#")
    assert not any(text in kept for text in texts)


def test_what_is_held_back_is_shorter_than_the_longest_secret() -> None:
    redactor = Redactor([CANARY])
    shown = b"".join(redactor.feed(b"x" * 1000) for _ in range(50))
    assert 50_000 - len(shown) == len(CANARY) - 1


def test_a_value_is_known_in_the_forms_in_which_programs_write_it() -> None:
    value = 'p"w\\d/ü'
    known = forms(value)
    for written in (value, json.dumps(value)[1:-1], repr(value)[1:-1], 'p\\"w\\\\d/ü', "p%22w%5Cd%2F%C3%BC"):
        assert written in known


def test_a_value_of_several_lines_is_hidden_line_by_line() -> None:
    texts = [form.encode() for form in forms(PEM)]
    log = redacted(texts, [b"could not parse\n" + PEM.encode() + b"bye"])
    assert log == b"could not parse\n-----BEGIN KEY-----\n[redacted]\n[redacted]\n-----END KEY-----\nbye"
    assert "MIIE" not in Mask(forms(PEM)).text(f"bad: {json.dumps(PEM)}")


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://shop:pa%2Fss-1@db/lake",
        "host=db user=shop password='pa/ss-1' dbname=lake",
        'org.example.Module required username="shop" password="pa/ss-1";',
        "jdbc:postgresql://db/lake?user=shop&password=pa/ss-1&ssl=true",
    ],
)
def test_a_password_inside_of_a_value_is_hidden_by_itself(value: str) -> None:
    hide = Mask(forms(value)).text
    assert hide("password pa/ss-1 was refused") == "password [redacted] was refused"
    assert hide(f"cannot connect to {value}") == "cannot connect to [redacted]"
    assert hide("shop at db") == "shop at db"


def test_texts_for_people_are_masked_and_names_are_not() -> None:
    document = {"topic": "canary", "cause": "no canary here", "findings": [{"path": "canary", "message": "a canary"}]}
    assert Mask(["canary"]).prose(document) == {
        "topic": "canary",
        "cause": f"no {REDACTED} here",
        "findings": [{"path": "canary", "message": f"a {REDACTED}"}],
    }
    assert Mask().prose(document) is document


@pytest.mark.parametrize("value", ["", "nul\0", "bell\a", "\ud800", "x" * 65_537])
def test_what_no_client_could_take_is_no_secret(value: str) -> None:
    assert value_problem(value)


@pytest.mark.parametrize("value", ["x", PEM, "ümlaut", "tab\there"])
def test_any_other_text_is(value: str) -> None:
    assert value_problem(value) == ""
