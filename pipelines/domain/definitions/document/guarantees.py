"""What each channel of a definition promises of the records that it reads, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import Definition, Delivery, Read
from pipelines.domain.definitions.parts.component import SinkSpec


class Guarantee(StrEnum):
    """How often a record that was read is in the sink, whatever has failed meanwhile."""

    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"

    @property
    def words(self) -> str:
        """As people read it."""
        return self.value.replace("_", " ").capitalize()


def of_sink(spec: type[SinkSpec]) -> str:
    """That of a kind of sink on its own, in words."""
    guarantee = Guarantee.EXACTLY_ONCE if spec.once else Guarantee.AT_LEAST_ONCE
    return f"{guarantee.words}. {spec.condition}"


class ChannelGuarantee(Frozen):
    """The guarantee of one (source, channel). `conditions`: sentences, of what it rests on or why it is not more."""

    source: str
    channel: str
    guarantee: Guarantee
    conditions: list[str]


_STORED = "The channel's store takes a batch as a whole."
_ASKED_FOR = "delivery.guarantee asks for no more: an unfinished batch is delivered again as a whole."
_GROUP = "A member of the sink group that failed may have taken a batch that another one takes then."
_MEMBERS = "Every member of the sink group can be read after one of them has failed."
_CLUSTER = "An executor that Spark has lost ends before the batch is attempted again."


def guarantees(definition: Definition) -> list[ChannelGuarantee]:
    """That of every (source, channel), in the order of the definition's queries."""
    return [guarantee_of(definition, read, channel) for read in definition.reads() for channel in sorted(read.channels)]


def guarantee_of(definition: Definition, read: Read, channel: str) -> ChannelGuarantee:
    """That of one channel of a read."""
    if definition.stores(read):
        return ChannelGuarantee(
            source=read.source, channel=channel, guarantee=Guarantee.EXACTLY_ONCE, conditions=[_STORED]
        )
    weak = list(_weaknesses(definition, channel))
    return ChannelGuarantee(
        source=read.source,
        channel=channel,
        guarantee=Guarantee.AT_LEAST_ONCE if weak else Guarantee.EXACTLY_ONCE,
        conditions=weak or list(_conditions(definition, channel)),
    )


def _weaknesses(definition: Definition, channel: str) -> Iterator[str]:
    """Why a record may be there twice."""
    sinks = definition.sinks_of(channel).values()
    yield from dict.fromkeys(sink.condition for sink in sinks if not sink.once)
    if any(sink.deduplicates for sink in sinks) and definition.delivery.guarantee == "at_least_once":
        yield _ASKED_FOR
    if len(sinks) > 1 and not all(sink.deduplicates for sink in sinks):
        yield _GROUP


def _conditions(definition: Definition, channel: str) -> Iterator[str]:
    sinks = definition.sinks_of(channel).values()
    yield from dict.fromkeys(sink.condition for sink in sinks)
    if any(sink.deduplicates for sink in sinks):
        yield _while_unknown(definition.delivery)
        if definition.placement.launcher.type == "spark":
            yield _CLUSTER
    if len(sinks) > 1:
        yield _MEMBERS


def _while_unknown(delivery: Delivery) -> str:
    if delivery.on_unknown == "wait":
        return "An unfinished batch is held until its sink reports what it has of it."
    return (
        f"Its sink reports what it has of an unfinished batch within {delivery.unknown_timeout:g} s; otherwise the "
        "batch is delivered again, and the ledger has the bound of its duplicates."
    )
