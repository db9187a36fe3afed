"""The check of words: it finds every term of its table, passes the exceptions, and finds nothing in public texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.words.__main__ import ROOT, findings, main, public
from tests.words.terms import ALLOWED, PATTERNS, TERMS, Term
from tests.words.texts import texts


def found(path: Path, content: str) -> list[tuple[int, str]]:
    path.write_text(content)
    return [(each.line, each.word) for each in findings([path])]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.instead)
def test_every_term_is_found_in_every_kind_of_file(term: Term, tmp_path: Path) -> None:
    assert found(tmp_path / "a.py", f'MESSAGE = "{term.example}"\n')
    assert found(tmp_path / "a.md", f"A line.\n\n{term.example}\n")
    assert found(tmp_path / "a.tsx", f"export const A = () => (\n  <p>\n    {term.example}\n  </p>\n)\n")
    assert found(tmp_path / "b.tsx", f'export const A = () => <p title="{term.example}" />\n')


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.instead)
def test_what_stands_instead_of_a_term_is_no_term(term: Term) -> None:
    said = term.instead.partition("(")[0]
    assert not any(pattern.search(said) for pattern in PATTERNS)


def test_a_finding_has_the_line_and_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text('\n\ndef message(n):\n    return f"The batch {n} in hand."\n')
    (one,) = findings([path])
    assert str(one).splitlines()[0].endswith('a.py:4: "in hand": write in-flight batch')


def test_docstrings_comments_names_and_code_are_not_read(tmp_path: Path) -> None:
    python = '"""In hand."""\nBEGUN: int = 1\n"""When it was begun."""\nKEY = "cursor"  # nobody\nX = "`the cursor`"\n'
    assert found(tmp_path / "a.py", python) == []
    script = (
        "// the batch in hand\n/* nobody\n was told */\nimport { begun } from './the/cursor'\nconst letters = begun\n"
    )
    assert found(tmp_path / "a.ts", script) == []
    assert found(tmp_path / "a.md", "See `the cursor`.\n\n```\nthe books\n```\n[a page](the/books.md)\n") == []


def test_words_that_only_look_like_a_term_pass(tmp_path: Path) -> None:
    passing = (
        "Use lower-case letters, digits and hyphens. A letter or digit. The dead letters are retried. "
        "A replay reads a range. The look-behind has a length. Handles are handed out. The host is empty."
    )
    assert found(tmp_path / "a.md", passing) == []


def test_a_term_that_the_end_of_a_line_divides_is_found_on_its_first_line(tmp_path: Path) -> None:
    assert found(tmp_path / "a.md", "- One entry, and the batch in\n  hand.\n- The dead\n  letters.\n") == [
        (1, "in hand")
    ]


def test_every_exception_is_used_and_has_a_reason() -> None:
    for each in ALLOWED:
        assert each.reason
        paths = [path for path in public() if path.relative_to(ROOT).as_posix().startswith(each.path)]
        read = (" ".join(text.split()).lower() for path in paths for _, text in texts(path))
        assert any(each.text in text and any(pattern.search(text) for pattern in PATTERNS) for text in read), each


def test_findings_can_be_counted_by_directory(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--by-directory"])
    lines = capsys.readouterr().out.splitlines()
    assert all(re.fullmatch(r" *\d+ \S+", line) for line in lines if line)
    assert status == (1 if any(lines) else 0)


@pytest.mark.parametrize(
    "place", ["controlplane", "pipelines", "workers", "frontend/src", "docs", "README.md", "CHANGELOG.md"]
)
def test_public_texts_have_no_term_that_the_glossary_replaces(place: str) -> None:
    read = [path for path in public() if path.is_relative_to(ROOT / place)]
    assert read
    assert [str(each) for each in findings(read)] == []
