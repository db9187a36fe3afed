"""Events in files, exactly once per batch.

A batch is written below a hidden directory, made durable, and then described by a manifest, which is the commit; its
key is (pipeline, lineage, source, channel, batch, ranges). After it the files only have to be renamed, which can be
done again after a crash at any point. A batch whose manifest exists is never written again.

No file outlives its batch, so few files need large batches: the query waits for them (`SinkSpec.batch_interval`), and
the sink divides a batch that is larger than one file.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers import crash_points
from workers.agent.base.findings import refuse
from workers.agent.base.reach import require_path
from workers.agent.files import formats
from workers.agent.files.sizes import Sizes
from workers.agent.files.storage import HadoopStorage, LocalStorage, Storage
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Place, Resolution, SinkBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HIDDEN = ".headgate"
_SAMPLE = 200
"""Events that are looked at to learn how large they are; only the first batch of a run has to."""
_MANIFESTS_KEPT = 2
"""The last batch may come again; the one before it was done before the last was planned."""


class ManifestMismatch(Exception):
    """A manifest of this batch exists, and it covers other ranges."""


class Builder(SinkBuilder):
    """Writes one channel to one directory."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._own = f"{_HIDDEN}/{place.pipeline}"
        self._storage: Storage = LocalStorage(spec.path)
        self._sizes = Sizes(spec.roll.size)

    def probe(self) -> None:
        """The directory, or the nearest one above it that exists, takes and gives back a file. A file system of Hadoop
        needs Spark and is looked at by `initialise`."""
        if not self.spec.is_local:
            return
        directory = Path(self.spec.path)
        nearest = next(path for path in (directory, *directory.parents) if path.exists())
        trial = nearest / f".headgate-probe-{uuid.uuid4().hex}"
        try:
            trial.touch(exist_ok=False)
            trial.unlink()
        except OSError as error:
            raise self._refusal(nearest, error.strerror) from error

    def initialise(self, spark: SparkSession) -> None:
        """Make the directories."""
        try:
            if not self.spec.is_local:
                self._storage = HadoopStorage(self.spec.path, spark)
            self._storage.make(self._own)
        except Exception as error:
            raise self._refusal(self.spec.path, getattr(error, "strerror", None) or error) from error

    def _refusal(self, path: Any, why: Any) -> Exception:
        message = f"The directory {path} cannot be written: {str(why).splitlines()[0]}."
        advice = "Create it, or give the worker's user the right to write there."
        return refuse(f"{self.place.path}.path", "DIRECTORY_UNWRITABLE", message, advice)

    def refuses(self) -> Column | None:
        """Values that cannot name a directory."""
        return formats.refuses(self.spec)

    def write(self, attempt: Attempt) -> Counts:
        """Write, make durable, commit by manifest, rename."""
        self._require_reach()
        planned = attempt.planned
        if (known := self._read(planned)) is None:
            known = self._commit(attempt, self._stage(attempt))
        else:
            attempt.already(Counts(**known["counts"]))
        self._publish(planned, known["files"])
        self._forget_before(planned)
        return Counts(**known["counts"])

    def _require_reach(self) -> None:
        """Before each batch, since Spark's writers take a path and no open directory."""
        if self.spec.is_local:
            require_path(self.spec.path, self.place.reach)
            require_path(f"{self.spec.path}/{self._own}", self.place.reach)

    def _stage(self, attempt: Attempt) -> list[str]:
        """Write below the staging directory; returns its files, which are durable then."""
        staging = self._staging(attempt.planned)
        self._storage.remove(staging)
        slots = attempt.spark.sparkContext.defaultParallelism
        layout = self._sizes.layout(attempt, self._sample, slots)
        formats.write(self.spec, attempt.events, self._storage.url(staging), layout)
        if attempt.counts.delivered == 0:
            return []
        found = self._storage.files(staging)
        parts = {path: size for path, size in sorted(found.items()) if size and Path(path).name.startswith("part-")}
        for part in parts:
            self._storage.keep(f"{staging}/{part}")
        self._sizes.learn(attempt, parts)
        crash_points.reach("agent.staged")
        return list(parts)

    def _sample(self, attempt: Attempt) -> float:
        return formats.mean_size(self.spec, attempt.peek(_SAMPLE))

    def _commit(self, attempt: Attempt, parts: list[str]) -> dict[str, Any]:
        planned = attempt.planned
        staging = self._staging(planned)
        known: dict[str, Any] = {
            "ranges": _dump(planned.ranges),
            "counts": attempt.counts.model_dump(),
            "files": {
                f"{staging}/{part}": self._final_name(planned, Path(part).parent, str(number))
                for number, part in enumerate(parts)
            },
        }
        self._storage.write(self._manifest(planned), json.dumps(known).encode())
        crash_points.reach("agent.committed")
        return known

    def resolve(self, planned: Planned) -> Resolution:
        """Committed as a whole, or not at all."""
        self._require_reach()
        known = self._read(planned)
        if known is None:
            return Resolution(delivered_before=0)
        self._publish(planned, known["files"])
        return Resolution(delivered_before=known["counts"]["delivered"], committed=True)

    def _read(self, planned: Planned) -> dict[str, Any] | None:
        data = self._storage.read(self._manifest(planned))
        if data is None:
            return None
        known: dict[str, Any] = json.loads(data)
        if known["ranges"] != _dump(planned.ranges):
            raise ManifestMismatch(f"{self._manifest(planned)} has other ranges than batch {planned.batch}")
        return known

    def _publish(self, planned: Planned, files: dict[str, str]) -> None:
        """Rename what has not been renamed yet."""
        for path, final in files.items():
            self._storage.move(path, final)
        self._storage.remove(self._staging(planned))

    def _manifests(self, planned: Planned) -> dict[int, str]:
        """This query's manifests by batch."""
        start, end = f"{self._stem(planned)}-", ".manifest"
        names = [name for name in self._storage.files(self._own) if name.startswith(start) and name.endswith(end)]
        return {int(name.removesuffix(end).rpartition("-")[2]): f"{self._own}/{name}" for name in names}

    def _forget_before(self, planned: Planned) -> None:
        for number, path in self._manifests(planned).items():
            if number <= planned.batch - _MANIFESTS_KEPT:
                self._storage.remove(path)

    def _stem(self, planned: Planned) -> str:
        return f"{self.place.lineage}-{planned.source}.{planned.channel}"

    def _manifest(self, planned: Planned) -> str:
        return f"{self._own}/{self._stem(planned)}-{planned.batch}.manifest"

    def _staging(self, planned: Planned) -> str:
        return f"{self._own}/{self._stem(planned)}-{planned.batch}.staging"

    def _final_name(self, planned: Planned, directory: Path, number: str) -> str:
        name = f"{self.place.pipeline}-{self._stem(planned)}-{planned.batch:09d}-{number}{formats.suffix(self.spec)}"
        return str(directory / name)


def _dump(ranges: list[PartitionRange]) -> list[dict[str, Any]]:
    return [item.model_dump() for item in ranges]
