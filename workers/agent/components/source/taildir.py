"""Lines of growing files: one thread follows the files, Spark reads what it has written down."""

from __future__ import annotations

import json
import os
import time
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
from workers.agent.files.lines import Labels, of_spec
from workers.agent.files.registry import RegistryDamaged, refused
from workers.agent.files.scanning import Scanner
from workers.agent.files.tail import Group, Tail
from workers.agent.files.tail_reader import TailReader
from workers.agent.graph.component import SourceBuilder
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DECIDE = "Choose where to continue; deleted lines cannot be read again."


class Builder(SourceBuilder):
    """Partitions are (group, inode); offsets are bytes that never go back."""

    counts_bytes = True

    def probe(self) -> None:
        """Directories that exist can be listed, one that is missing is waited for, and the registry is whole."""
        for name, group in self.spec.file_groups.items():
            if Path(group.directory).exists() and not os.access(group.directory, os.R_OK | os.X_OK):
                message = f"The directory {group.directory} cannot be read by the worker's user."
                path = f"{self.place.path}.file_groups.{name}.directory"
                raise refuse(path, "DIRECTORY_NOT_READABLE", message, "Allow it.")
        self._followed()  # not kept: of a standby, another run still writes the registry

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """Every file that was ever followed or is there now."""
        self._tail.scan()
        return {key: LogRange(file.start(), file.end) for key, file in self._tail.files().items()}

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """The beginning of each file, or its end where the definition says so."""
        if self.spec.skip_to_end:
            return {key: log[key].end for key in partitions}, "skip_to_end"
        return dict.fromkeys(partitions, 0), "the start of the files"

    def outside(self, positions: list[PartitionPosition], log: dict[TopicPartition, LogRange]) -> list[AgentFinding]:
        """What happened to files while nobody read them, in bytes."""
        found = super().outside(positions, log)
        by_key = {position.key: position for position in positions}
        return [*(self._described(finding) for finding in found), *self._lost(by_key)][:100] if found else []

    def _described(self, finding: AgentFinding) -> AgentFinding:
        return finding.model_copy(update={"message": finding.message.replace("records", "bytes")})

    def _lost(self, positions: dict[TopicPartition, PartitionPosition]) -> list[AgentFinding]:
        findings = []
        for key, file in self._tail.files().items():
            position = positions.get(key)
            if position is None or position.offset >= file.start():
                continue
            gone = next((span for span in reversed(file.past) if not span.inode), None)
            code = gone.cause if file.present and gone else "FILE_GONE"
            message = (
                f"{file.path} (inode {key.partition}): {file.start() - position.offset} bytes were not read before "
                "they were deleted."
            )
            findings.append(AgentFinding(path=self.place.path, code=code, message=message, suggestion=_DECIDE))
        return findings

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """The last whole lines, as they were seen last. Raises RuntimeError where the directories cannot be read."""
        self._scanner.check()
        return self._tail.ends()

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """Follow the files, and read them from `starts` where the checkpoint is new."""
        from workers.agent.ranges.source import stream

        self._scanner.start()
        return stream(spark, TailReader, self._config, starts=starts, limits=limits, path=self.place.path)

    def open_beside(self) -> None:
        """The directories can be read. Files are followed anew, from their first byte."""
        if self.place.beside is None:
            super().open_beside()
        self.probe()

    def newest(self, starts: Offsets, ends: Offsets, most: int) -> Extent:
        """The last whole lines, of the files that were changed last."""
        return Extent(TailReader(self._config).newest(starts, ends, most), ends).without_empty()

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """Their lines."""
        from workers.agent.ranges.source import records

        return records(spark, TailReader, self._config, starts, ends)

    @cached_property
    def _tail(self) -> Tail:
        return self._followed()

    def _followed(self) -> Tail:
        """Raises Refused where the registry is damaged."""
        groups = {
            name: Group(group.directory, group.pattern, self.spec.idle_timeout, time.monotonic)
            for name, group in self.spec.file_groups.items()
        }
        try:
            return Tail(groups, self.place.state / "files" / f"{self.place.name}.json")
        except RegistryDamaged as error:
            raise refused(self.place.path, error) from error

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.place.path, self._tail.scan, self.spec.scan_interval)

    @property
    def _config(self) -> str:
        labels: Labels = of_spec(self.spec)
        return json.dumps(
            {
                "registry": str(self._tail.registry),
                "labels": asdict(labels),
                "longest": self.spec.max_line_bytes,
                "headers": {name: group.headers for name, group in self.spec.file_groups.items()},
                "share": self.spec.max_file_share,
                **reach.options(self.place.reach),
            }
        )
