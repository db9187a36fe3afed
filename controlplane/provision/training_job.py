"""A small Spark job that does what agents do, run once at set-up so that the JVM can archive the classes they load.

`python -m controlplane.provision.training_job ARCHIVE CLASS_PATH BOOTSTRAP_SERVERS INPUT OUTPUT DIRECTORY FLAG...`: one
streaming query from the topic INPUT to the topic OUTPUT and to JSON files, through foreachBatch, until
everything that was in INPUT has been written. The JVM writes ARCHIVE when it ends.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f


def main(arguments: list[str]) -> None:
    archive, class_path, servers, source, sink, directory, *flags = arguments
    spark = _session(class_path, [*flags, f"-XX:ArchiveClassesAtExit={archive}"])
    query = (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": servers, "subscribe": source, "startingOffsets": "earliest"})
        .options(includeHeaders="true", maxOffsetsPerTrigger="500")
        .load()
        .writeStream.foreachBatch(lambda batch, number: _write(batch, servers, sink, directory))
        .option("checkpointLocation", f"{directory}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    finished = query.awaitTermination(180)
    spark.stop()
    if not finished:
        sys.exit("the training job did not finish in 180 s")


def _session(class_path: str, flags: list[str]) -> SparkSession:
    raw = "org.apache.hadoop.fs.RawLocalFileSystem", "org.apache.hadoop.fs.local.RawLocalFs"
    builder = SparkSession.builder.master("local[2]").appName("headgate-training")
    settings = {
        "spark.driver.extraClassPath": class_path,
        "spark.driver.extraJavaOptions": " ".join(flags),
        "spark.driver.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.fs.file.impl": raw[0],
        "spark.hadoop.fs.AbstractFileSystem.file.impl": raw[1],
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


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
    main(sys.argv[1:])
