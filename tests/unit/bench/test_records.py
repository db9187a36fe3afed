from __future__ import annotations

import json
import re

import pytest

from bench.records import PATTERN, SIZE, Delivered, body, number_of, sent_ns_of


@pytest.mark.parametrize("number", [0, 1, 7_999_999, 9_999_999_999])
def test_a_record_is_json_of_200_bytes_that_tells_its_number(number: int) -> None:
    value = body(number, 1_763_709_743_123_456_789)
    assert len(value) == SIZE
    assert json.loads(value)["n"] == f"{number:010d}"
    assert (number_of(value), sent_ns_of(value)) == (number, 1_763_709_743_123_456_789)
    assert re.search(PATTERN, value.decode())


def test_a_record_that_was_parsed_and_written_again_is_still_known() -> None:
    value = json.dumps({**json.loads(body(42, 1_763_709_743_123_456_789)), "checked": True}).encode()
    assert (number_of(value), sent_ns_of(value)) == (42, 1_763_709_743_123_456_789)


def test_anything_else_is_no_record() -> None:
    with pytest.raises(ValueError, match="not a record"):
        number_of(b"something else")


def test_every_record_once_is_exact() -> None:
    delivered = Delivered(3)
    for number in (2, 0, 1):
        delivered.add(body(number), 1000 + number)
    assert delivered.exact
    assert delivered.arrivals == {1000: 1, 1001: 1, 1002: 1}


def test_missing_records_duplicates_and_strangers_are_counted_apart() -> None:
    delivered = Delivered(4)
    for number in (0, 0, 0, 2, 9):
        delivered.add(body(number), 0)
    assert (delivered.missing, delivered.duplicates, delivered.strangers) == (2, 2, 1)
    assert not delivered.exact


def test_a_duplicate_does_not_hide_a_missing_record() -> None:
    delivered = Delivered(2)
    for number in (0, 0):
        delivered.add(body(number), 0)
    assert delivered.total == delivered.count
    assert not delivered.exact
