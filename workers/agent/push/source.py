"""What the builders of `exec` and `http` share: an ingest buffer, and the process that appends to it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from pipelines.domain.runs.protocol import AgentFinding, IngestBufferStatus
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.graph.component import SourceBuilder, not_readable
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange
from workers.agent.push import answers, recent
from workers.agent.push import log as logs
from workers.agent.push.frames import LogDamaged
from workers.agent.push.log import IngestBuffer, LogBusy, Pin
from workers.agent.push.log_source import LogSource
from workers.agent.push.process import PushProcess
from workers.agent.push.recent import RecentReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own below it, closed to others


@dataclass(frozen=True)
class Before:
    """Where the log ended, and how often it had been answered by status."""

    end: int
    answers: dict[str, int]


class PushSource(LogSource):
    """What was taken in, and the process that takes it in."""

    overruns = True

    @cached_property
    def directory(self) -> Path:
        """Of the log: below the pipeline's own directory, or in shared memory under a name that no other has."""
        home = self.place.beside or self.place.state
        if self.spec.ingest_buffer == "file":
            return home / "ingest_buffer" / self.place.name
        owner = hashlib.sha256(str(home).encode()).hexdigest()[:16]
        return self._memory / owner / self.place.name

    @property
    def _memory(self) -> Path:
        """Every user of the machine knows the name, and may have made a directory of it."""
        return _SHARED_MEMORY / f"headgate-{os.getuid()}"

    @property
    def _extent(self) -> Path:
        return self.place.state / "ingest_buffer" / f"{self.place.name}.extent"

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """What the log holds; a torn last transaction is cut off now. Beside the pipeline, what is kept for previews.
        Raises Refused."""
        if self.place.beside is not None:
            end = logs.end(self.directory)
            return {self._key: LogRange(max(recent.first(self.directory), end - self.spec.recent_records), end)}
        self._extent.parent.mkdir(parents=True, exist_ok=True)
        if not self._durable:
            self._own_memory()
        try:
            return {self._key: self._log_range()}
        except LogBusy as error:
            message = f"Another process still appends to the ingest buffer: {error}."
            raise refuse(
                self.place.path, "INGEST_BUFFER_BUSY", message, "Wait until it ends.", retryable=True
            ) from error
        except LogDamaged as error:
            suggestion = "Restore the directory, or remove it and choose where to continue."
            message = f"The ingest buffer is damaged: {error}."
            raise refuse(self.place.path, "INGEST_BUFFER_DAMAGED", message, suggestion) from error

    def _own_memory(self) -> None:
        """Make the directory, or see that it is this user's and closed to others. Raises Refused."""
        with suppress(FileExistsError):
            self._memory.mkdir(mode=0o700)
        found = self._memory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            message = f"{self._memory} belongs to the user {found.st_uid}, or others may open it."
            raise refuse(self.place.path, "INGEST_BUFFER_TAKEN", message, "Remove it, and find out who made it.")

    def _open_log(self) -> IngestBuffer:
        return IngestBuffer(self.directory, self.spec, durable=self._durable, extent=self._extent)

    @property
    def _durable(self) -> bool:
        return bool(self.spec.ingest_buffer == "file")

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """Everything that was taken in."""
        return {key: log[key].start for key in partitions}, "the start of the ingest buffer"

    def outside(self, positions: list[PartitionPosition], log: dict[TopicPartition, LogRange]) -> list[AgentFinding]:
        """Events that were taken in and never delivered are gone with the log."""
        return [_lost(found) for found in guard.within_log(self.place.path, positions, log)]

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """The end of the log. Raises RuntimeError where nobody takes events in."""
        if self._push.failure:
            raise RuntimeError(self._push.failure)
        return super().ends(partitions)

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        """Let the log go of what every required channel has delivered; the newest of it is kept where that is asked
        for."""
        if not self.spec.recent_records:
            super().acknowledge(positions)
            return
        for position in positions:
            logs.acknowledge(self.directory, position.offset, recent.keep)
        recent.prune(self.directory, self.spec.recent_records)

    def open_beside(self) -> None:
        """What is kept for previews can be read."""
        if not self.spec.recent_records:
            advice = "Set recent_records of the source, or use `headgate rehearse` with events of your own."
            raise not_readable(self, advice)
        if self.place.beside is None:
            super().open_beside()

    def other_log(self, before: SourceBuilder) -> str:
        """Another place of the ingest buffer."""
        if found := super().other_log(before):
            return found
        same = self.spec.ingest_buffer == before.spec.ingest_buffer
        return "" if same else "The revisions keep the ingest buffer of this source in different places"

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """What is kept for previews, and what is still to be delivered."""
        from workers.agent.ranges.source import records

        config = json.dumps({"directory": str(self.directory), "topic": self.place.name})
        return records(spark, RecentReader, config, starts, ends)

    def close_ingest_buffer(self) -> None:
        """The port is closed, or the command ended, before the batch in hand is finished."""
        self._push.close()

    def held_up(self, channel: str, component: str, cause: str) -> None:
        """Let those who are refused know what holds the log up."""
        logs.write_pin(self.directory, Pin(channel, component, cause) if channel else None)

    def ingest_buffer(self) -> IngestBufferStatus:
        """What was taken in since the run began, what the log holds now, and how the push process is."""
        end, before = logs.end(self.directory), self._before
        reached = max(logs.acknowledged(self.directory), logs.first(self.directory))
        pin = logs.read_pin(self.directory)
        return IngestBufferStatus(
            source=self.place.name,
            taken=max(0, end - before.end),
            held=end - reached,
            capacity=self.spec.capacity,
            held_up_by=str(pin) if pin else "",
            failure=self._push.failure or self._down(),
            answers={
                status: count - before.answers.get(status, 0)
                for status, count in sorted(answers.read(self.directory).items())
                if count > before.answers.get(status, 0)
            },
        )

    def _down(self) -> str:
        """Why nothing is taken in although the push process runs."""
        return ""

    def _forget(self) -> None:
        """Remove what an earlier run has said of itself."""

    @cached_property
    def _before(self) -> Before:
        """As it was before this run took anything in."""
        return Before(logs.end(self.directory), answers.read(self.directory))

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """Begin to take events in, and read them from `starts` where the checkpoint is new."""
        return self._stream(spark, starts, limits, may_skip=False)

    def optional_stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """The same for an optional channel, which passes over what the log has let go of."""
        return self._stream(spark, starts, limits, may_skip=True)

    def _stream(
        self, spark: SparkSession, starts: Offsets, limits: BatchLimits, *, may_skip: bool
    ) -> tuple[DataFrame, Event]:
        _ = self._before
        recent.prune(self.directory, self.spec.recent_records)
        self._push.start(self._forget)
        return self._read_log(spark, starts, limits, may_skip=may_skip)

    @cached_property
    def _push(self) -> PushProcess:
        return PushProcess(
            self.place.path,
            {
                "type": self.spec.type,
                "spec": self.spec.model_dump(mode="json"),
                "directory": str(self.directory),
                "durable": self._durable,
                "extent": str(self._extent),
            },
        )


def _lost(found: AgentFinding) -> AgentFinding:
    message = f"The ingest buffer has lost events that were accepted and not delivered yet. {found.message}"
    suggestion = "Choose where to continue. A buffer in memory does not survive a reboot; `ingest_buffer: file` does."
    return found.model_copy(update={"code": "INGEST_BUFFER_LOST", "message": message, "suggestion": suggestion})
