"""Files that are made from the code are committed fresh."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from pipelines.domain.states import TRANSITIONS
from tests.settings import BASE_DIR

COMMANDS = ["render_states", "render_schema", "render_definition", "render_components", "render_cli"]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_committed_is_what_would_be_written(command: str) -> None:
    call_command(command, "--check")


def test_a_stale_file_is_found_and_written_anew(tmp_path: Path, settings: pytest.FixtureRequest) -> None:
    settings.BASE_DIR = tmp_path  # type: ignore[attr-defined]
    with pytest.raises(CommandError, match="render_states"):
        call_command("render_states", "--check")

    call_command("render_states")
    call_command("render_states", "--check")


def test_the_diagram_has_every_arrow_of_the_table() -> None:
    drawn = (BASE_DIR / "docs" / "states.md").read_text()
    for old, following in TRANSITIONS.items():
        for new in following:
            assert f"{old} --> {new}\n" in drawn or old == "UNKNOWN"


@pytest.mark.django_db
def test_the_migrations_say_what_the_models_say() -> None:
    call_command("makemigrations", "--check", "--dry-run")
