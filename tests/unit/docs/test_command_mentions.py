"""Every `headgate` command that a text of the repository names is one of the command line, with options that it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from controlplane.cli.app import app

ROOT = Path(__file__).parents[3]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
TEXTS += list(ROOT.glob("docs/**/*.md"))
TEXTS += list(ROOT.glob("deploy/observability/*.yaml"))
TEXTS += [path for room in ("pipelines", "workers", "controlplane") for path in ROOT.glob(f"{room}/**/*.py")]
TEXTS += list(ROOT.glob("frontend/src/**/*.tsx"))
MENTION = re.compile(r"(?:[`(>'\"|$]|^|: |&& |\| )headgate (?P<words>[a-z-][^`\n#|&;<>\"')]*)", re.MULTILINE)

TREE: Any = typer.main.get_command(app)


def unknown(words: str) -> list[str]:
    """What of a command the command line does not have."""
    command, parts = TREE, words.split()
    while parts and hasattr(command, "commands"):
        if parts[0].rstrip(".,:") not in command.commands:
            break
        command = command.commands[parts.pop(0).rstrip(".,:")]
    if command is TREE and parts and not parts[0].startswith("-"):
        return [parts[0]]
    if hasattr(command, "commands") and parts and re.fullmatch(r"[a-z-]+", parts[0]) and parts[0][0] != "-":
        return [parts[0]]
    known = {option for each in (*TREE.params, *command.params) for option in (*each.opts, *each.secondary_opts)}
    options = re.findall(r"(?<!\S)--?[a-z][a-z-]*", words)
    return [option for option in options if option not in {*known, "--help", "-h"}]


@pytest.mark.parametrize(
    "text", [path for path in TEXTS if MENTION.search(path.read_text())], ids=lambda path: path.name
)
def test_every_command_that_is_named_exists(text: Path) -> None:
    mentions = [found["words"] for found in MENTION.finditer(text.read_text())]
    assert {words: wrong for words in mentions if (wrong := unknown(words))} == {}
