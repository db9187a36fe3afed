"""What requests carry: bodies and query parameters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipelines.api.http.paging import PageQuery
from pipelines.domain.base.states import DeadLetterState, Phase
from pipelines.domain.base.values import LabelKey, LabelValue, refuse
from pipelines.domain.ledger.ledger import CAUSES, Counter
from pipelines.domain.lifecycle.operations import DrainOnTimeout, OnTimeout, PauseOnTimeout
from pipelines.domain.lifecycle.reconciling import SourceOfTruth
from pipelines.domain.monitoring.event_kinds import EventCategory, known_kind, selected
from pipelines.domain.reprocessing.dead_letters import DEFAULT_RATE, MAX_DEAD_LETTERS, MAX_RATE, MIN_RATE

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
MAX_MINUTES = 44_640
_DECIDED: tuple[Counter, ...] = ("delivered", *CAUSES)
Reason = Annotated[Text, StringConstraints(min_length=1, max_length=1000, strip_whitespace=True)]


class Shape(BaseModel):
    """A body; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


class HashBody(Shape):
    """The hash of what was reviewed."""

    hash: Text = Field(min_length=1, max_length=64)


class WhyBody(Shape):
    """Why."""

    reason: Text = Field(default="", max_length=1000)


class DefinitionBody(Shape):
    """A definition, as an object or as YAML or JSON text. The body may also be the text itself, as application/yaml."""

    definition: dict[str, Any] | str


class TeamNameBody(Shape):
    """The name of a team."""

    team: Text = Field(min_length=1, max_length=63)


class RevisionBody(DefinitionBody):
    """A definition to publish as a revision, and why."""

    note: Text = Field(default="", max_length=1000)


class PipelineBody(RevisionBody):
    """A definition to make a pipeline of, why, and the `team` that owns it: by default the only one in which you are an
    operator, else the default team."""

    team: Text | None = Field(default=None, max_length=63)


class SampleEvent(Shape):
    """An event: `headers`, and the body as text (`body`) or as bytes in base64 (`body_base64`)."""

    headers: dict[str, str] = {}
    body: str | None = None
    body_base64: str | None = None


class RehearsalOfPipelineBody(Shape):
    """Events to send through a pipeline. `source`: where it has several."""

    events: list[SampleEvent] = Field(max_length=1000)
    source: str | None = Field(default=None, max_length=63)


class RehearsalBody(RehearsalOfPipelineBody, DefinitionBody):
    """The same for a definition that is sent along."""


class DetailsBody(Shape):
    """What may be changed without a revision; what is left out stays."""

    description: Text | None = Field(default=None, max_length=1000)
    labels: dict[LabelKey, LabelValue] | None = Field(default=None, max_length=64)


class ActionBody(Shape):
    """Nothing needs to be said."""


class PauseBody(Shape):
    """`on_timeout`: what follows if the in-flight batch exceeds the drain_timeout of the definition: `abort`, the
    pipeline continues running, or `stay`, nothing is read and the pipeline is paused when the batch ends."""

    on_timeout: PauseOnTimeout = OnTimeout.ABORT


class StopBody(Shape):
    """`drain`: everything that was read is written first, within the drain_timeout of the definition. `on_timeout`:
    what follows if that takes longer: `stop`, the stop escalation starts, or `abort`, the pipeline continues
    running."""

    drain: bool = True
    on_timeout: DrainOnTimeout = OnTimeout.STOP

    @model_validator(mode="after")
    def _drains_what_may_be_aborted(self) -> Self:
        if self.on_timeout is OnTimeout.ABORT and not self.drain:
            raise ValueError("without drain there is nothing to time out: omit on_timeout")
        return self


class RestartBody(Shape):
    """`on_timeout`: what follows if the in-flight batch exceeds the drain_timeout of the definition: `abort`, the
    pipeline continues running, or `stop`, the stop escalation starts."""

    on_timeout: DrainOnTimeout = OnTimeout.ABORT


