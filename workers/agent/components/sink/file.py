"""Events in files, exactly once per batch.

A batch is written below a hidden directory, made durable, and then described by a manifest, which is the commit; its
key is (pipeline, lineage, source, channel, batch, ranges). After it the files only have to be renamed, which can be
done again after a crash at any point. A batch whose manifest exists is never written again.

Files that are rolled are continued by later batches under a hidden name. A manifest then says up to which byte each of
them counts: what an unfinished batch has added behind is cut off by the next one.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers import crash_points
from workers.agent.base.findings import refuse
from workers.agent.files import formats
from workers.agent.files.storage import HadoopStorage, LocalStorage, Storage
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Place, Resolution, SinkBuilder

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
        self._own = f"{_HIDDEN}/{place.pipeline}"
        self._storage: Storage = LocalStorage(spec.path)

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
        planned = attempt.planned
        if (known := self._read(planned)) is None:
            self._close_older_lineages(planned)
            known = self._commit(attempt, self._stage(attempt))
        else:
            attempt.already(Counts(**known["counts"]))
        self._publish(planned, known["files"])
        self._forget_before(planned)
        return Counts(**known["counts"])

    def _stage(self, attempt: Attempt) -> list[str]:
        """Write below the staging directory; returns its files, which are durable then."""
        staging = self._staging(attempt.planned)
        self._storage.remove(staging)
        formats.write(self.spec, attempt.events, self._storage.url(staging))
        if attempt.counts.delivered == 0:
            return []
        found = self._storage.files(staging)
        parts = [path for path, size in sorted(found.items()) if size and Path(path).name.startswith("part-")]
        for part in parts:
            self._storage.keep(f"{staging}/{part}")
        crash_points.reach("agent.staged")
        return parts

    def _commit(self, attempt: Attempt, parts: list[str]) -> dict[str, Any]:
        planned = attempt.planned
        staging = self._staging(planned)
        known: dict[str, Any] = {"ranges": _dump(planned.ranges), "counts": attempt.counts.model_dump()}
        if self.spec.roll:
            known |= self._append(planned, [f"{staging}/{part}" for part in parts])
        else:
            known["files"] = {
                f"{staging}/{part}": self._final_name(planned, Path(part).parent, str(number))
                for number, part in enumerate(parts)
            }
        self._storage.write(self._manifest(planned), json.dumps(known).encode())
        crash_points.reach("agent.committed")
        return known

    def _append(self, planned: Planned, parts: list[str]) -> dict[str, Any]:
        """Continue the open files; those that are large or old enough are closed by this batch."""
        storage = self._storage
        if not isinstance(storage, LocalStorage):
            raise TypeError("only files of this host can be continued")
        open_files: dict[str, dict[str, Any]] = dict(self._before(planned))
        staging = self._staging(planned)
        for directory in sorted({str(Path(part).relative_to(staging).parent) for part in parts}):
            name = f"{hashlib.sha256(directory.encode()).hexdigest()[:16]}-{planned.batch}"
            file = open_files.get(directory) or {
                "path": f"{self._own}/{self._stem(planned)}-{name}.open",
                "size": 0,
                "since": time.time(),
                "final": self._final_name(planned, Path(directory), "0"),
            }
            own = [part for part in parts if str(Path(part).relative_to(staging).parent) == directory]
            open_files[directory] = file | {"size": storage.append(file["path"], file["size"], own)}
        closed = {directory: file for directory, file in open_files.items() if self._is_full(file)}
        return {
            "files": {file["path"]: file["final"] for file in closed.values()},
            "open": {directory: file for directory, file in open_files.items() if directory not in closed},
        }

    def _is_full(self, file: dict[str, Any]) -> bool:
        size, age = self.spec.roll.size, self.spec.roll.age
        too_old = age is not None and time.time() - file["since"] >= age
        return too_old or (size is not None and file["size"] >= size)

    def _before(self, planned: Planned) -> dict[str, dict[str, Any]]:
        """The open files as the newest manifest before this batch has them."""
        earlier = {number: path for number, path in self._manifests(planned).items() if number < planned.batch}
        if not earlier:
            return {}
        newest = json.loads(self._storage.read(earlier[max(earlier)]) or b"{}")
        return dict(newest.get("open", {}))

    def _close_older_lineages(self, planned: Planned) -> None:
        """Nobody continues the files that another lineage of this query has left open."""
        if not self.spec.roll or planned.batch > 0:
            return
        query = f"-{planned.source}.{planned.channel}-"
        names = [name for name in self._storage.files(self._own) if query in name and name.endswith(".manifest")]
        for name in names:
            lineage, _, batch = name.removesuffix(".manifest").replace(query, "/").partition("/")
            if lineage.isdigit() and int(lineage) < self.place.lineage and batch.isdigit():
                left = json.loads(self._storage.read(f"{self._own}/{name}") or b"{}").get("open", {})
                for file in left.values():
                    self._storage.move(file["path"], file["final"])
                self._storage.remove(f"{self._own}/{name}")

    def resolve(self, planned: Planned) -> Resolution:
        """Committed as a whole, or not at all."""
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
