"""The threat model names the attack suite, and all of it."""

from __future__ import annotations

import re
import tomllib

from tests.settings import BASE_DIR

PAGE = (BASE_DIR / "docs" / "security" / "threat-model.md").read_text()
NAMED = {name if "/" in name else f"tests/attacks/{name}" for name in re.findall(r"`([\w/]*test_\w+\.py)`", PAGE)}


def test_every_test_that_the_threat_model_names_exists() -> None:
    assert [name for name in NAMED if not (BASE_DIR / name).is_file()] == []


def test_the_threat_model_names_every_test_of_the_attack_suite() -> None:
    suite = {file.relative_to(BASE_DIR).as_posix() for file in (BASE_DIR / "tests" / "attacks").glob("test_*.py")}
    assert suite - NAMED == set()


def test_the_attack_suite_is_part_of_make_test() -> None:
    makefile = (BASE_DIR / "Makefile").read_text()
    (fast,) = re.findall(r"^FAST := (.*)$", makefile, re.MULTILINE)
    assert "tests/attacks" in fast.split()
    (whole,) = re.findall(r"^test: environment.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "$(FAST_PYTEST)" in whole


def test_twelve_classes_are_described() -> None:
    assert re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE) == [str(number) for number in range(1, 13)]


def test_the_supported_version_is_the_one_that_is_developed() -> None:
    version = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
    assert f"| {version.rpartition('.')[0]}, the latest release of it | yes |" in (BASE_DIR / "SECURITY.md").read_text()
