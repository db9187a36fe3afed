"""What requests carry: bodies and query parameters."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from pipelines.api.paging import PageQuery
from pipelines.domain.client_options import LONGEST_VALUE
from pipelines.domain.states import Phase
from pipelines.domain.values import LabelKey, LabelValue

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]


class Shape(BaseModel):
    """A body; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


class DefinitionBody(Shape):
    """A definition, as an object or as YAML or JSON text. The body may also be the text itself, as application/yaml."""

    definition: dict[str, Any] | str


class RevisionBody(DefinitionBody):
    """A definition to publish as a revision, and why."""

    note: Text = Field(default="", max_length=1000)


class DetailsBody(Shape):
    """What may be changed without a revision; what is left out stays."""

    description: Text | None = Field(default=None, max_length=1000)
    labels: dict[LabelKey, LabelValue] | None = Field(default=None, max_length=64)


class ActionBody(Shape):
    """Nothing needs to be said."""


class StopBody(Shape):
    """`drain`: everything that was read is written first, within the drain_timeout of the definition."""

    drain: bool = True


class SecretBody(Shape):
    """A value to keep as a secret."""

    value: SecretStr = Field(min_length=1, max_length=LONGEST_VALUE)


class LoginBody(Shape):
    """User name and password."""

    username: Text = Field(min_length=1, max_length=150)
    password: Text = Field(min_length=1, max_length=4096)


class PipelinesQuery(PageQuery):
    """Which pipelines. `label`: `name:value`, or `name` alone; `q`: part of the name or the description."""

    phase: Phase | None = None
    label: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=200)


class PipelineQuery(PageQuery):
    """Of which pipeline."""

    pipeline: str | None = Field(default=None, max_length=63)


class StreamQuery(BaseModel):
    """Of which pipeline, and from which event on, for clients that cannot send the header Last-Event-ID."""

    pipeline: str | None = Field(default=None, max_length=63)
    last_event_id: int | None = Field(default=None, ge=0, lt=2**63)


class LedgerQuery(PageQuery):
    """Which batches; `run` is a run's number."""

    channel: str | None = Field(default=None, max_length=63)
    run: int | None = Field(default=None, ge=1, lt=2**63)


class SeriesQuery(BaseModel):
    """How far back."""

    minutes: int = Field(default=15, ge=1, le=1440)


class WaitQuery(BaseModel):
    """How many seconds the answer may wait for the operation's end."""

    wait: float = Field(default=0, ge=0, le=60)


class DiffQuery(BaseModel):
    """The revision to compare with; the one before, unless given."""

    against: int | None = Field(default=None, ge=1, lt=2**31)


class LogQuery(BaseModel):
    """The last `tail` lines, or what follows byte `offset`."""

    tail: int = Field(default=200, ge=1, le=10_000)
    offset: int | None = Field(default=None, ge=0, lt=2**63)
    format: Annotated[str, StringConstraints(pattern="^(json|text)$")] = "json"


class ForceQuery(BaseModel):
    """Delete although pipelines refer to it: what runs goes on, and every later start of theirs is refused."""

    force: bool = False


class ConfirmQuery(BaseModel):
    """The name of what is to be removed for ever."""

    confirm: str = Field(default="", max_length=200)
