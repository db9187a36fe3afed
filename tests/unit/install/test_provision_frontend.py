from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.install.tools import frontend
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.node import Node, parse_version


class RecordingNode(Node):
    """Does what npm would leave behind, and remembers what it was asked."""

    def npm(self, *arguments: str, cwd: Path, timeout: float, quiet: bool = False) -> None:
        (cwd / "node_modules").mkdir(exist_ok=True)
        (cwd / "dist").mkdir(exist_ok=True)
        (cwd / "dist" / "index.html").write_text("page")
        with (cwd / "node_modules" / "asked").open("a") as file:
            file.write(f"{arguments[0]}\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.tsx").write_text("one")
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "package-lock.json").write_text("{}")
    return tmp_path


NODE = RecordingNode(Path("/usr/bin"), "v20.19.2")


def test_packages_are_installed_once_for_a_lock_and_again_when_it_changes(root: Path) -> None:
    assert frontend.ensure_dependencies(NODE, root)
    assert not frontend.ensure_dependencies(NODE, root)
    (root / "package-lock.json").write_text('{"changed": true}')
    assert frontend.ensure_dependencies(NODE, root)


def test_another_node_installs_again(root: Path) -> None:
    assert frontend.ensure_dependencies(NODE, root)
    assert frontend.ensure_dependencies(RecordingNode(Path("/usr/bin"), "v24.0.0"), root)


def test_the_bundle_is_built_when_a_source_changed_or_it_is_gone(root: Path) -> None:
    assert frontend.ensure_build(NODE, root)
    assert not frontend.ensure_build(NODE, root)
    (root / "src" / "main.tsx").write_text("two")
    assert frontend.ensure_build(NODE, root)
    (root / "dist" / "index.html").unlink()
    assert frontend.ensure_build(NODE, root)


def test_neither_packages_nor_output_count_as_sources(root: Path) -> None:
    frontend.ensure_build(NODE, root)
    names = {file.relative_to(root).as_posix() for file in frontend.sources(root)}
    assert names == {"package.json", "package-lock.json", "src/main.tsx"}


@pytest.mark.parametrize(("text", "version"), [("v20.19.2\n", (20, 19)), ("v9.1.0", (9, 1)), ("", (0, 0))])
def test_node_versions_compare_as_numbers(text: str, version: tuple[int, int]) -> None:
    assert parse_version(text) == version


def test_a_failing_npm_shows_what_it_said(tmp_path: Path) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\necho the lock does not fit\nexit 3\n")
    (tmp_path / "npm").chmod(0o755)
    with pytest.raises(SetupError, match=r"(?s)npm ci failed with exit code 3:\nthe lock does not fit"):
        Node(tmp_path, "v20.19.2").npm("ci", cwd=tmp_path, timeout=30, quiet=True)
