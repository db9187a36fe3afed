"""Every command that the documentation shows is one of the command line, with options that it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from controlplane.cli.app import app

PROJECT = Path(__file__).resolve().parents[3]
GENERATED = {"cli.md"}
BLOCK = re.compile(r"^ *```sh[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(headgate [a-z][^`]*)`")
END = re.compile(r"\s[|&;>#]|\)$|;")
PROGRAM: Any = typer.main.get_command(app)
TEXTS = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").rglob("*.md"))]


def shown(text: str) -> Iterator[str]:
    """Commands in blocks and in sentences, without what a shell adds to them."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    found = [line[place.start() :] for line in lines if (place := re.search(r"\bheadgate (?=[a-z])", line))]
    for command in [*found, *INLINE.findall(text)]:
        yield END.split(" ".join(command.split()))[0]


def problem(command: str) -> str | None:
    """What the command line would not understand; names in upper case stand for values."""
    group, words = PROGRAM, shlex.split(command)[1:]
    while words and hasattr(group, "commands") and not words[0].startswith("-"):
        names = words[0].split("|")
        if missing := [name for name in names if name not in group.commands]:
            return f"{command}: there is no {missing[0]}"
        group, words = group.commands[names[0]], words[1:]
    known = {name for option in group.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]
    return f"{command}: there is no {unknown[0]}" if unknown else None


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.relative_to(PROJECT).as_posix())
def test_every_command_that_a_page_shows_exists(text: Path) -> None:
    if text.name in GENERATED:
        pytest.skip("made from the command line itself")
    assert [found for command in shown(text.read_text()) if (found := problem(command))] == []


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("headgate status orders", None),
        ("headgate positions show|plan orders", None),
        ("headgate positions guess orders", "there is no guess"),
        ("headgate status orders --gess", "there is no --gess"),
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str, found: str | None) -> None:
    said = problem(command)
    assert said is None if found is None else found in str(said)
