"""What is masked leaves no trace in what is shown of a record."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.access.secrets import REDACTED
from pipelines.domain.preview.masking import Rules
from pipelines.domain.preview.outcomes import Content

SECRET = "s3cr3t-value"


def content(body: bytes, headers: dict[str, bytes] | None = None, size: int | None = None) -> Content:
    digest = hashlib.sha256(body).hexdigest()
    return Content(None, tuple((headers or {}).items()), body, len(body) if size is None else size, digest)


def shown(rules: Rules, made: Content) -> dict[str, Any]:
    return rules.for_record([made]).event(made)


@pytest.mark.parametrize(
    ("field", "path", "hidden"),
    [
        ("card", ("card",), True),
        ("card", ("order", 0, "card"), True),
        ("card", ("card", "number"), True),
        ("customer.email", ("order", "customer", 3, "email"), True),
        ("customer.email", ("email",), False),
        ("card", ("cards",), False),
    ],
)
def test_a_field_is_the_end_of_a_path_and_all_below_it(field: str, path: tuple[Any, ...], hidden: bool) -> None:
    assert Rules(fields=frozenset({tuple(field.split("."))})).hides(path) is hidden


@given(st.lists(st.sampled_from(["a", "card", "b"]), min_size=1, max_size=4), st.text(max_size=5))
def test_a_masked_value_is_nowhere_in_the_record(path: list[str], around: str) -> None:
    body: Any = SECRET
    for name in reversed([*path, "card"]):
        body = {name: body, "note": f"{around}{SECRET}{around}"}
    made = content(json.dumps(body).encode(), {"x": SECRET.encode()})
    assert SECRET not in json.dumps(shown(Rules(fields=frozenset({("card",)})), made))


def test_values_of_secrets_are_masked_in_texts_and_bytes() -> None:
    rules = Rules(secrets=(SECRET,))
    assert shown(rules, content(SECRET.encode()))["body"] == REDACTED
    import base64

    binary = shown(rules, content(b"\xff" + SECRET.encode()))["body_base64"]
    assert SECRET.encode() not in base64.b64decode(binary)


def test_bodies_are_shown_as_they_are_where_nothing_is_masked() -> None:
    rules = Rules(fields=frozenset({("card",)}))
    assert shown(rules, content(b'{ "n" : 1.50 }'))["body"] == '{ "n" : 1.50 }'


@pytest.mark.parametrize(("body", "size"), [(b"no json", None), (b'{"a":', 100)])
def test_a_body_that_cannot_be_looked_through_is_withheld(body: bytes, size: int | None) -> None:
    assert shown(Rules(fields=frozenset({("card",)})), content(body, size=size)) == {
        "key": None,
        "headers": [],
        "bytes": size or len(body),
        "body": None,
        "note": "withheld",
    }


def test_headers_are_masked_by_name_in_any_case() -> None:
    made = content(b"", {"Authorization": b"abc"})
    assert shown(Rules(headers=frozenset({"authorization"})), made)["headers"] == [["Authorization", REDACTED]]
