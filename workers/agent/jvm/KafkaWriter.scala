package org.apache.spark.sql.kafka010

import java.{util => ju}

import org.apache.kafka.clients.producer.{Callback, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.kafka010.producer.{CachedKafkaProducer, InternalKafkaProducerPool}

/** Spark's write to Kafka with another writer of its tasks: checks, producers and their pool are Spark's. */
private class RecordWrite(kafka: KafkaWrite)
    extends KafkaBatchWrite(kafka.topic, kafka.producerParams, kafka.schema) with Write {
  override def toBatch: BatchWrite = this
  override def useCommitCoordinator(): Boolean = false
  override def createBatchWriterFactory(info: PhysicalWriteInfo): KafkaBatchWriterFactory = new RecordWriterFactory(kafka)
}

private class RecordWriterFactory(kafka: KafkaWrite)
    extends KafkaBatchWriterFactory(kafka.topic, kafka.producerParams, kafka.schema) {
  override def createWriter(task: Int, id: Long): DataWriter[InternalRow] = new RecordWriter(kafka)
}

/** Sends each row as a record, as it comes: Spark's writer copies it first. The columns have the types of a record's
  * parts. Rows whose `verdict` is another than that of an event to be delivered are passed over. */
private class RecordWriter(kafka: KafkaWrite) extends DataWriter[InternalRow] with Callback {
  private val List(topic, key, value, headers, partition, verdict) =
    List("topic", "key", "value", "headers", "partition", "verdict").map(kafka.schema.fieldNames.indexOf(_))
  private val topicOfAll = kafka.topic.orNull
  private var lease: CachedKafkaProducer = _
  @volatile private var failure: Exception = _

  override def write(row: InternalRow): Unit = {
    raiseFailure()
    if (verdict < 0 || row.getInt(verdict) == RecordWriter.IsDelivered) {
      if (lease == null) lease = InternalKafkaProducerPool.acquire(kafka.producerParams)
      lease.producer.send(record(row), this)
    }
  }

  private def record(row: InternalRow) = new ProducerRecord[Array[Byte], Array[Byte]](
    if (topicOfAll == null) row.getUTF8String(topic).toString else topicOfAll,
    if (partition < 0 || row.isNullAt(partition)) null else Integer.valueOf(row.getInt(partition)),
    row.getBinary(key),
    row.getBinary(value),
    if (row.isNullAt(headers)) null else headersOf(row.getArray(headers)))

  private def headersOf(found: ArrayData): ju.List[Header] = {
    val made = new Array[Header](found.numElements())
    var number = 0
    while (number < made.length) {
      val header = found.getStruct(number, 2)
      made(number) = new RecordHeader(header.getUTF8String(0).toString, header.getBinary(1))
      number += 1
    }
    ju.Arrays.asList(made: _*)
  }

  override def onCompletion(sent: RecordMetadata, error: Exception): Unit =
    if (failure == null && error != null) failure = error

  /** All that was sent is acknowledged. */
  override def commit(): WriterCommitMessage = {
    raiseFailure()
    if (lease != null) lease.producer.flush()
    raiseFailure()
    KafkaDataWriterCommitMessage
  }

  override def abort(): Unit = {}
  override def close(): Unit = if (lease != null) InternalKafkaProducerPool.release(lease)

  private def raiseFailure(): Unit = if (failure != null) throw failure
}

private object RecordWriter {
  /** The verdict on an event that is to be delivered (workers/agent/graph/batch.py). */
  val IsDelivered = -1
}
