"""The description of the API, OpenAPI 3.1, from the models that check requests and make answers."""

from __future__ import annotations

import json
import re
from typing import Any

from drf_spectacular.authentication import SessionScheme as SessionCookieScheme
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction, OpenApiParameter
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, model_json_schema

from pipelines.api.http.problems import CONTENT_TYPE
from pipelines.domain.lifecycle.conditions import CONDITION_LABELS
from pipelines.domain.lifecycle.vocabulary import CONSEQUENCES, MIGRATION_KINDS, PHASES, STAGES
from pipelines.selectors.base.schemas import Problem

REFERENCE = "#/components/schemas/"
LABELS: dict[str, dict[str, str]] = {
    "Phase": {state: f"{term.label}. {term.meaning}" for state, term in PHASES.items()},
    "MigrationStage": {stage: f"{term.label}. {term.meaning}" for stage, term in STAGES.items()},
    "MigrationKind": {kind: f"{term.label}. {term.meaning}" for kind, term in MIGRATION_KINDS.items()},
    "Consequence": {each: f"{term.label}. {term.meaning}" for each, term in CONSEQUENCES.items()},
    "ConditionType": {kind: f"{', '.join(labels.values())}." for kind, labels in CONDITION_LABELS.items()},
}
"""What the values of an enumeration are called, by the names of its schema: the labels of the dashboard."""
PAGE_OF = re.compile(r"Page[_\[](\w+?)[_\]]*$")


def component_name(name: str) -> str:
    """The public name of a model: `PipelineView` is `Pipeline`, a page of them is `PipelinePage`."""
    paged = PAGE_OF.fullmatch(name)
    return f"{component_name(paged.group(1))}Page" if paged else name.removesuffix("Schema")


class CompleteAnswers(GenerateJsonSchema):
    """Answers always have all their fields, so every field of an answer is required."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Whether the field is in every document."""
        return self.mode == "serialization" or super().field_is_required(field, total)


def _public(schema: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(schema)
    renamed: dict[str, Any] = json.loads(
        re.sub(rf'"{REFERENCE}([^"]+)"', lambda match: f'"{REFERENCE}{component_name(match.group(1))}"', text)
    )
    if "title" in renamed:
        renamed["title"] = component_name(renamed["title"])
    if "enum" in renamed and (labels := LABELS.get(renamed.get("title", ""))):
        values = "\n".join(f"- `{value}`: {labels[value]}" for value in renamed["enum"])
        renamed["description"] = f"{renamed['description']}\n\n{values}"
    return renamed


class ModelExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Describe pydantic models: requests as they are checked, answers as they are given."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        """The public name of the model; a part of one answer may be another answer, so a name may come twice."""
        set_override(self.target, "suppress_collision_warning", True)
        return component_name(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The schema of the model; those of its parts are registered under their own names."""
        schema = model_json_schema(
            self.target,
            ref_template=REFERENCE + "{model}",
            mode="validation" if direction == "request" else "serialization",
            schema_generator=CompleteAnswers,
        )
        for name, part in schema.pop("$defs", {}).items():
            public = component_name(name)
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=public, type=ResolvedComponent.SCHEMA, object=public, schema=_public(part)
            )
            auto_schema.registry.register_on_missing(component)
        return _public(schema)


LOCATION = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, description="Address of the created object.", response=[200, 201, 202]
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="The `etag` of what you read, or `*`."
)
OPTIONAL_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The `etag` of what you read; 412 where it has changed."
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A repeated request with the same key and body is answered by the first answer; kept for 24 hours.",
)


def query_parameters(shape: type[BaseModel]) -> list[OpenApiParameter]:
    """The query parameters that a view reads with this model."""
    schema = shape.model_json_schema(mode="validation")
    definitions = schema.get("$defs", {})
    return [_parameter(name, field, definitions) for name, field in schema["properties"].items()]


def _parameter(name: str, field: dict[str, Any], definitions: dict[str, Any]) -> OpenApiParameter:
    choices = [each for each in field.pop("anyOf", [field]) if each.get("type") != "null"]
    kind = _resolved(choices[0], definitions)
    if field.get("default") is None:
        kind.pop("default", None)
    if "items" in kind:
        kind["items"] = _resolved(kind["items"], definitions)
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY)


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A type by itself: without a reference, and without what describes the class instead of the parameter."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    kind = definitions[reference] if reference else schema
    return {word: value for word, value in kind.items() if word not in {"title", "description"}}


class Schema(AutoSchema):
    """Operations with what they all have: problems as failures, Idempotency-Key where it is understood, and the query
    parameters that the view accepts."""

    def get_override_parameters(self) -> list[Any]:
        """Parameters that the view does not name itself."""
        handler = getattr(self.view, self.method.lower(), None)
        shape = getattr(self.view, "queries", {}).get(self.method)
        query = query_parameters(shape) if shape else []
        return query + ([IDEMPOTENCY_KEY, LOCATION] if getattr(handler, "idempotent", False) else [])

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        problem = self._get_response_for_code(Problem, "default", [CONTENT_TYPE])  # type: ignore[no-untyped-call]
        return {**bodies, "default": {**problem, "description": "A problem."}}


class SessionScheme(SessionCookieScheme):  # type: ignore[no-untyped-call]
    """The session's cookie, as Django has it."""

    target_class = "pipelines.api.http.sessions.SessionAuthentication"
    priority = 1


class TokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """Tokens, as knox has them."""

    target_class = "pipelines.api.access.authentication.TokenAuthentication"
    priority = 1