class DrainBody(Shape):
    """`on_timeout`: what follows if an agent's in-flight batch exceeds the drain_timeout of its definition: `abort`,
    the agent continues and is asked again after ten minutes, or `stop`, the stop escalation starts."""

    on_timeout: DrainOnTimeout = OnTimeout.ABORT


class DeclareLostBody(Shape):
    """`confirm`: the name of the pipeline, once more."""

    confirm: str = Field(default="", max_length=200)


DeadLetterId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,64}$")]


def _utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside of the calendar in UTC") from None


Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
"""An instant, in UTC: a database may refuse an offset that Python accepts."""
Base64 = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]


class DiscardDeadLettersBody(Shape):
    """New dead letters that match all that is given; `cause`: a part of its text. Empty: all new ones."""

    component: Text | None = Field(default=None, max_length=200)
    cause: Text | None = Field(default=None, max_length=1000)
    source: Text | None = Field(default=None, max_length=100)
    since: Instant | None = None


class RepairBody(Shape):
    """One dead letter and what is sent instead: a text, bytes in base64, or other headers; what is omitted stays."""

    id: DeadLetterId
    body: str | None = None
    body_base64: Base64 | None = None
    headers: dict[Text, Text] | None = Field(default=None, max_length=1000)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.body is not None and self.body_base64 is not None:
            raise ValueError("give either body or body_base64")
        if self.body_base64 is not None and len(self.body_base64) % 4:
            raise ValueError("body_base64 is not base64: its length is no multiple of 4")
        return self


class ReplayBody(Shape):
    """Which dead letters, by one of `ids`, `filter` and `repair`; `rate`: dead letters per second."""

    ids: list[DeadLetterId] | None = Field(default=None, min_length=1, max_length=MAX_DEAD_LETTERS)
    filter: DiscardDeadLettersBody | None = None
    repair: RepairBody | None = None
    rate: float = Field(default=DEFAULT_RATE, ge=MIN_RATE, le=MAX_RATE, allow_inf_nan=False)
    reason: Text = Field(default="", max_length=1000)

    @model_validator(mode="after")
    def _names_letters_once(self) -> Self:
        if sum(part is not None for part in (self.ids, self.filter, self.repair)) != 1:
            raise ValueError("give exactly one of ids, filter and repair")
        return self


class QuarantineRange(Shape):
    """The records [start, end) of one partition, for one source and channel."""

    source: str = Field(max_length=63)
    channel: str = Field(max_length=63)
    topic: Text = Field(max_length=249)
    partition: int = Field(ge=0, lt=2**63)
    start: int = Field(ge=0, lt=2**63)
    end: int = Field(ge=1, lt=2**63)


class QuarantineBody(Shape):
    """What to put in quarantine, and why. `start`: start the pipeline afterwards."""

    ranges: list[QuarantineRange] = Field(min_length=1, max_length=100)
    reason: Text = Field(default="", max_length=1000)
    start: bool = False


class ReconcileBody(Shape):
    """The source of truth, and why."""

    source_of_truth: SourceOfTruth
    reason: Text = Field(default="", max_length=1000)


class DiscardBody(Shape):
    """Dead letters to discard, and why."""

    ids: list[DeadLetterId] = Field(min_length=1, max_length=MAX_DEAD_LETTERS)
    reason: Text = Field(default="", max_length=1000)


class LoginBody(Shape):
    """User name and password."""

    username: Text = Field(min_length=1, max_length=150)
    password: Text = Field(min_length=1, max_length=4096)


class PipelinesQuery(PageQuery):
    """Which pipelines. `label`: `name:value`, or `name` alone; `q`: part of the name or the description;
    `host`: the name of the host that owns them; `team`: the name of the team that does."""

    phase: Phase | None = None
    team: str | None = Field(default=None, max_length=63)
    host: str | None = Field(default=None, max_length=63)
    label: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=200)


class PipelineQuery(PageQuery):
    """Of which pipeline."""

    pipeline: str | None = Field(default=None, max_length=63)


def _each(given: list[str]) -> list[str]:
    """Values with commas between them, as several."""
    return [name for value in given for each in value.split(",") if (name := each.strip())]


