package org.apache.spark.sql.kafka010

import java.{util => ju}

import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.connector.write._

/** Spark's write to Kafka with another way from a row to a record: the rest of it is Spark's. */
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
private class RecordWriter(kafka: KafkaWrite)
    extends KafkaDataWriter(kafka.topic, kafka.producerParams, toAttributes(kafka.schema)) with Callback {
  private val List(topic, key, value, headers, partition, verdict) =
    List("topic", "key", "value", "headers", "partition", "verdict").map(kafka.schema.fieldNames.indexOf(_))
  private val topicOfAll = kafka.topic.orNull
  private val delivered = -1 // IS_DELIVERED of workers/agent/graph/batch.py

  override def write(row: InternalRow): Unit = if (verdict < 0 || row.getInt(verdict) == delivered) super.write(row)

  override def sendRow(row: InternalRow, producer: KafkaProducer[Array[Byte], Array[Byte]]): Unit =
    producer.send(new ProducerRecord[Array[Byte], Array[Byte]](
      if (topicOfAll == null) row.getUTF8String(topic).toString else topicOfAll,
      if (partition < 0 || row.isNullAt(partition)) null else Integer.valueOf(row.getInt(partition)),
      row.getBinary(key),
      row.getBinary(value),
      if (row.isNullAt(headers)) null else headersOf(row.getArray(headers))), this)

  private def headersOf(found: ArrayData): ju.List[Header] = {
    val made = new Array[Header](found.numElements())
    for (number <- made.indices) {
      val header = found.getStruct(number, 2)
      made(number) = new RecordHeader(header.getUTF8String(0).toString, header.getBinary(1))
    }
    ju.Arrays.asList(made: _*)
  }

  override def onCompletion(sent: RecordMetadata, error: Exception): Unit =
    if (failedWrite == null && error != null) failedWrite = error
}
