"""What agents have in their JVM beside Spark: the Scala sources of `workers/agent/jvm`, and the connector.

The sources are compiled at set-up by the compiler among PySpark's jars, which needs a Java runtime and no download. The
jar is kept in the cache by the digest of all that it is made of, with its checksum beside it.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import zipfile
from pathlib import Path

from controlplane.install.tools.errors import SETUP_HINT, SetupError
from controlplane.install.tools.jars import SPARK_KAFKA, jar_paths, locked, sha256
from controlplane.install.tools.java import Java
from controlplane.install.tools.paths import cache_dir, pyspark_jars
from workers.agent import jvm

SOURCES = Path(jvm.__file__).parent
TIMEOUT = 600.0
"""Seconds that the compiler may take: a quarter of a minute on an idle machine."""
_COMPILER = "scala.tools.nsc.Main"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def class_path() -> list[Path]:
    """The module, then the connector's jars. Raises SetupError where one is not there."""
    module = _place()
    if not module.is_file():
        raise SetupError("The agents' module for the JVM has not been compiled.", SETUP_HINT)
    return [module, *jar_paths(SPARK_KAFKA)]


def ensure(java: Java) -> bool:
    """Compile the module where it is missing or damaged; returns whether it was compiled. Raises SetupError with what
    the compiler says."""
    target = _place()
    if _is_intact(target):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=target.parent) as work:
        classes, fresh = Path(work) / "classes", Path(work) / target.name
        classes.mkdir()
        _compile(java, classes)
        _pack(classes, fresh)
        _checksum_of(target).write_text(sha256(fresh))
        fresh.replace(target)
    return True


def _place() -> Path:
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    for jar in locked(SPARK_KAFKA):
        digest.update(jar.sha256.encode())
    for path in sorted(pyspark_jars().glob("*.jar")):
        digest.update(f"{path.name}:{path.stat().st_size}".encode())
    return cache_dir() / "jars" / "agent" / f"headgate-agent-{digest.hexdigest()[:16]}.jar"


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.scala"))


def _checksum_of(target: Path) -> Path:
    return target.with_suffix(".sha256")


def _is_intact(target: Path) -> bool:
    checksum = _checksum_of(target)
    return target.is_file() and checksum.is_file() and checksum.read_text() == sha256(target)


def _compile(java: Java, classes: Path) -> None:
    spark = f"{pyspark_jars()}/*"
    known = [*jar_paths(SPARK_KAFKA), *sorted(pyspark_jars().glob("*.jar"))]
    options = ["-release", "17", "-deprecation", "-Werror", "-d", str(classes), "-cp", ":".join(map(str, known))]
    command = [str(java.executable), "-Xmx1g", "-cp", spark, _COMPILER, *options, *map(str, _sources())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"The Scala compiler has not ended in {TIMEOUT:.0f} s.", SETUP_HINT) from error
    if done.returncode:
        raise SetupError("The Scala compiler refused the agents' module.", (done.stdout + done.stderr)[-3000:])


def _pack(classes: Path, target: Path) -> None:
    """The same classes give the same file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as jar:
        for path in sorted(classes.rglob("*.class")):
            jar.writestr(zipfile.ZipInfo(path.relative_to(classes).as_posix(), _EPOCH), path.read_bytes())
