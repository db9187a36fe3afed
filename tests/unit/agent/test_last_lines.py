"""The last lines of files, found from their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.agent.files import lines

WHOLE = 1 << 30


def starts(data: bytes) -> list[int]:
    """Where the lines begin."""
    return [0, *(at + 1 for at, byte in enumerate(data[:-1]) if byte == ord("\n"))] if data else []


@given(
    data=st.lists(st.sampled_from([b"", b"a", b"bc", b"\r"]), max_size=12), ended=st.booleans(), most=st.integers(0, 9)
)
def test_the_last_lines_begin_where_reading_forward_finds_them(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes], ended: bool, most: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(b"\n".join(data) + (b"\n" if ended else b""))
    whole = path.read_bytes()
    expected = starts(whole)[-most:] if most else []
    with path.open("rb") as file:
        assert lines.nth_start(file, 0, len(whole), most, WHOLE) == (
            expected[0] if expected else len(whole),
            len(expected),
        )


def test_lines_longer_than_a_block_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BACK", 4)
    path = tmp_path / "file"
    path.write_bytes(b"0123456789\nabc\n" + b"x" * 50 + b"\n")
    with path.open("rb") as file:
        found = [lines.nth_start(file, 0, 66, most, WHOLE) for most in range(1, 5)]
    assert found == [(15, 1), (11, 2), (0, 3), (0, 3)]


def test_no_more_is_looked_through_than_may_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000 + b"\na\nb\n")
    with path.open("rb") as file:
        assert lines.nth_start(file, 0, 1005, 10, 20) == (1001, 2)
        assert lines.nth_start(file, 0, 1001, 10, 20) == (1001, 0), "a line that begins before is not read in part"
