"""Finished files: one thread takes them, Spark reads them, and what every channel has delivered is let go of."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from pipelines.domain.preview.selection import Extent
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base import reach
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.files.lines import of_spec
from workers.agent.files.registry import RegistryDamaged, refused
from workers.agent.files.scanning import Scanner
from workers.agent.files.spool import FileChanged, Rules, Spool, SpoolReader
from workers.agent.graph.component import SourceBuilder, own_keys
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RESTORE = "Restore the file, or choose where to continue."


class Builder(SourceBuilder):
    """One partition, whose offsets are the bytes of all files in the order in which they were taken."""

    waits_for_optional = True
    counts_bytes = True

    def probe(self) -> None:
        """The directory is there, and files in it may be renamed or deleted where that is asked for."""
        needed = os.R_OK | os.X_OK | (0 if self.spec.completed == "keep" else os.W_OK)
        if not Path(self.spec.directory).is_dir() or not os.access(self.spec.directory, needed):
            message = (
                f"The directory {self.spec.directory} does not exist, or the worker's user cannot read or change it."
            )
            path = f"{self.place.path}.directory"
            raise refuse(path, "DIRECTORY_NOT_USABLE", message, "Create it, or grant the right.", retryable=True)
        self._taken()  # not kept: of a standby, another run still writes the registry

    @property
    def _key(self) -> TopicPartition:
        return TopicPartition(self.place.name, 0)

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """From the first file that was not let go of, to the last that is there."""
        with suppress(FileChanged):  # told by `outside`, for those that are still to be read
            self._spool.scan()
        return {self._key: LogRange(self._spool.start_at, self._spool.end)}

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """The first file."""
        return {key: log[key].start for key in partitions}, "the first file"

    def outside(self, positions: list[PartitionPosition], log: dict[TopicPartition, LogRange]) -> list[AgentFinding]:
        """Files that are still to be read and are not what they were."""
        reached = min((position.offset for position in positions), default=0)
        problems = [problem for each in self._spool.pending if each.end > reached and (problem := each.problem())]
        return [
            *super().outside(positions, log),
            *(
                AgentFinding(path=self.place.path, code=code, message=text, suggestion=_RESTORE)
                for code, text in problems[:100]
            ),
        ]

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """The end of the last file. Raises RuntimeError where a file changed that was taken."""
        self._scanner.check()
        return {self._key: self._spool.end}

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        """Let go of the files before a position."""
        for position in positions:
            self._spool.complete(position.offset)

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """Take files, and read them from `starts` where the checkpoint is new."""
        from workers.agent.ranges.source import stream

        self._scanner.start()
        return stream(spark, SpoolReader, self._config, starts=starts, limits=limits, path=self.place.path)

    def at_time(self, partitions: list[TopicPartition], milliseconds: int) -> Offsets | None:
        """The first file that was changed then or later, where files are in that order."""
        if self.place.beside is None:
            return None
        return {self._key: self._spool.since(milliseconds / 1000)}

    def open_beside(self) -> None:
        """The directory can be read."""
        if self.place.beside is None:
            super().open_beside()
        self.probe()

    def other_log(self, before: SourceBuilder) -> str:
        """Offsets go through all files, and every key may say which these are."""
        if found := super().other_log(before):
            return found
        return (
            "" if own_keys(self.spec) == own_keys(before.spec) else "The revisions read these files in different ways"
        )

    def newest(self, starts: Offsets, ends: Offsets, most: int) -> Extent:
        """The last lines of the last files."""
        key = self._key
        found = SpoolReader(self._config).newest(starts[key], ends[key], most) if ends[key] > starts[key] else ends[key]
        return Extent({key: found}, ends).without_empty()

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """Their lines."""
        from workers.agent.ranges.source import records

        return records(spark, SpoolReader, self._config, starts, ends)

    @cached_property
    def _spool(self) -> Spool:
        return self._taken()

    def _taken(self) -> Spool:
        """Of an evaluation beside the pipeline, all files that are there, whatever was delivered of them. Raises
        Refused where the registry is damaged."""
        spec, beside = self.spec, self.place.beside is not None
        rules = Rules(
            spec.directory,
            spec.include_pattern,
            spec.ignore_pattern,
            spec.recursive,
            "oldest" if beside else spec.consume_order,
            spec.completed,
            spec.completed_suffix,
            self.place.reach,
            again=beside,
        )
        try:
            return Spool(rules, self.place.state / "files" / f"{self.place.name}.json")
        except RegistryDamaged as error:
            raise refused(self.place.path, error) from error

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.place.path, self._spool.scan, self.spec.scan_interval)

    @property
    def _config(self) -> str:
        return json.dumps(
            {
                "registry": str(self._spool.registry),
                "topic": self.place.name,
                "labels": asdict(of_spec(self.spec)),
                "longest": self.spec.max_line_bytes,
                "renamed": self.spec.completed_suffix if self.place.beside and self.spec.completed == "rename" else "",
                **reach.options(self.place.reach),
            }
        )
