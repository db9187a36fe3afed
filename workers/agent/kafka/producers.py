"""The producers that Spark keeps in this JVM: closed at once, so that nothing of a failed attempt is sent later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POOL = "org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$"
_CLIENT_ID = "client.id"


def close(spark: SparkSession, client_id: str) -> None:
    """Close every producer with this client id without waiting: records that are not acknowledged are given up.

    Spark (4.2, InternalKafkaProducerPool) keeps a producer for ten minutes after its last task, and what a task that
    failed has left in it is sent all the same. The pool is looked at by reflection, since it has no public name.
    """
    jvm: Any = spark.sparkContext._jvm
    for entry in _pooled(jvm):
        cached = entry.producer()
        if _client_id(jvm, cached) == client_id:
            cached.producer().close(jvm.java.time.Duration.ZERO)


def _pooled(jvm: Any) -> list[Any]:
    kind = jvm.java.lang.Class.forName(_POOL, True, jvm.Thread.currentThread().getContextClassLoader())
    field = kind.getDeclaredField("pool")
    field.setAccessible(True)
    return _listed(jvm, field.get(None).getAsMap().values())


def _client_id(jvm: Any, cached: Any) -> str:
    return next((str(pair._2()) for pair in _listed(jvm, cached.cacheKey()) if pair._1() == _CLIENT_ID), "")


def _listed(jvm: Any, several: Any) -> list[Any]:
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(several.iterator()))
