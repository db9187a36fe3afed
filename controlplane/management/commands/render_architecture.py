"""Draw the packages of the project from the import contract that `make check` proves."""

from __future__ import annotations

import ast
import itertools
import tomllib
from os.path import commonpath
from pathlib import Path

from django.conf import settings

from controlplane.management.rendered import RenderCommand, between_marks

HEAD = "| package | what it holds | modules |\n|---|---|---|"


class Command(RenderCommand):
    """`manage.py render_architecture`: writes the generated parts of docs/reference/architecture.md."""

    help = "Write the packages into docs/reference/architecture.md, from the layers contract in pyproject.toml."
    path = "docs/reference/architecture.md"

    def render(self) -> str:
        """The page, with its picture and its table replaced."""
        text = (Path(settings.BASE_DIR) / self.path).read_text()
        for name, content in {"floors": picture(), "packages": table()}.items():
            text = between_marks(text, name, content, command="render_architecture")
        return text


def layers() -> list[list[str]]:
    """The contract's layers, the highest first; packages of one layer do not import each other."""
    project = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (found,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [[name.strip() for name in layer.split("|")] for layer in found]


def picture() -> str:
    """One line per layer; neighbouring layers of one parent package name it once."""
    rows = [(_parent(layer), layer) for layer in layers()]
    width = max(len(parent) for parent, _ in rows)
    lines = []
    for parent, group in itertools.groupby(rows, key=lambda row: row[0]):
        for number, (_, layer) in enumerate(group):
            names = "  ".join(name.removeprefix(f"{parent}.") for name in sorted(layer))
            lines.append(f"{'' if number else parent:<{width}}  {names}".rstrip())
    return "\n".join(["```", *lines, "```"])


def _parent(layer: list[str]) -> str:
    """The package that all of a layer lie in; empty where there is none."""
    common = commonpath([name.rpartition(".")[0].replace(".", "/") for name in layer])
    return ".".join(common.split("/")[:2])


def table() -> str:
    """Every package of the contract with its docstring's first sentence and its number of modules."""
    rows = [_row(name) for layer in layers() for name in sorted(layer)]
    return "\n".join([HEAD, *rows])


def _row(name: str) -> str:
    path = Path(settings.BASE_DIR) / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    purpose = (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")[0].replace("\n", " ")
    modules = len(list(path.rglob("*.py"))) - len(list(path.rglob("__init__.py"))) if path.is_dir() else 1
    return f"| `{name}` | {purpose} | {modules} |"
