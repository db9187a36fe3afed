"""The agent's JVM: the one place with its flags and class path. Standard library only.

The JVM runs Spark's Py4J gateway directly, without the spark-submit scripts: one JVM start less, and the class path is
the JVM's own, which is what a class-data archive needs. It ends when its standard input closes, so with the driver.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

GATEWAY_CLASS = "org.apache.spark.api.python.PythonGatewayServer"
FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    # An agent that comes to rest collects once, and gives back all that it does not need then.
    "-XX:-ShrinkHeapInSteps",
    # What the compilers have taken goes back to the system, too, where the JVM knows how (OpenJDK 17.0.9 and later).
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:TrimNativeHeapInterval=30000",
    "-XX:MaxMetaspaceSize=256m",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    # Mapped where it was written, so that all agents of a host share its pages; relocated, each has 130 MB of its own
    # (docs/decisions/0084-agents-share-the-class-data-archive.md).
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.numDirectArenas=1",
    "-Dio.netty.allocator.numHeapArenas=1",
)
_STANDARD = (
    # Half of the heap is for young objects: at full rate nearly all are, and collecting old ones takes long.
    "-XX:NewRatio=1",
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=50",
    "-XX:ReservedCodeCacheSize=96m",
    # The optimising compiler takes a quarter of a start's CPU time for code that runs once; ten times its thresholds
    # are still reached within the first hundred thousand records.
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    "-Xss1m",
)
PROFILES: Mapping[str, tuple[str, ...]] = {
    "small": (
        "-XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=48m",
        "-XX:MaxNewSize=10m",
        "-XX:MinHeapFreeRatio=5",
        "-XX:MaxHeapFreeRatio=10",
        "-Xss512k",
    ),
    "standard": _STANDARD,
    "large": _STANDARD,
}
"""What the profiles of a launcher differ by, beside how large their heap is at first."""
_LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
OF_CLUSTERS = (
    *("algebra_", "antlr-runtime-", "arpack", "blas-", "breeze", "cats-kernel", "commons-dbcp-"),
    *("curator-", "datanucleus-", "derby", "HikariCP-", "javax.jdo-", "javolution-", "jdo-api-", "jjwt-"),
    *("jline-", "JLargeArrays-", "jpam-", "JTransforms-", "jta-", "kubernetes-", "lapack-", "libfb303-", "libthrift-"),
    *("opencsv-", "scala-compiler-", "spark-connect_", "spark-graphx_", "spark-hive", "spark-kubernetes_"),
    *("spark-mllib", "spark-repl_", "spark-yarn_", "spire", "ST4-", "super-csv-", "transaction-api-", "vertx-"),
    *("volcano-", "zjsonpatch-", "zookeeper-"),
    *(f"hive-{part}" for part in ("beeline", "cli", "common", "exec", "jdbc", "meta", "serde", "service", "shims")),
)
"""Begins the names of jars that nothing in a local session needs: for clusters, Hive, machine learning, graphs and
shells. Every JVM keeps the directory of each of its jars in memory."""
_FIRST_HEAP = "48m"
_LARGE_HEAP = 1024
"""Mebibytes."""
_GATEWAY_TIMEOUT = 300.0
"""The default of lifecycle.init_timeout, for who has no shorter limit: an agent waits for its session as long as its
own says, and so does its supervisor."""


class JvmError(Exception):
    """The JVM did not come up, or is gone."""


def command(
    connector_jars: Sequence[str | Path],
    *,
    java_home: str | None,
    heap: str,
    archive: str | None = None,
    profile: str | None = None,
    local: bool = True,
) -> list[str]:
    """The command line of an agent's JVM. `heap` is the largest heap in mebibytes, for example 512m; `profile` one of
    PROFILES, by default chosen by the heap; `local`: its session runs in this JVM, and not on a cluster. A class-data
    archive that is there with its jars is used; one that does not fit is passed over by the JVM without a word."""
    flags = _profile_flags(heap, profile)
    if archive is not None and Path(archive).is_file() and jars_of(archive).is_dir():
        jars = jars_of(archive)
        flags.append(f"-XX:SharedArchiveFile={archive}")
    else:
        jars = own_jars()
    return _command(class_path(connector_jars, jars, local=local), java_home, *flags)


def recording_command(
    connector_jars: Sequence[str | Path], *, java_home: str | None, heap: str, archive: str, jars: Path
) -> list[str]:
    """The same with Spark's own jars in `jars`; the JVM writes the archive of all that it has loaded when it ends."""
    path = class_path(connector_jars, jars)
    return _command(path, java_home, *_profile_flags(heap, None), f"-XX:ArchiveClassesAtExit={archive}")


def jars_of(archive: str | Path) -> Path:
    """Spark's own jars as an archive was made of them: it fits the files at this one place only."""
    return Path(archive).parent / "jars"


