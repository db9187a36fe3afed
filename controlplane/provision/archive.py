"""The class-data archive: what makes an agent's JVM start in half the time.

A dynamic archive (JEP 350) holds the classes of a real run, parsed and verified. It fits one JVM, one set of flags, and
jars of one path, size and time of change. Therefore Spark's jars are linked into the cache below the digest of their
checksums, where every clone with the same PySpark finds them. Where no archive fits, agents start without one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from controlplane.install.tools.errors import SETUP_HINT, SetupError
from controlplane.install.tools.java import Java, find_java
from controlplane.install.tools.paths import cache_dir, pyspark_jars
from controlplane.provision.module import class_path
from workers.agent.spark import jvm

KEPT = 3  # archives, of 170 MB each
LOCK_TIMEOUT = 900.0  # seconds that another clone may take to build
IN_PLACE = "HEADGATE_JARS_IN_PLACE"
"""Set for an image, which has one clone: PySpark's jars stay where they are, since linked ones would be in it twice."""
_CHECKSUMS = "pyspark/jars/"


def archive_path() -> Path | None:
    """The archive that fits the Java, the jars and the flags of this moment; None where there is none."""
    try:
        path = _place(_home(), find_java())
    except SetupError:
        return None
    return path if path.is_file() else None


def ensure(java: Java) -> bool:
    """Build the archive when none fits; returns whether it was built. Raises SetupError when the training run fails.

    One clone at a time builds, and the archives that were used last are kept.
    """
    if found := archive_path():
        with suppress(OSError):
            os.utime(found)
        return False
    home = _home()
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home.parent / "lock"):
        _link_jars(home)
        target = _place(home, java)
        if target.is_file():
            return False
        _build(target)
        _forget_old(home.parent)
    return True


def _build(target: Path) -> None:
    from controlplane.provision.training import train

    with tempfile.TemporaryDirectory(prefix=".training-", dir=target.parent) as work:
        fresh = Path(work) / target.name
        train(fresh, jvm.jars_of(target), Path(work))
        fresh.replace(target)


def _forget_old(root: Path) -> None:
    """Keep the archives used last, of whichever clones, and the jars of those."""
    archives = sorted(root.glob("*/agent-*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in archives[KEPT:]:
        old.unlink()
    for home in {old.parent for old in archives[KEPT:]} - {file.parent for file in archives[:KEPT]}:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold the lock, which the kernel frees however this process ends. Raises SetupError after LOCK_TIMEOUT."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    with lock.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise SetupError(
                        f"Another process has held {lock} for {LOCK_TIMEOUT:.0f} s.", "End it, then run it again."
                    ) from None
            time.sleep(0.2)
        yield


def _home() -> Path:
    """Where the archives and the jars of the installed PySpark are. pip and uv leave a list of checksums with it."""
    try:
        pyspark = distribution("pyspark")
    except PackageNotFoundError as error:
        raise SetupError("PySpark is not installed in this Python.", SETUP_HINT) from error
    sums = [line for line in (pyspark.read_text("RECORD") or "").splitlines() if line.startswith(_CHECKSUMS)]
    return cache_dir() / "archive" / _digest(pyspark.version, *sorted(sums))


def _link_jars(home: Path) -> None:
    """Link or copy Spark's jars into the cache, all of them or none; as one directory where that is asked for."""
    if _linked(home):
        return
    jars = home / "jars"
    jars.unlink() if jars.is_symlink() else shutil.rmtree(jars, ignore_errors=True)
    if os.environ.get(IN_PLACE):
        jars.symlink_to(pyspark_jars())
        return
    with tempfile.TemporaryDirectory(prefix=".linking-", dir=home) as work:
        fresh = Path(work) / "jars"
        shutil.copytree(pyspark_jars(), fresh, copy_function=_link_or_copy, ignore=_all_but_jars)
        fresh.replace(jars)


def _linked(home: Path) -> bool:
    return _sizes(home / "jars") == _sizes(pyspark_jars())


def _sizes(jars: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in jars.glob("*.jar")}


def _all_but_jars(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".jar")]


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _place(home: Path, java: Java) -> Path:
    training = Path(__file__).with_name("training_job.py").read_text()
    files = jvm.class_path(class_path(), home / "jars")
    key = _digest(training, java.banner, java.home, *jvm.FLAGS, *(_print(file) for file in files))
    return home / f"agent-{key}.jsa"


def _print(file: Path) -> str:
    """What the JVM compares of a jar: path, size and time of change."""
    stat = file.stat()
    return f"{file}:{stat.st_size}:{stat.st_mtime_ns}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
