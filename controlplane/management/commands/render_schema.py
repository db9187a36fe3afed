"""Write the OpenAPI description that the page's types are generated from."""

from __future__ import annotations

import json

from django.core.management.base import CommandError
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from controlplane.management.rendered import RenderCommand


class Command(RenderCommand):
    """`manage.py render_schema`: writes frontend/openapi.json."""

    help = "Write frontend/openapi.json from the views; fails on every warning."
    path = "frontend/openapi.json"

    def render(self) -> str:
        """The validated description."""
        GENERATOR_STATS.reset()
        schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
        if GENERATOR_STATS:
            raise CommandError("The warnings above would make types that are wrong.")
        validate_schema(schema)  # type: ignore[no-untyped-call]
        return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
