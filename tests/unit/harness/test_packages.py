"""Packages stay small enough to look over, and each module stands under a layer of the import contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from controlplane.management.commands.render_architecture import layers

ROOT = Path(__file__).resolve().parents[3]
TOP = ("controlplane", "pipelines", "workers")
AT_MOST = 15
FRAMEWORK = {"controlplane.management.commands", "pipelines.migrations", "pipelines.models"}
"""Packages whose content the framework wants in one place."""


def modules() -> Iterator[str]:
    for top in TOP:
        for path in (ROOT / top).rglob("*.py"):
            if path.name != "__init__.py":
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_no_package_holds_more_modules_than_can_be_looked_over() -> None:
    held = Counter(module.rpartition(".")[0] for module in modules())
    assert held["pipelines.services.lifecycle"] > 1
    assert {package: count for package, count in held.items() if count > AT_MOST and package not in FRAMEWORK} == {}


def test_every_module_stands_under_one_layer_of_the_contract() -> None:
    listed = [name for layer in layers() for name in layer]
    assert len(listed) == len(set(listed))
    over = {module: [name for name in listed if f"{module}.".startswith(f"{name}.")] for module in modules()}
    assert {module: names for module, names in over.items() if len(names) != 1} == {}


def test_nothing_is_kept_from_the_formatter() -> None:
    opposed = "# fmt" + ": "
    files = [path for top in (*TOP, "bench", "tests") for path in (ROOT / top).rglob("*.py")]
    assert len(files) > len(TOP)
    assert [str(path) for path in files if opposed in path.read_text()] == []
