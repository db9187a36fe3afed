"""Files of a sink: in a directory of this host, or in a file system that Hadoop knows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.domain.base.files import write_atomically

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Storage(Protocol):
    """What the sink needs of a file system. Paths are relative to one root; every method may raise any exception."""

    def url(self, path: str) -> str:
        """The path as Spark's writers take it."""

    def make(self, path: str) -> None:
        """Make a directory and all above it."""

    def files(self, path: str) -> dict[str, int]:
        """Sizes of all files below a directory, by their paths relative to it; empty where it does not exist."""

    def read(self, path: str) -> bytes | None:
        """A small file's content, None where it does not exist."""

    def write(self, path: str, data: bytes) -> None:
        """Put a small file there at once and for good."""

    def keep(self, path: str) -> None:
        """A file that was written is on disk for good when this returns."""

    def move(self, path: str, to: str) -> None:
        """Rename a file, for good; its new directory is made. One that is no longer there was moved before."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all in it; one that is not there is fine."""


class LocalStorage:
    """A directory of this host; what is kept survives a loss of power."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def url(self, path: str) -> str:
        return str(self._root / path)

    def make(self, path: str) -> None:
        (self._root / path).mkdir(parents=True, exist_ok=True)

    def files(self, path: str) -> dict[str, int]:
        top = self._root / path
        found = (Path(directory, name) for directory, _, names in os.walk(top) for name in names)
        return {str(file.relative_to(top)): file.stat().st_size for file in found}

    def read(self, path: str) -> bytes | None:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        write_atomically(self._root / path, data)
        _sync((self._root / path).parent)

    def keep(self, path: str) -> None:
        _sync(self._root / path)
        _sync((self._root / path).parent)

    def move(self, path: str, to: str) -> None:
        target = self._root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            (self._root / path).replace(target)
        except FileNotFoundError:
            return
        _sync(target.parent)

    def remove(self, path: str) -> None:
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


class HadoopStorage:
    """A directory of a file system that Spark's Hadoop client knows; renames there are atomic, or the system's own."""

    def __init__(self, root: str, spark: SparkSession) -> None:
        self._root = root.rstrip("/")
        jvm: Any = spark.sparkContext._jvm
        self._paths = jvm.org.apache.hadoop.fs
        self._streams = jvm.org.apache.commons.io.IOUtils
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._system = self._at("").getFileSystem(configuration)

    def _at(self, path: str) -> Any:
        return self._paths.Path(self.url(path))

    def url(self, path: str) -> str:
        return f"{self._root}/{path}".rstrip("/")

    def make(self, path: str) -> None:
        self._system.mkdirs(self._at(path))

    def files(self, path: str) -> dict[str, int]:
        if not self._system.exists(self._at(path)):
            return {}
        top = self._system.makeQualified(self._at(path)).toString().rstrip("/") + "/"
        found, entries = {}, self._system.listFiles(self._at(path), True)
        while entries.hasNext():
            entry = entries.next()
            found[entry.getPath().toString().removeprefix(top)] = int(entry.getLen())
        return found

    def read(self, path: str) -> bytes | None:
        if not self._system.exists(self._at(path)):
            return None
        stream = self._system.open(self._at(path))
        try:
            return bytes(self._streams.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, data: bytes) -> None:
        stream = self._system.create(self._at(f"{path}.new"), True)
        stream.write(data)
        stream.close()
        self._system.delete(self._at(path), False)
        self._rename(f"{path}.new", path)

    def keep(self, path: str) -> None:
        """A file is durable once it was closed."""

    def move(self, path: str, to: str) -> None:
        if self._system.exists(self._at(path)):
            self._system.mkdirs(self._at(to).getParent())
            self._rename(path, to)

    def _rename(self, path: str, to: str) -> None:
        if not self._system.rename(self._at(path), self._at(to)):
            raise OSError(f"{self.url(path)} could not be renamed to {self.url(to)}")

    def remove(self, path: str) -> None:
        self._system.delete(self._at(path), True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
