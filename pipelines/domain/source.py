"""What every source has: interceptors and a channel selector."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pipelines.domain.component import ComponentSpec, InterceptorSpec, Kind, SelectorSpec, field
from pipelines.domain.components.selector_replicating import ReplicatingSelector
from pipelines.domain.registry import OneOf

Interceptor = Annotated[InterceptorSpec, OneOf("interceptor")]
Selector = Annotated[SelectorSpec, OneOf("selector")]


class SourceSpec(ComponentSpec):
    """Where events come from. Interceptors run in the order in which they are listed."""

    kind: ClassVar[Kind] = "source"
    interceptors: list[Interceptor] = field(
        "What each event passes through, in this order.", default=[], example=[{"type": "timestamp"}], max_length=100
    )
    selector: Selector = field(
        "Which channels get an event; without it, every channel of the definition.",
        default=ReplicatingSelector(type="replicating"),
        example={"type": "replicating", "channels": ["lake"]},
    )
