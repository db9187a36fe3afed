"""How a process ended, in words."""

from __future__ import annotations

import pytest

from pipelines.domain.runs.ends import ended_by


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exited with code 0"),
        (137, "exited with code 137"),
        (-9, "was ended by SIGKILL (signal 9)"),
        (-63, "was ended by signal 63"),
    ],
)
def test_an_end_names_its_signal(status: int, words: str) -> None:
    assert ended_by(status) == words
