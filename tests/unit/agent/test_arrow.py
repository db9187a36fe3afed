"""Texts of an Arrow array as one block of bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from workers.agent.base.arrow import joined

TEXTS = ["a\n", "", "ž\n", "long" * 50 + "\n"]


@pytest.mark.parametrize(("start", "length"), [(0, 4), (1, 2), (2, 2), (3, 0), (0, 0)])
def test_texts_are_joined_whatever_part_of_an_array_they_are(start: int, length: int) -> None:
    part = pa.array(TEXTS, pa.string()).slice(start, length)
    assert joined(part) == "".join(TEXTS[start : start + length]).encode()


def test_an_empty_array_has_no_text() -> None:
    assert joined(pa.array([], pa.string())) == b""
