"""Write the OpenAPI description that types are made of, and the schema that the editor is tested with."""

from __future__ import annotations

import json

from django.core.management.base import CommandError
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from controlplane.management.rendered import RenderPages
from pipelines.domain.definitions.document.json_schema import definition_schema


class Command(RenderPages):
    """`manage.py render_schema`: writes frontend/openapi.json and frontend/definition-schema.json."""

    help = "Write the descriptions of the API and of definitions below frontend/; fails on every warning."

    def render_all(self) -> dict[str, str]:
        """The API's description, and the schema of definitions."""
        return {
            "frontend/openapi.json": self._api(),
            "frontend/definition-schema.json": json.dumps(definition_schema(), ensure_ascii=False) + "\n",
        }

    def _api(self) -> str:
        GENERATOR_STATS.reset()
        schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
        if GENERATOR_STATS:
            raise CommandError("The warnings above would make types that are wrong.")
        validate_schema(schema)  # type: ignore[no-untyped-call]
        return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
