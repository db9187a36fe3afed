"""The pictures of the dashboard: those that are taken are those that are shown."""

from __future__ import annotations

import re

from tests.screenshots import SCHEMES, SCREENS
from tests.unit.docs.test_pages import DOCS, TEXTS

PICTURE = re.compile(r"images/screens/([\w-]+)\.webp")
TAKEN = {f"{name}-{scheme}" for name in SCREENS for scheme in SCHEMES}


def test_every_picture_that_is_taken_is_shown() -> None:
    assert TAKEN - set(PICTURE.findall((DOCS / "reference" / "screens.md").read_text())) == set()


def test_every_picture_that_is_shown_is_taken() -> None:
    assert {name for text in TEXTS for name in PICTURE.findall(text.read_text())} - TAKEN == set()
