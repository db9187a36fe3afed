"""What there is to build with: types of components."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.selectors.lifecycle.schemas import ComponentTypeSchema, ComponentTypesSchema


class ComponentList(View):
    """Types of components."""

    @extend_schema(operation_id="list_components", responses=ComponentTypesSchema)
    def get(self, request: Request) -> Response:
        """List every type of component with its JSON Schema."""
        return answer(ComponentTypesSchema([_component(spec) for spec in registry.all()]))


def _component(spec: type[ComponentSpec]) -> ComponentTypeSchema:
    schema = registry.json_schema(spec.kind, spec.type_name())
    return ComponentTypeSchema(
        kind=spec.kind,
        type=spec.type_name(),
        title=spec.title,
        description=str(schema.get("description", "")),
        schema_=schema,
    )