class EventFilter(BaseModel):
    """Of which pipeline and of which kinds: `kind` is one (`phase.changed`) or the beginning of several
    (`migration.*`), `category` what events are about; both repeated or with commas between, and what matches any of
    them is meant."""

    pipeline: str | None = Field(default=None, max_length=63)
    kind: Annotated[list[Annotated[str, AfterValidator(known_kind)]], BeforeValidator(_each)] = Field(
        default=[], max_length=100
    )
    category: Annotated[list[EventCategory], BeforeValidator(_each)] = Field(default=[], max_length=20)

    @property
    def kinds(self) -> list[str]:
        """The patterns of what is wanted; empty for all."""
        return selected(self.kind, self.category)


class EventsQuery(EventFilter, PageQuery):
    """Which events, page by page."""


class StreamQuery(EventFilter):
    """Which events, and from which on, for clients that cannot send the header Last-Event-ID. With `queries`, the
    figures of that pipeline alone have those of its queries, with `-` those of none; they are half of what is sent."""

    last_event_id: int | None = Field(default=None, ge=0, lt=2**63)
    queries: str | None = Field(default=None, max_length=63)


class LedgerQuery(PageQuery):
    """Which batches; `run` is a run's number. `outcome`: those in which records had it, with `component` those in which
    the component at this path has decided that. `minutes`: those that were finished since."""

    source: str | None = Field(default=None, max_length=100)
    channel: str | None = Field(default=None, max_length=63)
    run: int | None = Field(default=None, ge=1, lt=2**63)
    outcome: Counter | None = None
    component: str | None = Field(default=None, max_length=200)
    minutes: int | None = Field(default=None, ge=1, le=MAX_MINUTES)

    @field_validator("component")
    @classmethod
    def _decides(cls, component: str | None, info: ValidationInfo) -> str | None:
        if component is not None and info.data.get("outcome") not in _DECIDED:
            refuse("no_outcome", "The outcome is none that components decide.", f"outcome: {', '.join(_DECIDED)}.")
        return component


class DeadLettersQuery(BaseModel):
    """Which dead letters; `cause`: a part of its text, in any case of letters."""

    component: str | None = Field(default=None, max_length=200)
    cause: str | None = Field(default=None, max_length=1000)
    source: str | None = Field(default=None, max_length=100)
    since: Instant | None = None
    state: DeadLetterState | None = None


class DeadLettersPageQuery(DeadLettersQuery, PageQuery):
    """Which dead letters, page by page."""


class PositionsQuery(BaseModel):
    """How many seconds the host's answer is waited for."""

    wait: float = Field(default=15, ge=0, le=30)


class PositionsPlanBody(Shape):
    """Where to continue: `to` is ledger, checkpoint, group, earliest or latest, `timestamp=-30m`, `timestamp=` and a
    time, `offsets=TOPIC/PARTITION:OFFSET,…`, `before=EVENT-30m`, or an object with the key timestamp or offsets. In
    place of an OFFSET stands earliest, latest or another of these words, `-30m` or a time. `source`: only of this
    one."""

    to: str | dict[str, Any]
    source: str | None = Field(default=None, max_length=100)


class PositionsApplyBody(Shape):
    """The hash of the plan that was reviewed."""

    hash: Text = Field(min_length=1, max_length=64)


class SeriesQuery(BaseModel):
    """How far back."""

    minutes: int = Field(default=15, ge=1, le=1440)


class FlowQuery(BaseModel):
    """How far back."""

    minutes: int = Field(default=15, ge=1, le=MAX_MINUTES)


class WaitQuery(BaseModel):
    """How many seconds the answer may wait for the operation's end."""

    wait: float = Field(default=0, ge=0, le=60)


class DiffQuery(BaseModel):
    """The revision to compare with; the one before, unless given."""

    against: int | None = Field(default=None, ge=1, lt=2**31)


class ForceQuery(BaseModel):
    """Delete although pipelines refer to it: what runs goes on, and every later start of theirs is refused."""

    force: bool = False


class ConfirmQuery(BaseModel):
    """The name of what is to be removed for ever."""

    confirm: str = Field(default="", max_length=200)
