"""The Spark session of an agent, on top of its JVM."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from socketserver import ThreadingMixIn
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workers.agent.spark.jvm import Jvm
from workers.agent.spark.login import name_user

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

STOP_TIMEOUT = 5.0
_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The ports take serialised objects: a client without the secret that Spark makes for this session is refused before
    # anything is read.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    "spark.cleaner.periodicGC.interval": "30min",
    "spark.metrics.executorMetricsSource.enabled": "false",
    "spark.executor.heartbeatInterval": "30s",
    "spark.network.timeout": "600s",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.redaction.regex": "(?i)secret|password|token|jaas|ssl[.]key|keystore[.]key",
    "spark.sql.redaction.options.regex": "(?i)secret|password|token|jaas|ssl[.]key|keystore[.]key",
    "spark.python.daemon.module": "workers.agent.spark.python_daemon",
    # Texts are decoded as Java decodes them: every character set that it has, with U+FFFD for what does not fit.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.extensions": "org.apache.spark.sql.headgate.Extensions",
    # The second version of the Kafka sink reports observed counts; the first does not.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    "spark.sql.ui.retainedExecutions": "1",
    # Plans are written out for every batch, and nobody reads them.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "200",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "10",
    "spark.sql.streaming.stopTimeout": f"{STOP_TIMEOUT:.0f}s",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.schemaInference": "false",
    # The default asks the file system for links before it renames, which forks a shell twice for each batch.
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
    # Checksums and permission changes of Hadoop's local file systems fork processes; this one does not.
    "spark.hadoop.fs.file.impl": "org.apache.spark.sql.headgate.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}


def connect(
    jvm: Jvm,
    *,
    name: str,
    cores: int,
    tmp: Path,
    differing: Mapping[str, str | None] = MappingProxyType({}),
    python: str = sys.executable,
) -> SparkSession:
    """Open a session in `jvm` with `cores` tasks at a time; files that live as long as it go below `tmp`. `differing`:
    settings that are not those of a local session, None for those it does without. `python`: that of the workers.

    Raises JvmError where the JVM does not come up.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    port, secret = jvm.gateway()
    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret, PYSPARK_PYTHON=python)
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    name_user(gateway.jvm)
    jconf = SparkConf(_jvm=gateway.jvm)
    settings = {
        **_SETTINGS,
        "spark.master": f"local[{cores}]",
        "spark.app.name": name,
        "spark.sql.warehouse.dir": str(tmp / "warehouse"),
        **differing,
    }
    for key, value in settings.items():
        if value is not None:
            jconf.set(key, value)
    context = SparkContext(conf=jconf, gateway=gateway)
    _serve_side_by_side(context._accumulatorServer)
    _end_quietly(context._accumulatorServer)
    return SparkSession(context)


class _SideBySide(ThreadingMixIn):
    daemon_threads = True
    block_on_close = False


def _serve_side_by_side(server: Any) -> None:
    """PySpark's server of accumulators serves one client, which it asks for a secret, and then the next: a user of the
    machine who connects first and is silent would keep the JVM waiting, and with it every job with Python."""
    server.__class__ = type("AccumulatorServer", (_SideBySide, type(server)), {})


def _end_quietly(server: Any) -> None:
    """PySpark's server of accumulators loses its connection when the JVM ends, which is no error: who notices the JVM's
    end says so. It would print a traceback."""
    report = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            report(request, address)

    server.handle_error = handle_error


def is_local(context: SparkContext) -> bool:
    """Whether its tasks run in this JVM, and not on a cluster."""
    return (context.master or "local").startswith("local")


def without_rows(spark: SparkSession, like: DataFrame) -> DataFrame:
    """A frame with the columns of another one and no row, in one task; to Spark it is as good as one of a stream's
    batch, of which it does not know either that it is empty."""
    from pyspark.sql import DataFrame

    context = spark.sparkContext
    rows = context._jsc.parallelize(context._jvm.java.util.ArrayList(), 1)  # type: ignore[union-attr]
    return DataFrame(spark._jsparkSession.createDataFrame(rows, like._jdf.schema()), spark)


def generate_code(spark: SparkSession, wanted: bool) -> None:
    """Whether plans are compiled from Java or interpreted from now on."""
    spark.conf.set("spark.sql.codegen.wholeStage", "true" if wanted else "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if wanted else "NO_CODEGEN")
