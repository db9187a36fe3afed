"""What every source has: interceptors and a channel selector."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer
from pydantic.config import JsonDict

from pipelines.domain.definitions.components.selector.replicating import ReplicatingSelector
from pipelines.domain.definitions.parts.component import ComponentSpec, InterceptorSpec, Kind, SelectorSpec, field
from pipelines.domain.definitions.parts.registry import OneOf

Interceptor = Annotated[InterceptorSpec, OneOf("interceptor")]
Selector = Annotated[SelectorSpec, OneOf("selector")]

_LAST = ("interceptors", "selector")


def _in_the_order_of_the_flow(keys: dict[str, Any]) -> dict[str, Any]:
    """A source's own keys, then what its events pass."""
    return {key: keys[key] for key in (*(key for key in keys if key not in _LAST), *_LAST) if key in keys}


def _order_form(schema: JsonDict) -> None:
    properties = schema["properties"]
    if isinstance(properties, dict):
        schema["properties"] = _in_the_order_of_the_flow(properties)


class SourceSpec(ComponentSpec):
    """Where events come from. Interceptors run in the order in which they are listed.

    `read_again`: what its agent has delivered can be read once more, beside the agent.
    """

    model_config = ConfigDict(json_schema_extra=_order_form)

    kind: ClassVar[Kind] = "source"
    read_again: ClassVar[bool] = False
    interceptors: list[Interceptor] = field(
        "What each event passes through, in this order.", default=[], example=[{"type": "timestamp"}], max_length=100
    )
    selector: Selector = field(
        "Which channels get an event; without it, every channel of the definition.",
        default=ReplicatingSelector(type="replicating"),
        example={"type": "replicating", "channels": ["lake"]},
    )

    @model_serializer(mode="wrap")
    def _ordered(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _in_the_order_of_the_flow(serialize(self))
