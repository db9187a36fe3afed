"""What the documentation shows is valid, and explains every key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.domain.definitions.document.spec import Definition, Delivery, Errors, Lifecycle, Placement
from pipelines.domain.definitions.parts.launchers import LocalLauncher, SparkLauncher

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_every_example_is_valid_and_complete() -> None:
    files = sorted((DOCS / "examples").glob("*.yaml"))
    assert files
    for file in files:
        assert validate_text(file.read_text()).findings == [], file


def test_the_example_on_the_page_is_the_file() -> None:
    assert (DOCS / "examples" / "orders.yaml").read_text() in (DOCS / "reference" / "definition.md").read_text()
    assert (DOCS / "examples" / "first.yaml").read_text() in (DOCS.parent / "README.md").read_text()


@pytest.mark.parametrize("spec", [Definition, Delivery, Errors, Lifecycle, Placement, LocalLauncher, SparkLauncher])
def test_every_key_is_explained(spec: type[Definition]) -> None:
    page = (DOCS / "reference" / "definition.md").read_text()
    for name in spec.model_fields:
        assert f"| `{name}` |" in page, name
