"""The channel that is a topic: the Kafka sink writes it, and the Kafka source reads it from its beginning."""

from __future__ import annotations

from functools import cached_property

from pipelines.domain.definitions.components.sink.kafka import KafkaSink
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.components.sink import kafka as sink_kafka
from workers.agent.components.source import kafka as source_kafka
from workers.agent.graph.component import ChannelBuilder, SinkBuilder, SourceBuilder


class Builder(ChannelBuilder):
    """Probes the topic for both directions."""

    def probe(self) -> None:
        """It exists, and may be written and read."""
        self._sink.probe()
        self._source.probe()
        found = [*self._source.warnings, *self._sink.warnings]
        self.warnings = list({each.message: each for each in found}.values())

    def out_of_reach(self) -> list[AgentFinding]:
        """Brokers of the topic's cluster."""
        return self._sink.out_of_reach()

    def inlet(self) -> SinkBuilder:
        """The topic as a sink; keys and headers go with the events."""
        return self._sink

    def outlet(self) -> SourceBuilder:
        """The topic as a source. Only this channel writes it, so its beginning is the first event."""
        return self._source

    @cached_property
    def _sink(self) -> SinkBuilder:
        spec = KafkaSink(
            type="kafka",
            channel=self.place.name,
            bootstrap_servers=self.spec.bootstrap_servers,
            topic=self.spec.topic,
            compression=self.spec.compression,
            options=self.spec.options,
        )
        return sink_kafka.Builder(spec, self.place)

    @cached_property
    def _source(self) -> SourceBuilder:
        group = self.spec.group_id or f"headgate.{self.place.pipeline}.{self.place.name}"
        spec = KafkaSource(
            type="kafka",
            bootstrap_servers=self.spec.bootstrap_servers,
            topics=[self.spec.topic],
            group_id=group,
            start_from="earliest",
            options=self.spec.options,
        )
        return source_kafka.Builder(spec, self.place)
