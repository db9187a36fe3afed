"""What the specifications of all components have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pipelines.domain.base.roles import Role
from pipelines.domain.base.values import ComponentName, Duration

Kind = Literal["source", "interceptor", "selector", "channel", "sink", "processor", "dead_letter"]


_ABBREVIATIONS = frozenset({"api", "ca", "dsn", "id", "json", "tls", "url"})


def _field_title(name: str, _field: object) -> str:
    first, *others = (word.upper() if word in _ABBREVIATIONS else word for word in name.split("_"))
    return " ".join([first[:1].upper() + first[1:], *others])


ReachKind = Literal["read", "write", "completed", "servers", "url", "dsn", "bind"]
"""What a key reaches: a path that is read or written (`completed`: written unless completed files are kept), addresses
of servers, or one that is listened on."""

ReferredKind = Literal["sources", "channels", "sinks", "clusters", "hosts"]
"""What a key names: components of the same definition, or what the installation has."""


def field(
    description: str,
    *,
    example: Any,
    default: Any = ...,
    unit: str | None = None,
    reach: ReachKind | None = None,
    secret: bool = False,
    refers: ReferredKind | None = None,
    **rules: Any,
) -> Any:
    """A key of a definition, with what the form and the documentation show of it.

    Without `default` the key is required. `unit` says what a number counts, `reach` that the value is a path or an
    address, `secret` that it may refer to a secret, since it is never shown and goes to the component's server alone;
    of client options, those of `SECRET_CAPABLE_OPTIONS` may. `refers` says what its texts name: those in a list or in a
    mapping's values, or the mapping's keys where its values are numbers. `rules` are pydantic's.
    """
    said: JsonDict = {"unit": unit, "reach": reach, "secret": secret, "refers": refers}
    extra: JsonDict | None = {name: value for name, value in said.items() if value} or None
    return Field(default, description=description, examples=[example], json_schema_extra=extra, **rules)


class Spec(BaseModel):
    """A part of a definition: immutable, strict about types, unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, field_title_generator=_field_title
    )


class ComponentSpec(Spec):
    """A component of a graph: `kind` and the value of `type` name it, `title` is what a person calls it.

    `required_role`: who may publish and start a definition that has it. `on_host`: it keeps data on the host's disk
    that is nowhere else.
    """

    kind: ClassVar[Kind]
    title: ClassVar[str]
    on_host: ClassVar[bool] = False
    required_role: ClassVar[Role] = Role.OPERATOR
    type: str

    @classmethod
    def type_name(cls) -> str:
        """The value of `type` that stands for this component."""
        (name,) = cls.model_fields["type"].annotation.__args__  # type: ignore[union-attr]
        return str(name)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The keys, under the component's kind and its title for people."""
        written = handler(schema)
        handler.resolve_ref_schema(written).update(kind=cls.kind, title=cls.title)
        return written


class InterceptorSpec(ComponentSpec):
    """Looks at each event of a source; may change or filter it."""

    kind: ClassVar[Kind] = "interceptor"

    @property
    def repeatable(self) -> bool:
        """Whether looking at one record twice gives one result."""
        return True

    @property
    def volatile_headers(self) -> frozenset[str]:
        """Headers that it sets to another value each time that it looks at a record."""
        return frozenset()


class SelectorSpec(ComponentSpec):
    """Decides which channels an event of a source goes to."""

    kind: ClassVar[Kind] = "selector"

    def targets(self, channels: list[str]) -> list[str]:
        """Every channel that this selector can send to, out of all `channels` of the definition."""
        raise NotImplementedError

    def optional_targets(self) -> frozenset[str]:
        """The targets whose failures are counted and hold nothing back."""
        raise NotImplementedError

    def sometimes_optional(self) -> frozenset[str]:
        """The targets for which the event decides whether they are optional."""
        return frozenset()


class ChannelSpec(ComponentSpec):
    """Carries events from sources to a sink.

    `shares_read`: one read of a source serves all such channels. `buffers`: events are copied into a store, out of
    which the sink is fed by a query of its own.
    """

    kind: ClassVar[Kind] = "channel"
    shares_read: ClassVar[bool] = False
    buffers: ClassVar[bool] = False


class SinkSpec(ComponentSpec):
    """Delivers the events of one channel. `once`: no event is there twice, under the `condition`; otherwise that says
    when one is. `deduplicates`: it can be read for what it has of an unfinished batch."""

    kind: ClassVar[Kind] = "sink"
    once: ClassVar[bool] = False
    deduplicates: ClassVar[bool] = False
    condition: ClassVar[str]
    channel: ComponentName = field("The channel whose events this sink delivers.", example="lake", refers="channels")
    write_deadline: Duration = field(
        "The longest a write of one batch may take. Then it is canceled and counts as failed: the next sink of a "
        "group is tried, and its records count as possible duplicates.",
        default=300.0,
        example="5m",
        unit="seconds",
    )

    @property
    def batch_interval(self) -> float:
        """How long events may wait for a larger batch, in seconds. 0: each is wanted as soon as it can be read."""
        return 0.0


class ProcessorSpec(ComponentSpec):
    """Chooses the sink of a group that takes a batch."""

    kind: ClassVar[Kind] = "processor"


class DeadLetterSpec(ComponentSpec):
    """Keeps the events that could not be processed."""

    kind: ClassVar[Kind] = "dead_letter"
