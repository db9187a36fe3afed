"""Where Python interceptors may lie, and what is said of those that are not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.agent.interceptors import search
from workers.agent.interceptors.search import NotFound


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    made = tmp_path / "interceptors"
    made.mkdir(mode=0o755)
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield made
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: Path, text: str = "class Enrich:\n    pass\n") -> Path:
    path.parent.mkdir(mode=0o755, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)
    return path


def missing(class_name: str, *directories: Path) -> str:
    with pytest.raises(NotFound) as caught:
        search.load(class_name, [str(each) for each in directories])
    return str(caught.value)


@pytest.mark.parametrize("place", ["search_one.py", "search_two/orders.py"])
def test_a_module_in_a_directory_is_found(directory: Path, place: str) -> None:
    write(directory / place)
    module = place.removesuffix(".py").replace("/", ".")
    assert search.load(f"{module}:Enrich", [str(directory)]).__name__ == "Enrich"
    assert sys.path[-1] == str(directory)


def test_a_module_never_takes_the_place_of_one_that_is_installed(directory: Path) -> None:
    write(directory / "json.py")
    assert "(" in missing("json:Enrich", directory)
    assert "has no class Enrich" in missing("json:Enrich", directory)


def test_what_is_missing_is_named_with_the_places_that_were_searched(directory: Path) -> None:
    message = missing("search_nowhere.orders:Enrich", directory)
    assert message.startswith("There is no module search_nowhere. Searched: the packages of ")
    assert str(directory) in message
    assert "HEADGATE_INTERCEPTOR_PATH is not set on the host" in missing("search_nowhere:Enrich")


def test_a_module_that_another_one_needs_and_a_class_are_named(directory: Path) -> None:
    write(directory / "search_needs.py", "import search_missing\n")
    assert missing("search_needs:X", directory).startswith(
        "search_needs needs the module search_missing, which is missing"
    )
    write(directory / "search_other.py")
    assert "search_other.py) has no class Mask" in missing("search_other:Mask", directory)


@pytest.mark.parametrize(("place", "mode"), [("search_w.py", 0o646), ("search_g/orders.py", 0o664)])
def test_a_file_that_others_can_write_is_not_run(directory: Path, place: str, mode: int) -> None:
    path = write(directory / place, "raise SystemExit('it was run')\n")
    path.chmod(mode)
    assert "can be written by others" in missing(f"{place.removesuffix('.py').replace('/', '.')}:X", directory)


def test_a_package_that_others_can_write_is_not_run(directory: Path) -> None:
    write(directory / "search_open" / "orders.py", "raise SystemExit('it was run')\n")
    (directory / "search_open").chmod(0o777)
    assert "can be written by others" in missing("search_open.orders:X", directory)


def test_directories_are_checked(directory: Path, tmp_path: Path) -> None:
    assert list(search.problems([str(directory)])) == []
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    found = list(search.problems(["relative", str(tmp_path / "none"), str(write(tmp_path / "file")), str(open_to_all)]))
    words = ["is not absolute", "does not exist", "does not exist", "can be written by others (mode 777)"]
    assert [word in text for word, text in zip(words, found, strict=True)] == [True] * 4


def test_a_directory_of_another_user_is_refused(directory: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(directory, 12345, -1)
    (found,) = search.problems([str(directory)])
    assert "belongs to the user 12345" in found
