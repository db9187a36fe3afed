"""Events as lines of JSON in files, exactly once per batch.

A batch is written below a hidden directory, made durable, and then described by a manifest, which is the commit; its
key is (pipeline, lineage, source, channel, batch, ranges). After it the files only have to be renamed, which can be
done again after a crash at any point. A batch whose manifest exists is never written again.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.journal import Planned
from pipelines.domain.ledger import Counts
from pipelines.domain.positions import PartitionRange
from pipelines.domain.protocol import write_atomically
from workers.agent.batch import Attempt
from workers.agent.component import Place, Resolution, SinkBuilder
from workers.agent.findings import refuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HIDDEN = ".headgate"
_MANIFESTS_KEPT = 2
"""The last batch may come again; the one before it was done before the last was planned."""


class ManifestMismatch(Exception):
    """A manifest of this batch exists, and it covers other ranges."""


class Builder(SinkBuilder):
    """Writes one channel to one directory."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._path = Path(spec.path)
        self._own = self._path / _HIDDEN / place.pipeline

    def probe(self) -> None:
        """The directory, or the nearest one above it that exists, takes and gives back a file."""
        nearest = next(path for path in (self._path, *self._path.parents) if path.exists())
        trial = nearest / f".headgate-probe-{uuid.uuid4().hex}"
        try:
            trial.touch(exist_ok=False)
            trial.unlink()
        except OSError as error:
            raise self._refusal(nearest, error) from error

    def initialise(self, spark: SparkSession) -> None:
        """Make the directories."""
        try:
            self._own.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._refusal(self._own, error) from error

    def _refusal(self, path: Path, error: OSError) -> Exception:
        message = f"The directory {path} cannot be written: {error.strerror}."
        advice = "Create it, or give the worker's user the right to write there."
        return refuse(f"{self.place.path}.path", "DIRECTORY_UNWRITABLE", message, advice)

    def write(self, attempt: Attempt) -> Counts:
        """Write, make durable, commit by manifest, rename."""
        planned = attempt.planned
        manifest = self._manifest(planned)
        if (known := self._read(planned)) is None:
            staging = self._staging(planned)
            shutil.rmtree(staging, ignore_errors=True)
            attempt.events.select(_line()).write.mode("overwrite").text(str(staging))
            parts = _keep_parts(staging)
            files = {part.name: self._final_name(planned, number) for number, part in enumerate(parts)}
            known = {"ranges": _dump(planned.ranges), "counts": attempt.counts.model_dump(), "files": files}
            write_atomically(manifest, json.dumps(known).encode())
            _sync(manifest.parent)
        self._publish(planned, known["files"])
        self._forget_before(planned)
        return Counts(**known["counts"])

    def resolve(self, planned: Planned) -> Resolution:
        """Committed as a whole, or not at all."""
        known = self._read(planned)
        if known is None:
            return Resolution(delivered_before=0)
        self._publish(planned, known["files"])
        return Resolution(delivered_before=known["counts"]["delivered"], committed=True)

    def _read(self, planned: Planned) -> dict[str, Any] | None:
        try:
            known: dict[str, Any] = json.loads(self._manifest(planned).read_bytes())
        except FileNotFoundError:
            return None
        if known["ranges"] != _dump(planned.ranges):
            raise ManifestMismatch(f"{self._manifest(planned)} covers other ranges than batch {planned.batch}")
        return known

    def _publish(self, planned: Planned, files: dict[str, str]) -> None:
        """Rename what has not been renamed yet."""
        staging = self._staging(planned)
        for part, final in files.items():
            if (staging / part).exists():
                (staging / part).replace(self._path / final)
        _sync(self._path)
        shutil.rmtree(staging, ignore_errors=True)

    def _forget_before(self, planned: Planned) -> None:
        for path in self._own.glob(f"{self._stem(planned)}-*.manifest"):
            if int(path.stem.rpartition("-")[2]) <= planned.batch - _MANIFESTS_KEPT:
                path.unlink(missing_ok=True)

    def _stem(self, planned: Planned) -> str:
        return f"{self.place.lineage}-{planned.source}.{planned.channel}"

    def _manifest(self, planned: Planned) -> Path:
        return self._own / f"{self._stem(planned)}-{planned.batch}.manifest"

    def _staging(self, planned: Planned) -> Path:
        return self._own / f"{self._stem(planned)}-{planned.batch}.staging"

    def _final_name(self, planned: Planned, number: int) -> str:
        return f"{self.place.pipeline}-{self._stem(planned)}-{planned.batch:09d}-{number}.json"


def _line() -> Column:
    """One event: origin, headers, key and body as text; what is not UTF-8 is written as base64 under another name."""
    body, key = f.col("body").cast("string"), f.col("key").cast("string")
    headers = f.map_from_entries(
        f.transform("headers", lambda h: f.struct(h["key"].alias("key"), h["value"].cast("string").alias("value")))
    )
    return f.to_json(
        f.struct(
            f.struct("topic", "partition", "offset").alias("origin"),
            headers.alias("headers"),
            f.when(f.is_valid_utf8(key), key).alias("key"),
            f.when(~f.is_valid_utf8(key), f.base64("key")).alias("key_base64"),
            f.when(f.is_valid_utf8(body), body).alias("body"),
            f.when(~f.is_valid_utf8(body), f.base64("body")).alias("body_base64"),
        )
    ).alias("value")


def _dump(ranges: list[PartitionRange]) -> list[dict[str, Any]]:
    return [item.model_dump() for item in ranges]


def _keep_parts(staging: Path) -> list[Path]:
    """The files with events, on disk for good; Spark also writes markers and an empty file for an empty batch."""
    parts = sorted(path for path in staging.glob("part-*") if path.stat().st_size)
    for path in parts:
        _sync(path)
    _sync(staging)
    return parts


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
