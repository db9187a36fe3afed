"""The table of exemptions says what it is about, and why."""

from __future__ import annotations

import json

from tests.vectors import exemptions, vectors


def test_every_exemption_names_a_vector_and_a_reason() -> None:
    assert exemptions().keys() <= {vector.id for vector in vectors()}
    assert all(len(reason) > 20 for reason in exemptions().values())


def test_the_table_is_sorted() -> None:
    assert json.dumps(exemptions()) == json.dumps(exemptions(), sort_keys=True)
