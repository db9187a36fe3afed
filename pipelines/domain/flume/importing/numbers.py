"""Numbers that Flume cannot read: `batchSize = 10k`."""

from __future__ import annotations

import re

from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.parts.component import Kind
from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_KINDS: tuple[tuple[str, Kind], ...] = (("sources", "source"), ("channels", "channel"), ("sinks", "sink"))
_COUNTS = frozenset(
    {
        "backoffSleepIncrement",
        "batch-size",
        "batchDurationMillis",
        "batchSize",
        "batchTimeout",
        "bufferMaxLines",
        "byteCapacityBufferPercentage",
        "capacity",
        "checkpointInterval",
        "connect-timeout",
        "connectTimeout",
        "defaultPartitionId",
        "flumeBatchSize",
        "hdfs.batchSize",
        "hdfs.callTimeout",
        "hdfs.closeTries",
        "hdfs.idleTimeout",
        "hdfs.maxOpenFiles",
        "hdfs.minBlockReplicas",
        "hdfs.retryInterval",
        "hdfs.rollCount",
        "hdfs.rollInterval",
        "hdfs.rollTimerPoolSize",
        "hdfs.roundValue",
        "hdfs.threadsPoolSize",
        "idleTimeout",
        "kafka.pollTimeout",
        "keep-alive",
        "maxBackoff",
        "maxBackoffSleep",
        "maxBatchCount",
        "maxThreads",
        "maximum.capacity",
        "memoryCapacity",
        "overflowCapacity",
        "overflowTimeout",
        "pollDelay",
        "pollTimeout",
        "port",
        "request-timeout",
        "requestTimeout",
        "restartThrottle",
        "sink.batchSize",
        "sink.rollInterval",
        "threads",
        "totalEvents",
        "transactionCapacity",
        "writePosInterval",
    }
)
_BYTES = frozenset(
    {
        "bufferMaxLineLength",
        "byteCapacity",
        "deserializer.maxBlobLength",
        "deserializer.maxLineLength",
        "hdfs.rollSize",
        "maxBytesToLog",
        "maxFileSize",
        "minimumRequiredSpace",
    }
)
_NOT_REFERENCES = frozenset(
    {
        "hdfs.idleTimeout",
        "hdfs.rollCount",
        "hdfs.rollInterval",
        "hdfs.rollSize",
        "hdfs.roundValue",
        "sink.rollInterval",
    }
)
"""Numbers that the import decides by, so that they have to be known."""
_CLIENT = re.compile(r"kafka\.(?:consumer|producer)\.(?:.*\.(?:ms|bytes|records|size)|retries|buffer\.memory)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_SHORTENED = re.compile(r"([0-9]{1,15}(?:[_,. ][0-9]{3})*) ?([kKmMgG]?)[bB]?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


def check_numbers(agent: Agent, report: Report) -> None:
    """Take every number out that is none, with a finding: what was meant is not guessed."""
    for kinds, kind in _KINDS:
        for section in agent.sections[kinds].values():
            known = catalogue.find(kind, section.get("type") or "")
            if known and known.ours:
                _check_section(section, report)


def _check_section(section: Section, report: Report) -> None:
    for name, property_ in list(section.properties.items()):
        known_later = REFERENCE.search(property_.value) and name not in _NOT_REFERENCES
        if _is_number(name) and not _WHOLE.fullmatch(property_.value) and not known_later:
            section.take(name)
            note_unreadable(name, property_, report)


def _is_number(name: str) -> bool:
    return name in _COUNTS or name in _BYTES or bool(_CLIENT.fullmatch(name))


def note_unreadable(name: str, property_: Property, report: Report) -> None:
    """Say which number cannot be read, and how it is written."""
    report.note(
        "bad_number",
        f"The value of {property_.key}, {property_.value[:40]!r}, is not a whole number: Flume takes its default or "
        "does not start the component.",
        "It was omitted.",
        about=property_,
        suggestion=suggested(name, property_.value),
        severity="error",
    )


def suggested(name: str, value: str) -> str:
    """`10k` as 10000; sizes in bytes count in steps of 1024."""
    shortened = _SHORTENED.fullmatch(value)
    if shortened is None:
        return "Write a whole number without a unit."
    base = 1024 if name in _BYTES or name.endswith((".bytes", ".size", ".memory")) else 1000
    digits = int(re.sub(r"[^0-9]", "", shortened[1]))
    return f"Write {digits * base ** _POWERS[shortened[2].lower()]}."
