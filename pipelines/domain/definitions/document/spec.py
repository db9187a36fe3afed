"""The definition of a pipeline, `headgate/v1`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from pipelines.domain.base.values import (
    ComponentName,
    Duration,
    HeaderName,
    HostName,
    LabelKey,
    LabelValue,
    PipelineName,
    Syntax,
)
from pipelines.domain.definitions.components.dead_letter.file import FileDeadLetters
from pipelines.domain.definitions.components.dead_letter.kafka import KafkaDeadLetters
from pipelines.domain.definitions.components.processor.default import DefaultProcessor
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.cases import MOST_TESTS, DefinitionTest
from pipelines.domain.definitions.parts.client_options import PRODUCER
from pipelines.domain.definitions.parts.component import (
    ChannelSpec,
    ComponentSpec,
    DeadLetterSpec,
    ProcessorSpec,
    SinkSpec,
    Spec,
    field,
)
from pipelines.domain.definitions.parts.launchers import Launcher, LocalLauncher
from pipelines.domain.definitions.parts.leases import OnSupervisorLoss
from pipelines.domain.definitions.parts.registry import OneOf
from pipelines.domain.definitions.sources.source import SourceSpec

API_VERSION = "headgate/v1"
ANY_HOST = "any"

Source = Annotated[SourceSpec, OneOf("source")]
Channel = Annotated[ChannelSpec, OneOf("channel")]
Sink = Annotated[SinkSpec, OneOf("sink")]
Processor = Annotated[ProcessorSpec, OneOf("processor")]
DeadLetter = Annotated[DeadLetterSpec, OneOf("dead_letter")]


class SinkGroup(Spec):
    """Sinks that share one channel, and the processor that chooses among them."""

    sinks: list[ComponentName] = field(
        "The sinks of the group.", example=["lake_a"], refers="sinks", min_length=1, max_length=100
    )
    processor: Processor = field(
        "How the sink that takes a batch is chosen.",
        default=DefaultProcessor(type="default"),
        example={"type": "default"},
    )


class ChannelDelivery(NamedTuple):
    """What delivers a channel: the members of a group and its processor; `group` is empty for a sink on its own."""

    group: str
    processor: ProcessorSpec
    members: list[str]


class Delivery(Spec):
    """How events are moved."""

    mode: Literal["micro_batch", "real_time"] = field(
        "`micro_batch`: batch by batch, every component. `real_time`: record by record, in milliseconds, from Kafka "
        "over built-in interceptors to Kafka.",
        default="micro_batch",
        example="real_time",
    )
    guarantee: Literal["exactly_once", "at_least_once"] = field(
        "`exactly_once`: after a crash or an attempt that failed, a Kafka sink is asked which records of the "
        "unfinished batch it has, and the others alone are delivered. Other sinks keep their own guarantee. "
        "`at_least_once`: the whole batch is delivered again, and its possible duplicates are counted.",
        default="exactly_once",
        example="at_least_once",
    )
    on_unknown: Literal["deliver", "wait"] = field(
        "What becomes of an unfinished batch while a sink does not report what it has of it. `deliver`: after "
        "`unknown_timeout` the whole batch is delivered again, with its possible duplicates counted. `wait`: it is "
        "held.",
        default="deliver",
        example="wait",
    )
    unknown_timeout: Duration = field(
        "With `on_unknown: deliver`, how long that is waited for. A sink group delivers to its next member after this "
        "time.",
        default=10.0,
        example="60s",
        unit="seconds",
    )
    batch_duration: Annotated[Duration, Field(ge=5, le=3600)] = field(
        "Real-time mode: how long a batch lasts, at least 5 s. Pause, drain and stop wait for its end, and after a "
        "crash what was read since its start is read again; at its end, records wait for about a tenth of a second.",
        default=30.0,
        example="60s",
        unit="seconds",
    )
    trigger_interval_ms: int = field(
        "The shortest time between the starts of two batches. A source without new records is polled again after a "
        "quarter of a second; with 0 after 10 ms, which takes a tenth of a core.",
        default=100,
        example=1000,
        unit="ms",
        ge=0,
        le=3_600_000,
    )
    target_latency: Annotated[Duration, Field(ge=0.2, le=60)] | None = field(
        "Within how long events are delivered while few arrive. Batches wait for more of them as long as this allows, "
        "which takes less CPU; a batch that spans 2,000 offsets waits for nothing. Without it a batch starts every "
        "`trigger_interval_ms`.",
        default=None,
        example="500ms",
        unit="seconds",
    )
    max_events_per_batch: int = field(
        "The most events in one batch of one channel. A pause waits for the in-flight batch. A batch has at least one "
        "event of each Kafka partition, and of each file of `taildir`, that has new ones; it exceeds this limit where "
        "there are more of them.",
        default=500_000,
        example=100_000,
        unit="events",
        ge=1,
        le=100_000_000,
    )


class Errors(Spec):
    """What becomes of events that cannot be processed."""

    dead_letter: DeadLetter = field(
        "Where events go that cannot be processed, each with its cause.",
        default=FileDeadLetters(type="file"),
        example={"type": "kafka", "topic": "orders.dead"},
    )
    max_rate: int = field(
        "The most events of one batch that can fail for one cause. More of them fail the batch, and the pipeline is "
        "BLOCKED, since the definition is wrong and not the records.",
        default=1000,
        example=100,
        unit="events per batch",
        ge=0,
        le=1_000_000,
    )


class Lifecycle(Spec):
    """Deadlines and restarts. Durations are numbers of seconds or text such as 250ms, 60s, 5m."""

    init_timeout: Duration = field(
        "How long all components together may take to initialise.", default=300.0, example="5m", unit="seconds"
    )
    drain_timeout: Duration = field(
        "How long a pause or a drain may take; then it times out or escalates, as the request has set (`on_timeout`).",
        default=60.0,
        example="60s",
        unit="seconds",
    )
    cancel_interval: Duration = field(
        "How long a stop waits for the in-flight batch before it interrupts, and between interrupts.",
        default=30.0,
        example="30s",
        unit="seconds",
    )
    cancel_timeout: Duration = field(
        "When a stop that has not ended is killed; 0 switches the watchdog off.",
        default=180.0,
        example="3m",
        unit="seconds",
    )
    stall_timeout: Duration = field(
        "Without a finished batch for this long while there is something to read, the pipeline is stalled.",
        default=300.0,
        example="5m",
        unit="seconds",
    )
    heartbeat_interval: Duration = field("How often the agent reports.", default=2.0, example="2s", unit="seconds")
    heartbeat_timeout: Duration = field(
        "Without a report for this long, the state is unknown.", default=8.0, example="8s", unit="seconds"
    )
    guard_interval: Duration = field(
        "How often positions are compared with log and group while records move; before each start and resume they are "
        "anyway.",
        default=60.0,
        example="60s",
        unit="seconds",
    )
    restart_backoff: Duration = field(
        "The wait before the second restart in a row; it doubles with each further one. The first follows at once.",
        default=1.0,
        example="1s",
        unit="seconds",
    )
    restart_backoff_max: Duration = field(
        "The longest wait before a restart.", default=600.0, example="10m", unit="seconds"
    )
    restart_reset_after: Duration = field(
        "After running well for this long, the count of restarts starts at zero.",
        default=300.0,
        example="5m",
        unit="seconds",
    )
    standby: Literal["none", "warm"] = field(
        "`warm`: a second agent of the same revision waits on the same host, initialised and probed, and consumes "
        "nothing. It takes over as soon as the first is proven dead, and when a migration is rolled back. It costs "
        "what an idle agent costs, in memory and in CPU time.",
        default="none",
        example="warm",
    )
    on_supervisor_loss: OnSupervisorLoss = field(
        "What an agent does without a supervisor. `continue`: it keeps running, and another host takes over only when "
        "its end is proven or you declare it lost. `fence`: it stops when its lease ends, and another host takes over "
        "automatically; what it delivered after its last report is then delivered again.",
        default="continue",
        example="fence",
    )
    lease: Annotated[Duration, Field(ge=2, le=3600)] = field(
        "With `fence`: how long after the supervisor's last renewal the agent stops at the next batch. An in-flight "
        "batch is killed after the longest write_deadline of its sinks.",
        default=60.0,
        example="60s",
        unit="seconds",
    )
    max_restarts: int = field(
        "So many restarts in a row; then the pipeline has failed.",
        default=10,
        example=10,
        unit="restarts",
        ge=0,
        le=1000,
    )


FieldPath = Annotated[
    str,
    Syntax("invalid_field", r"[^.\s]+(?:\.[^.\s]+)*", 'Write names with dots between them, such as "customer.email".'),
]


class Masking(Spec):
    """What previews leave out of records, beside the values of secrets."""

    fields: list[FieldPath] = field(
        "Fields of JSON bodies, by name or by the end of their path. While there are any, bodies that are no JSON are "
        "not shown at all.",
        default=[],
        example=["card", "customer.email"],
        max_length=100,
    )
    headers: list[HeaderName] = field(
        "Headers whose values are not shown.", default=[], example=["authorization"], max_length=100
    )


class Placement(Spec):
    """Where the agent runs."""

    host: HostName = field("The name of a host, or `any`.", default=ANY_HOST, example="any", refers="hosts")
    launcher: Launcher = field(
        "What runs the agent's Spark.",
        default=LocalLauncher(),
        example={"type": "local", "cores": 4, "driver_memory": "512m"},
    )


BUFFER = "channels."
"""Begins the name under which a channel's store is read again; names of sources have no dot."""
WORTH_A_BATCH = 2_000
"""Offsets of a batch; one that spans no more of them is small, and costs about the same whatever is in it."""
SHARE_OF_WAITING = 0.8
"""Of the latency that is aimed at; the rest is for noticing that the time has come, and for the batch itself."""


