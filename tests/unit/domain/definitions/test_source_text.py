"""Texts of definitions: what is shown where none is stored, what may be stored, and what a change of values leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.definitions.checks.comment_checks import comments
from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.domain.definitions.document.source_text import carried, differing, minimal, source_text
from pipelines.domain.definitions.document.spec import Definition
from tests.factories import definition_data
from tests.settings import BASE_DIR

EXAMPLES = sorted((BASE_DIR / "docs" / "examples").glob("*.yaml"))


def definition_of(text: str) -> Definition:
    validation = validate_text(text)
    assert validation.definition is not None, validation.findings
    return validation.definition


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda each: each.stem)
def test_a_rendering_is_of_the_same_definition_and_has_no_key_at_its_default(file: Path) -> None:
    definition = definition_of(file.read_text())
    text = minimal(definition.plain())
    assert definition_of(text) == definition
    assert "lifecycle" not in text
    assert len(text.splitlines()) < len(minimal({**definition.plain(), "unknown": 1}).splitlines()) / 2


def test_seconds_are_rendered_as_they_are_written() -> None:
    data = definition_data("orders", lifecycle={"drain_timeout": "61s"})
    assert "drain_timeout: 61\n" in minimal(Definition.model_validate(data).plain())


def test_a_definition_that_is_no_longer_valid_is_rendered_whole_and_none_is_empty() -> None:
    assert minimal({"name": "orders", "gone": 1}) == "name: orders\ngone: 1\n"
    assert source_text({}, "").text == ""


def test_what_was_written_is_shown_as_it_was() -> None:
    found = source_text({"name": "orders"}, "# ours\nname: orders")
    assert (found.text, found.as_written) == ("# ours\nname: orders", True)


@pytest.mark.parametrize("text", ["{", "name: orders", "name: orders\nname: orders"])
def test_a_text_of_another_definition_is_not_stored_beside_one(text: str) -> None:
    definition = Definition.model_validate(definition_data("orders"))
    assert [each.code for each in differing(text, definition)] == ["text_differs"]
    assert differing("", definition) == differing(minimal(definition.plain()), definition) == []


TEXT = """# ours
api_version: headgate/v1
name: orders
sources: {shop: {type: kafka, bootstrap_servers: "old:9092", topics: [orders], group_id: g, start_from: earliest}}
channels: {main: {type: direct}}
sinks: # one
  out: {type: kafka, channel: main, bootstrap_servers: old:9092, topic: clean} # the lake
placement:
  host: alpha   # next to the broker
"""


def test_a_text_is_carried_along_where_values_alone_change() -> None:
    old = definition_of(TEXT)
    new = definition_of(TEXT.replace("old:9092", "new:9092,second:9092", 1).replace("alpha", "beta"))
    made = carried(TEXT, old, new)
    assert definition_of(made) == new
    assert [text for _, text in comments(made)] == ["# ours", "# one", "# the lake", "# next to the broker"]


def test_a_text_is_not_carried_along_where_more_changes() -> None:
    old = definition_of(TEXT)
    new = definition_of(f"{TEXT}description: more\n")
    assert carried(TEXT, old, new) == carried("", old, old) == ""


def test_comments_are_told_from_text_with_a_hash() -> None:
    text = "\ufeff# first\na: 'b # c' # second\nd: |\n  # a line of SQL\ne: f#g\n# last"
    assert [*comments(text)] == [(1, "# first"), (2, "# second"), (6, "# last")]


@pytest.mark.parametrize(
    "comment",
    [
        "# password: hunter2",
        "#sasl.password = 'hunter2'",
        '# options: {ssl.key.password: "hunter2"}',
        "# Authorization: Bearer abcdefgh01234567",
        "# was -----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_credential_in_a_comment_is_an_error_at_its_line(comment: str) -> None:
    validation = validate_text(f"{TEXT}{comment}\n")
    assert [(each.code, each.line) for each in validation.findings if each.is_error] == [("secret_in_comment", 10)]
    assert validation.definition is None


@pytest.mark.parametrize(
    "comment",
    [
        '# password: "${secret:KAFKA}"',
        "# token: <yours>",
        "# password: ********",
        "# The password: it is rotated each month.",
        "# tokens are counted per team; secret: see the wiki",
        "# key: the order's number",
        "# basic rules: token of a user, then of a team",
    ],
)
def test_words_about_credentials_and_references_are_comments_like_others(comment: str) -> None:
    assert validate_text(f"{TEXT}{comment}\n").valid
