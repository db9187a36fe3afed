"""Flume's LoggerSink: the beginning of events in the agent's log.

Every event is counted, the first ten of a batch's partition are shown: a log is no place for a full stream.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import functions as f

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Resolution, SinkBuilder

_SHOWN_PER_PARTITION = 10
_PARTITION_BITS = 33
"""monotonically_increasing_id() counts rows in its lower 33 bits, anew in each partition."""


class Builder(SinkBuilder):
    """Shows one channel."""

    def write(self, attempt: Attempt) -> Counts:
        """One pass: count everything, collect the first few."""
        numbered = attempt.events.withColumn("n", f.monotonically_increasing_id() % (1 << _PARTITION_BITS))
        start = f.substring("body", 1, self.spec.max_bytes_to_log)
        shown = f.struct("topic", "partition", "offset", "headers", start.alias("body"), f.length("body").alias("size"))
        first = f.collect_list(f.when(f.col("n") < _SHOWN_PER_PARTITION, shown)).alias("shown")
        (row,) = numbered.agg(first, f.count(f.lit(1)).alias("all")).collect()
        for event in sorted(row["shown"], key=lambda event: (event["topic"], event["partition"], event["offset"])):
            print(self._line(event), flush=True)
        if row["all"] > len(row["shown"]):
            print(
                f"{self.place.path}: {row['all'] - len(row['shown'])} more events of this batch are not shown",
                flush=True,
            )
        return attempt.counts

    def _line(self, event: Any) -> str:
        headers = {pair["key"]: _text(pair["value"]) for pair in event["headers"]}
        body = json.dumps(_text(event["body"]))
        cut = "" if (event["size"] or 0) <= self.spec.max_bytes_to_log else f" ({event['size']} bytes)"
        origin = f"{event['topic']}/{event['partition']}@{event['offset']}"
        return f"{self.place.path}: {origin} headers={json.dumps(headers)} body={body}{cut}"

    def resolve(self, planned: Planned) -> Resolution:
        """A log cannot be asked: everything may be in it already."""
        return Resolution(delivered_before=planned.bound, complete=False)


def _text(value: bytes | bytearray | None) -> str | None:
    return None if value is None else bytes(value).decode(errors="replace")