def class_path(connector_jars: Sequence[str | Path], jars: Path, *, local: bool = True) -> list[Path]:
    """The connector jars, then those of Spark's own that a local session needs, in a fixed order; the others come last,
    so that the archive of a local session fits a cluster's, too."""
    needed: list[Path] = []
    others: list[Path] = []
    for jar in sorted(jars.glob("*.jar")):
        (others if jar.name.startswith(OF_CLUSTERS) else needed).append(jar)
    return [*map(Path, connector_jars), *needed, *(() if local else others)]


def own_jars() -> Path:
    """Where PySpark's jars are. Raises JvmError where it is not installed."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JvmError("pyspark is not installed")
    return Path(spec.origin).parent / "jars"


def _command(path: Sequence[Path], java_home: str | None, *flags: str) -> list[str]:
    java = Path(java_home, "bin", "java") if java_home else Path(shutil.which("java") or "java")
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    argv = [str(java), *FLAGS, _LOGGING, *opened, *flags]
    return [*argv, "-cp", os.pathsep.join(map(str, path)), GATEWAY_CLASS]


def _profile_flags(heap: str, profile: str | None) -> list[str]:
    """A heap starts small, for an idle agent. A large one is there for throughput: whole at once."""
    profile = profile or ("large" if int(heap.removesuffix("m")) >= _LARGE_HEAP else "standard")
    return [*PROFILES[profile], f"-Xms{heap if profile == 'large' else _FIRST_HEAP}", f"-Xmx{heap}"]


class Jvm:
    """A running JVM, in a process group of its own: a SIGTERM for the driver must not abort the batch in hand."""

    def __init__(self, argv: list[str], tmp: Path, *, local: bool = True) -> None:
        """`local`: Spark talks to nobody outside this host. What the JVM unpacks lies in `tmp`, too, which whoever ends
        it removes: a JVM that is killed does not."""
        tmp.mkdir(parents=True, exist_ok=True)
        self._handshake = Path(tempfile.mkdtemp(prefix="gateway-", dir=tmp)) / "connection"
        environment = {
            **os.environ,
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._handshake),
            "SPARK_CONNECT_MODE": "0",
            "SPARK_LOCAL_DIRS": str(tmp),
            **({"SPARK_LOCAL_IP": "127.0.0.1"} if local else {}),
        }
        java, *rest = argv
        argv = [java, f"-Djava.io.tmpdir={tmp}", *rest]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment, process_group=0)

    def gateway(self) -> tuple[int, str]:
        """Port and secret of the Py4J gateway. Raises JvmError where the JVM ends or stays silent."""
        deadline = time.monotonic() + _GATEWAY_TIMEOUT
        while not self._handshake.is_file():
            if self.process.poll() is not None:
                raise JvmError(f"the JVM ended with {self.process.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise JvmError(f"the JVM was not ready within {_GATEWAY_TIMEOUT:.0f} s")
            time.sleep(0.01)
        content = self._handshake.read_bytes()
        shutil.rmtree(self._handshake.parent, ignore_errors=True)
        port, length = struct.unpack(">ii", content[:8])
        return port, content[8 : 8 + length].decode()

    def is_gone(self, within: float) -> bool:
        """Whether it has ended, or ends within so many seconds."""
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, timeout: float, workers: float | None = None, *, idle: bool = False) -> None:
        """Close its standard input, which ends it; kill it where it does not end in `timeout` seconds, or at once where
        it is `idle`: Spark's own end takes half a second, for nothing that anybody needs. Its Python workers get
        `workers` seconds, or as many, to close what they have open."""
        left = _workers(self.process.pid)
        if self.process.stdin:
            self.process.stdin.close()
        if idle:
            self.process.kill()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout)
        _wait_until_gone(left, timeout if workers is None else workers)


@dataclass(frozen=True)
class _Process:
    """A process by its pid and the clock tick at which it was started."""

    pid: int
    born: int
    parent: int

    @property
    def lives(self) -> bool:
        """Whether it is there and no zombie."""
        now = _check(Path(f"/proc/{self.pid}/stat"))
        return now is not None and now.born == self.born


def _check(stat: Path) -> _Process | None:
    try:
        fields = stat.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else _Process(int(stat.parent.name), int(fields[19]), int(fields[1]))


def _workers(pid: int) -> list[_Process]:
    """The daemons of Python workers that a JVM has started, and the workers; not what those have started."""
    found = [process for path in Path("/proc").glob("[0-9]*/stat") if (process := _check(path))]
    daemons = {process.pid for process in found if process.parent == pid}
    return [process for process in found if process.parent == pid or process.parent in daemons]


def _wait_until_gone(processes: list[_Process], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while any(process.lives for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
