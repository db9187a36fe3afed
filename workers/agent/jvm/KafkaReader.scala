package org.apache.spark.sql.kafka010

import java.{util => ju}
import java.sql.Timestamp
import java.time.Duration
import java.util.concurrent.TimeoutException

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, GenericArrayData}
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReader, PartitionReaderFactory, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, Write, WriteBuilder}
import org.apache.spark.sql.kafka010.consumer.{InternalKafkaConsumer, KafkaDataConsumer}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.UninterruptibleThread

/** Spark's Kafka source and sink with another reader of partitions, and another writer: offsets, limits, planning and
  * checkpoints are Spark's.
  *
  * Spark's reader asks for the first and the last offset of the log after each poll, by seeking there and back, which
  * throws away what the client has fetched ahead. It needs the answer only where offsets are missing. This one asks
  * only then, without moving the position, and concludes the same.
  */
class HeadgateKafkaProvider extends KafkaSourceProvider {
  override def shortName(): String = "headgate-kafka"

  override def getTable(options: CaseInsensitiveStringMap): KafkaTable =
    new KafkaTable(options.getBoolean(KafkaSourceProvider.INCLUDE_HEADERS, false)) {
      override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
        val write = new RecordWrite(super.newWriteBuilder(info).build().asInstanceOf[KafkaWrite])
        new WriteBuilder { override def build(): Write = write }
      }

      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
        new KafkaScan(options) {
          override def toBatch: Batch = new PolledBatch(super.toBatch())

          override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
            new PolledStream(
              super.toMicroBatchStream(checkpoint).asInstanceOf[KafkaMicroBatchStream],
              Option(options.get("maxTriggerDelay")).map(JavaUtils.timeStringAsMs(_)).getOrElse(0L))
        }
    }
}

private class PolledBatch(batch: Batch) extends Batch {
  override def planInputPartitions(): Array[InputPartition] = batch.planInputPartitions()
  override def createReaderFactory(): PartitionReaderFactory = PolledReaderFactory
}

/** `delay`: milliseconds that a batch which is not full waits behind the one before. */
private class PolledStream(stream: KafkaMicroBatchStream, delay: Long) extends SupportsTriggerAvailableNow
    with ReportsSourceMetrics with MicroBatchStream {

  /** When the last batch was planned, and whether it has taken all that there was. */
  private var planned = 0L
  private var tookAll = false

  override def createReaderFactory(): PartitionReaderFactory = PolledReaderFactory
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    stream.planInputPartitions(start, end)
  override def initialOffset(): Offset = stream.initialOffset()
  override def getDefaultReadLimit: ReadLimit = stream.getDefaultReadLimit
  override def latestOffset(): Offset = stream.latestOffset()

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    sleepThroughTheRest()
    val end = stream.latestOffset(start, limit)
    if (end != start) {
      planned = System.nanoTime()
      tookAll = end == stream.reportLatestOffset()
    }
    end
  }

  /** Nothing is asked for in the last half second before the next batch is due: it begins on time, and each question
    * takes a millisecond of a core. */
  private def sleepThroughTheRest(): Unit = {
    val left = delay - (System.nanoTime() - planned) / 1000000
    if (tookAll && left > 0 && left <= PolledStream.Rest) Thread.sleep(left + 1)
  }

  override def reportLatestOffset(): Offset = stream.reportLatestOffset()
  override def deserializeOffset(json: String): Offset = stream.deserializeOffset(json)
  override def prepareForTriggerAvailableNow(): Unit = stream.prepareForTriggerAvailableNow()
  override def commit(end: Offset): Unit = stream.commit(end)
  override def stop(): Unit = stream.stop()
  override def metrics(latest: ju.Optional[Offset]): ju.Map[String, String] = stream.metrics(latest)
  override def toString: String = stream.toString
}

private object PolledStream {
  val Rest = 500L
}

private object PolledReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val wanted = partition.asInstanceOf[KafkaBatchInputPartition]
    val known = wanted.offsetRange.fromOffset >= 0 && wanted.offsetRange.untilOffset >= 0
    if (known && wanted.failOnDataLoss) new PolledReader(wanted) else KafkaBatchReaderFactory.createReader(wanted)
  }
}

/** The records of one partition from `fromOffset` up to `untilOffset`.
  *
  * @throws KafkaIllegalStateException KAFKA_DATA_LOSS, where a record that was planned is not there any more
  * @throws TimeoutException where the broker gives nothing within `pollTimeoutMs`
  */
private class PolledReader(wanted: KafkaBatchInputPartition) extends PartitionReader[InternalRow] {
  private type Record = ConsumerRecord[Array[Byte], Array[Byte]]

  private val partition = wanted.offsetRange.topicPartition
  private val until = wanted.offsetRange.untilOffset
  private val lease = KafkaDataConsumer.acquire(partition, wanted.executorKafkaParams)
  private val client = PolledReader.clientOf(lease.getOrRetrieveConsumer())
  private val row = new RecordRow(partition.topic, wanted.includeHeaders)

