"""The locked sets of jars: what they are, whether they are here and intact, and how they get here.

`jars.lock.json` maps each set to its `roots` (what a maintainer asked for) and its `jars` (coordinates and SHA-256 of
every file). A file is moved to its place only after its checksum was right, so a file in place is a checked one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.install.tools import ivy
from controlplane.install.tools.errors import SETUP_HINT, SetupError
from controlplane.install.tools.java import Java
from controlplane.install.tools.paths import cache_dir

SPARK_KAFKA = "spark-kafka"
KAFKA_BROKER = "kafka-broker"
LOCK_FILE = Path(__file__).with_name("jars.lock.json")


@dataclass(frozen=True)
class Jar:
    """One locked file: Maven coordinates `group:artifact:version` and the SHA-256 of its content in hex."""

    coordinates: str
    sha256: str

    @property
    def download(self) -> Path:
        """Where Ivy puts it, below the target directory."""
        group, artifact, version = self.coordinates.split(":")
        return Path(group, artifact, f"{version}.jar")

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"


def read_lock(lock_file: Path = LOCK_FILE) -> dict[str, Any]:
    lock: dict[str, Any] = json.loads(lock_file.read_text())
    return lock


def locked(set_name: str, lock_file: Path = LOCK_FILE) -> list[Jar]:
    """The jars of one set, in class path order."""
    return [Jar(**jar) for jar in read_lock(lock_file)[set_name]["jars"]]


def jar_paths(set_name: str, lock_file: Path = LOCK_FILE) -> list[Path]:
    """The files of one set in class path order. Raises SetupError when one is not there."""
    paths = [_place(set_name, jar) for jar in locked(set_name, lock_file)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise SetupError(f"{len(missing)} jars of the set {set_name} are missing, first {missing[0]}.", SETUP_HINT)
    return paths


def class_path(set_name: str, lock_file: Path = LOCK_FILE) -> str:
    return ":".join(str(path) for path in jar_paths(set_name, lock_file))


def ensure(set_name: str, java: Java, lock_file: Path = LOCK_FILE) -> int:
    """Check every file of the set and download what is missing or damaged. Returns how many were downloaded.

    Raises SetupError when a download fails or is not what the lock says.
    """
    wanted = [jar for jar in locked(set_name, lock_file) if not _intact(_place(set_name, jar), jar)]
    if wanted:
        _download(set_name, wanted, java)
    return len(wanted)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(path: Path, jar: Jar) -> None:
    """Raise SetupError when a downloaded file is not the locked one."""
    if not path.is_file():
        raise SetupError(f"{jar.coordinates} was not downloaded.", "Run it again.")
    found = sha256(path)
    if found != jar.sha256:
        raise SetupError(
            f"{jar.coordinates} has the wrong checksum: expected {jar.sha256}, got {found}.",
            "The file was not used; a proxy or mirror has changed it. Fix that, then run it again.",
        )


def _place(set_name: str, jar: Jar) -> Path:
    return cache_dir() / "jars" / set_name / jar.file_name


def _intact(path: Path, jar: Jar) -> bool:
    return path.is_file() and sha256(path) == jar.sha256


def _download(set_name: str, wanted: Iterable[Jar], java: Java) -> None:
    wanted = list(wanted)
    home = cache_dir() / "jars" / set_name
    home.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".download-", dir=home.parent))
    try:
        ivy.retrieve(java, [jar.coordinates for jar in wanted], work / "jars", work=work, transitive=False)
        for jar in wanted:
            fetched = work / "jars" / jar.download
            verify(fetched, jar)
            fetched.replace(home / jar.file_name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
