"""The JSON Schema of a whole definition, from which forms are drawn and editors complete."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from pipelines.domain.definitions.document.spec import API_VERSION, Definition


@cache
def definition_schema() -> dict[str, Any]:
    """Self-contained: its components are below `$defs`. Treat it as read-only."""
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:headgate:definition:{API_VERSION}",
    } | Definition.model_json_schema()
