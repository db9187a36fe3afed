"""Every page of the documentation: its kind, its place in the navigation, its links, its lines and its commands."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipelines.domain.lifecycle.vocabulary import PHASES, STAGES

PROJECT = Path(__file__).resolve().parents[3]
DOCS = PROJECT / "docs"
KINDS = {"get-started", "guides", "concepts", "reference", "security", "decisions"}
LONGEST = 160
LINK = re.compile(r"(?<!\\)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def _listed() -> list[Path]:
    known = subprocess.run(["git", "ls-files", "*.md"], cwd=PROJECT, capture_output=True, text=True, check=True)
    return [PROJECT / name for name in known.stdout.split()]


TEXTS = _listed()
PAGES = [text for text in TEXTS if DOCS in text.parents]
each_text = pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.relative_to(PROJECT).as_posix())


def prose(text: Path) -> str:
    """A text without its blocks of code."""
    return FENCE.sub("", text.read_text())


@each_text
def test_no_line_of_prose_is_too_long(text: Path) -> None:
    lines = [line for line in prose(text).splitlines() if not line.lstrip().startswith(("|", "!["))]
    assert [line for line in lines if len(line) > LONGEST] == []


@each_text
def test_every_relative_link_leads_to_a_file(text: Path) -> None:
    targets = [found["target"].partition("#")[0] for found in LINK.finditer(prose(text))]
    own = [target for target in targets if target and not re.match(r"[a-z]+:|/", target)]
    assert [target for target in own if not (text.parent / target).exists()] == []


def test_every_page_is_of_one_kind() -> None:
    assert {page.relative_to(DOCS).parts[0] for page in PAGES} == KINDS | {"index.md"}


def entries(nav: object) -> Iterator[str]:
    """What a navigation names: pages, and folders for all of their pages."""
    if isinstance(nav, str):
        yield nav
    for entry in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else []:
        yield from entries(entry)


def test_every_page_is_in_the_navigation_under_its_kind() -> None:
    nav = yaml.safe_load((PROJECT / "mkdocs.yml").read_text())["nav"]
    named = {page for entry in entries(nav) for page in _pages(DOCS / entry)}
    assert named == set(PAGES)
    for section in nav:
        ((title, content),) = section.items()
        kinds = {entry.partition("/")[0] for entry in entries(content)} - {"decisions"}
        assert kinds == {title.lower().replace(" ", "-")} or title == "Home"


def _pages(entry: Path) -> list[Path]:
    return sorted(entry.glob("*.md")) if entry.is_dir() else [entry]


def test_every_picture_is_used_and_has_a_text() -> None:
    texts = "".join(text.read_text() for text in TEXTS)
    images = DOCS / "images"
    for picture in (each for each in images.rglob("*") if each.is_file()):
        path = re.escape(str(picture.relative_to(images)))
        assert re.search(rf"!\[[^\]]+\]\([^)]*images/{path}(#only-\w+)?\)", texts), picture.name


def test_every_screen_is_shown_light_and_dark() -> None:
    names = [each.stem.rpartition("-") for each in (DOCS / "images" / "screens").iterdir()]
    light, dark = ({name for name, _, scheme in names if scheme == wanted} for wanted in ("light", "dark"))
    assert light == dark != set()


@pytest.mark.parametrize("picture", sorted((DOCS / "images").glob("*.svg")), ids=lambda picture: picture.name)
def test_a_diagram_is_well_formed_and_has_a_title(picture: Path) -> None:
    root = ET.parse(picture).getroot()  # noqa: S314 - a file of the project
    assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_the_diagrams_of_states_have_every_state() -> None:
    phases = _words("phases.svg")
    assert [phase for phase in PHASES if phase.value not in phases] == []
    stages = _words("migration.svg")
    drawn_elsewhere = {"DRAFT", "ABORTED"}  # a plan that is blocked or canceled
    assert [stage for stage, term in STAGES.items() if term.label not in stages and stage not in drawn_elsewhere] == []


def _words(picture: str) -> str:
    """The texts of a picture; lines of one box belong together."""
    return " ".join("".join(ET.parse(DOCS / "images" / picture).getroot().itertext()).split())  # noqa: S314 - as above


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in (DOCS / "decisions").glob("[0-9]*.md")]
    assert sorted(numbers) == sorted(set(numbers))