@dataclass(frozen=True)
class Read:
    """One streaming query. `source` is the name of a source, or `channels.NAME` for the store of a channel."""

    source: str
    channels: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names the query and its checkpoint."""
        return f"{self.source}.{'+'.join(self.channels)}"

    @property
    def path(self) -> str:
        """What is read, as a path in the definition."""
        return self.source if self.source.startswith(BUFFER) else f"sources.{self.source}"


class Definition(Spec):
    """A whole pipeline: the graph, and how it is run. Durations are seconds; secrets are references."""

    api_version: Literal["headgate/v1"] = field("The format of this definition.", example="headgate/v1")
    name: PipelineName = field("The pipeline's name.", example="orders")
    description: str = field("What it is for.", default="", example="Orders from the shop to the lake", max_length=1000)
    labels: dict[LabelKey, LabelValue] = field(
        "Names and values to find it by.", default={}, example={"team": "payments"}, max_length=64
    )
    sources: dict[ComponentName, Source] = field(
        "Where events come from, by name.", example={"shop": {"type": "kafka"}}, min_length=1, max_length=100
    )
    channels: dict[ComponentName, Channel] = field(
        "The ways from sources to sinks, by name.", example={"lake": {"type": "direct"}}, min_length=1, max_length=100
    )
    sinks: dict[ComponentName, Sink] = field(
        "Where events go, by name.",
        example={"lake": {"type": "logger", "channel": "lake"}},
        min_length=1,
        max_length=100,
    )
    sink_groups: dict[ComponentName, SinkGroup] = field(
        "Sinks that share a channel, by the group's name.",
        default={},
        example={"lake": {"sinks": ["lake"], "processor": {"type": "default"}}},
        max_length=100,
    )
    delivery: Delivery = field("How events are moved.", default=Delivery(), example={"trigger_interval_ms": 100})
    errors: Errors = field("What becomes of events that cannot be processed.", default=Errors(), example={})
    lifecycle: Lifecycle = field("Deadlines and restarts.", default=Lifecycle(), example={"drain_timeout": "60s"})
    masking: Masking | None = field(
        "What previews leave out of records.", default=None, example={"fields": ["card"], "headers": ["authorization"]}
    )
    placement: Placement = field("Where the agent runs.", default=Placement(), example={"host": "any"})
    tests: list[DefinitionTest] | None = field(
        "What the interceptors and selectors make of given events. A definition with tests is published once they have "
        "passed.",
        default=None,
        example=[{"name": "all events arrive", "given": [{"body": "a"}], "expect": [{"channels": ["lake"]}]}],
        min_length=1,
        max_length=MOST_TESTS,
    )

    def plain(self) -> dict[str, Any]:
        """The definition as JSON-ready data with every default written out; references stay references."""
        return self.model_dump(mode="json", exclude_none=True)

    def canonical(self) -> str:
        """One JSON text for all ways of writing the same definition: sorted keys, no spaces, defaults written out."""
        return json.dumps(self.plain(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def digest(self) -> str:
        """SHA-256 of the canonical text, in hexadecimal."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def source_of(self, test: DefinitionTest) -> str:
        """The source whose events a test gives."""
        return test.source or next(iter(self.sources))

    def targets(self, source: str) -> list[str]:
        """The channels that a source sends to, sorted."""
        return sorted(self.sources[source].selector.targets(list(self.channels)))

    def optional_targets(self, source: str) -> frozenset[str]:
        """Those of them whose failures hold nothing back."""
        return self.sources[source].selector.optional_targets()

    def accounting_channel(self, source: str) -> str:
        """The channel that counts the dead and unrouted events of a source, the first required one. In the others they
        are routed elsewhere."""
        targets, optional = self.targets(source), self.optional_targets(source)
        return next((name for name in targets if name not in optional), targets[0])

    def sometimes_optional(self, source: str) -> frozenset[str]:
        """Those of them that are optional for some events alone."""
        return frozenset() if source.startswith(BUFFER) else self.sources[source].selector.sometimes_optional()

    def is_optional(self, read: Read) -> bool:
        """Whether it serves optional channels alone."""
        return not read.source.startswith(BUFFER) and self.optional_targets(read.source).issuperset(read.channels)

    def reads(self) -> list[Read]:
        """Every streaming query: what it reads, and the channels that it serves."""
        buffered = [name for name, channel in sorted(self.channels.items()) if channel.buffers]
        return [
            *(read for source in sorted(self.sources) for read in self._reads_of(source)),
            *(Read(f"{BUFFER}{name}", (name,)) for name in buffered),
        ]

    def _reads_of(self, source: str) -> list[Read]:
        """Channels share a read where one is asked for, and where reading twice could give two results."""
        targets = self.targets(source)
        repeatable = all(interceptor.repeatable for interceptor in self.sources[source].interceptors)
        shared = tuple(name for name in targets if self.channels[name].shares_read or not repeatable)
        alone = [Read(source, (name,)) for name in targets if name not in shared]
        return [*([Read(source, shared)] if shared else []), *alone]

    def queries(self) -> list[tuple[str, str]]:
        """(source, channel) of everything that has books of its own."""
        return [(read.source, channel) for read in self.reads() for channel in read.channels]

    def source_spec(self, source: str) -> ComponentSpec:
        """What a read reads: a source, or a channel that keeps copies."""
        name = source.removeprefix(BUFFER)
        return self.sources[source] if name == source else self.channels[name]

    def dead_letter(self) -> DeadLetterSpec:
        """Where dead letters go; a topic without an address lies with the first Kafka source."""
        spec = self.errors.dead_letter
        if not isinstance(spec, KafkaDeadLetters) or spec.bootstrap_servers is not None:
            return spec
        kafka = next((s for _, s in sorted(self.sources.items()) if isinstance(s, KafkaSource)), None)
        if kafka is None:
            return spec
        options = {key: value for key, value in kafka.options.items() if key in PRODUCER}
        return spec.model_copy(
            update={"bootstrap_servers": kafka.bootstrap_servers, "options": {**options, **spec.options}}
        )

    def max_events(self, read: Read) -> int:
        """The most events in one batch of a read: the limit of the delivery, and those of its channels."""
        limits: list[int] = [
            limit
            for name in read.channels
            for key in ("capacity", "transaction_capacity")
            if (limit := getattr(self.channels[name], key, None)) is not None
        ]
        return min([self.delivery.max_events_per_batch, *limits])

    def stores(self, read: Read) -> bool:
        """Whether its batches go into the store of a channel, and not to sinks."""
        return not read.source.startswith(BUFFER) and any(self.channels[name].buffers for name in read.channels)

    def batch_interval(self, read: Read) -> float:
        """How long events of a read may wait for a larger batch, in seconds: as long as all of its sinks like to, or
        as the target of the latency allows."""
        return max(self._sinks_wait(read), self._latency_allows(read))

    def full_batch(self, read: Read) -> int:
        """The events for which a batch waits no longer than it must: as many as it may have, where sinks wait for
        them."""
        most = self.max_events(read)
        return most if self._sinks_wait(read) else min(most, WORTH_A_BATCH)

    def _sinks_wait(self, read: Read) -> float:
        """The store of a channel likes no wait."""
        if self.delivery.mode == "real_time" or self.stores(read):
            return 0.0
        return min(sink.batch_interval for name in read.channels for sink in self.sinks_of(name).values())

    def _latency_allows(self, read: Read) -> float:
        """An event of a channel with a store waits twice, for the store and for the sink."""
        target = self.delivery.target_latency
        if target is None:
            return 0.0
        buffered = read.source.startswith(BUFFER) or self.stores(read)
        return SHARE_OF_WAITING * target / (2 if buffered else 1)

    def sinks_of(self, channel: str) -> dict[str, SinkSpec]:
        """The sinks that deliver a channel, by name; one, unless a sink group covers them."""
        return {name: sink for name, sink in sorted(self.sinks.items()) if sink.channel == channel}

    def processor_of(self, channel: str) -> ChannelDelivery:
        """The sinks that deliver a channel, in the order of their group, and the processor that chooses among them."""
        own = list(self.sinks_of(channel))
        for name, group in self.sink_groups.items():
            if not set(own).isdisjoint(group.sinks):
                return ChannelDelivery(name, group.processor, list(group.sinks))
        return ChannelDelivery("", DefaultProcessor(type="default"), own)
