"""What there is to build with: types of components, the schema of a whole definition, and definitions to start from."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.domain.definitions.document.json_schema import definition_schema
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.selectors.lifecycle.gallery import TemplateSchema, TemplatesSchema, get_template, templates
from pipelines.selectors.lifecycle.schemas import ComponentTypeSchema, ComponentTypesSchema, JsonSchema


class ComponentList(View):
    """Types of components."""

    @extend_schema(operation_id="list_components", responses=ComponentTypesSchema)
    def get(self, request: Request) -> Response:
        """List every type of component with its JSON Schema."""
        return answer(ComponentTypesSchema([_component(spec) for spec in registry.all()]))


class TemplateList(View):
    """Definitions to start from."""

    @extend_schema(operation_id="list_templates", responses=TemplatesSchema)
    def get(self, request: Request) -> Response:
        """List the templates: a definition for each common job, with comments that say what to fill in."""
        return answer(TemplatesSchema(templates()))


class TemplateDetail(View):
    """One definition to start from."""

    @extend_schema(operation_id="get_template", responses=TemplateSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show a template."""
        return answer(get_template(name))


class DefinitionSchema(View):
    """The schema of definitions."""

    @extend_schema(operation_id="get_definition_schema", responses=JsonSchema)
    def get(self, request: Request) -> Response:
        """Get the JSON Schema of a whole definition, from which forms are drawn and editors complete."""
        return answer(JsonSchema(definition_schema()))


def _component(spec: type[ComponentSpec]) -> ComponentTypeSchema:
    schema = registry.json_schema(spec.kind, spec.type_name())
    return ComponentTypeSchema(
        kind=spec.kind,
        type=spec.type_name(),
        title=spec.title,
        description=str(schema.get("description", "")),
        schema_=schema,
    )
