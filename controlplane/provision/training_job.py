"""A small Spark job that does what agents do, run once at set-up so that the JVM can archive the classes they load.

`python -m controlplane.provision.training_job ARCHIVE BOOTSTRAP_SERVERS INPUT OUTPUT DIRECTORY`: one streaming query
from the topic INPUT to the topic OUTPUT and to JSON files, through foreachBatch, until everything that was in INPUT has
been written. The JVM is an agent's own and writes ARCHIVE when it ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from controlplane.provision.jars import SPARK_KAFKA, jar_paths
from controlplane.provision.java import find_java
from workers.agent import jvm, spark

QUERY_TIMEOUT = 180  # seconds
ARCHIVE_TIMEOUT = 120.0  # seconds that the JVM has to write the archive while it ends


def main(archive: str, servers: str, source: str, sink: str, directory: str) -> None:
    home = str(find_java().executable.parent.parent)
    recording = jvm.recording_flags(archive)
    command = jvm.command(jar_paths(SPARK_KAFKA), java_home=home, heap="512m", extra_flags=recording)
    machine = jvm.Jvm(command, Path(directory, "tmp"))
    try:
        session = spark.connect(machine, name="training", cores=4, tmp=Path(directory, "tmp"))
        _copy(session, servers, source, sink, directory)
        session.stop()
    finally:
        machine.stop(ARCHIVE_TIMEOUT)


def _copy(session: SparkSession, servers: str, source: str, sink: str, directory: str) -> None:
    query = (
        session.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": servers, "subscribe": source, "startingOffsets": "earliest"})
        .options(includeHeaders="true", maxOffsetsPerTrigger="500")
        .load()
        .writeStream.foreachBatch(lambda batch, _: _write(batch, servers, sink, directory))
        .option("checkpointLocation", f"{directory}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    if not query.awaitTermination(QUERY_TIMEOUT):
        sys.exit(f"the training job did not finish in {QUERY_TIMEOUT} s")


def _write(batch: DataFrame, servers: str, sink: str, directory: str) -> None:
    header = f.struct(
        f.lit("timestamp").alias("key"), f.current_timestamp().cast("string").cast("binary").alias("value")
    )
    events = batch.withColumn("headers", f.concat(f.coalesce("headers", f.array()), f.array(header))).withColumn(
        "kept", f.col("value").cast("string").rlike("^record")
    )
    events.persist()
    counts = events.groupBy("topic", "partition").agg(
        f.min("offset"), f.max("offset"), f.count("*"), f.count_if("kept")
    )
    counts.collect()
    kept = events.where("kept")
    options = {"kafka.bootstrap.servers": servers, "topic": sink, "kafka.compression.type": "lz4"}
    kept.select("key", "value", "headers").write.format("kafka").options(**options).save()
    kept.select(f.col("value").cast("string"), "topic", "partition", "offset").write.mode("append").json(
        f"{directory}/files"
    )
    observation = Observation()
    batch.observe(observation, f.count(f.lit(1)).alias("read")).write.format("noop").mode("append").save()
    events.unpersist()


if __name__ == "__main__":
    main(*sys.argv[1:])
