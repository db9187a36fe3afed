"""The plan of a shadow knows which sources can be read again by positions of the ledger: those whose builders do."""

from __future__ import annotations

import importlib

import pytest

from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.sources.source import SourceSpec


@pytest.mark.parametrize("spec", [each for each in registry.types("source").values() if issubclass(each, SourceSpec)])
def test_a_source_is_read_again_where_its_builder_does(spec: type[SourceSpec]) -> None:
    builder = importlib.import_module(f"workers.agent.components.source.{spec.type_name()}").Builder
    assert spec.read_again is builder.reads_past