  /** The next offset to give, and the one behind the records of the last poll. */
  private var position = wanted.offsetRange.fromOffset
  private var polledUntil = position
  private var polled: ju.Iterator[Record] = ju.Collections.emptyIterator()
  private var sought = false

  /** The first offset of the log, asked for once behind each poll in which offsets are missing. */
  private var firstOffset: Option[Long] = None

  override def next(): Boolean = {
    var record: Record = null
    while (record == null && position < until) record = advance()
    row.record = record
    record != null
  }

  override def get(): InternalRow = row
  override def close(): Unit = lease.release()

  /** The next record; null where there was none in what was polled, or none before `until`. */
  private def advance(): Record = {
    if (!polled.hasNext) {
      if (position < polledUntil) position = polledUntil else poll()
      return null
    }
    val record = polled.next()
    if (record.offset < position) throw new IllegalStateException(s"asked for $position of $partition, got ${record.offset}")
    if (record.offset > position && first() > position) throw lost(record.offset)
    position = record.offset + 1
    if (record.offset < until) record else null
  }

  private def poll(): Unit = uninterruptibly {
    if (!sought) client.seek(partition, position)
    sought = true
    firstOffset = None
    val records =
      try client.poll(Duration.ofMillis(wanted.pollTimeoutMs)).records(partition)
      catch { case error: OffsetOutOfRangeException => throw lost(until, error) }
    polled = records.iterator()
    polledUntil = client.position(partition)
    if (records.isEmpty) explainNothing()
  }

  /** Nothing was polled: the offset is gone, or nobody answered, or all that was fetched is invisible (markers of
    * transactions and what was written in ones that were given up). */
  private def explainNothing(): Unit = {
    val end = client.endOffsets(ju.Set.of(partition), timeout).get(partition)
    if (position < first() || position >= end) throw lost(until)
    if (polledUntil == position)
      throw new TimeoutException(s"Cannot fetch record for offset $position in ${wanted.pollTimeoutMs} milliseconds")
  }

  private def first(): Long = {
    if (firstOffset.isEmpty)
      firstOffset = Some(uninterruptibly(client.beginningOffsets(ju.Set.of(partition), timeout).get(partition).longValue))
    firstOffset.get
  }

  private def timeout = Duration.ofMillis(wanted.pollTimeoutMs)

  private def lost(end: Long, cause: Throwable = null): Throwable =
    KafkaExceptions.couldNotReadOffsetRange(
      position, end, partition, wanted.executorKafkaParams.get("group.id").toString, cause)

  /** A poll that is interrupted may hang for ever (KAFKA-1894). */
  private def uninterruptibly[T](body: => T): T = Thread.currentThread match {
    case thread: UninterruptibleThread => thread.runUninterruptibly(body)
    case _ => body
  }
}

/** A record as a row of Spark's Kafka source, up to the next one: the projection behind every scan makes the copy. */
private class RecordRow(topic: String, withHeaders: Boolean) extends BaseGenericInternalRow {
  var record: ConsumerRecord[Array[Byte], Array[Byte]] = _
  private val topicName = UTF8String.fromString(topic)

  override def numFields: Int = if (withHeaders) 8 else 7

  override def isNullAt(ordinal: Int): Boolean = ordinal match {
    case 0 => record.key == null
    case 1 => record.value == null
    case 7 => !record.headers.iterator.hasNext
    case _ => false
  }

  override def getInt(ordinal: Int): Int = if (ordinal == 3) record.partition else record.timestampType.id

  override def getLong(ordinal: Int): Long = if (ordinal == 4) record.offset else timestamp

  override protected def genericGet(ordinal: Int): Any = ordinal match {
    case 0 => record.key
    case 1 => record.value
    case 2 => topicName
    case 3 | 6 => getInt(ordinal)
    case 4 | 5 => getLong(ordinal)
    case 7 => if (isNullAt(ordinal)) null else headers
  }

  override def setNullAt(ordinal: Int): Unit = throw new UnsupportedOperationException
  override def update(ordinal: Int, value: Any): Unit = throw new UnsupportedOperationException

  private def timestamp = DateTimeUtils.fromJavaTimestamp(new Timestamp(record.timestamp))

  private def headers = {
    val found = record.headers.toArray
    val pairs = new Array[Any](found.length)
    for (number <- found.indices)
      pairs(number) = new GenericInternalRow(Array[Any](UTF8String.fromString(found(number).key), found(number).value))
    new GenericArrayData(pairs)
  }
}

private object PolledReader {
  private val client = classOf[InternalKafkaConsumer].getDeclaredMethod("consumer")
  client.setAccessible(true)

  /** The client that Spark keeps in its pool. */
  def clientOf(kept: InternalKafkaConsumer): KafkaConsumer[Array[Byte], Array[Byte]] =
    client.invoke(kept).asInstanceOf[KafkaConsumer[Array[Byte], Array[Byte]]]
}
