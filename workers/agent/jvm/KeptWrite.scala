package org.apache.spark.sql.kafka010

import java.{util => ju}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CurrentTimestampLike, Expression, LeafExpression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.{CURRENT_LIKE, EXPRESSION_WITH_RANDOM_SEED, PLAN_EXPRESSION}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl
import org.apache.spark.sql.execution.{CollectMetricsExec, LogicalRDD, RDDScanExec, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.AppendDataExec
import org.apache.spark.sql.headgate.Apart
import org.apache.spark.sql.types.{DataType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A write to Kafka that is planned once, for one batch after the other: to plan it takes longer than to deliver a small
  * batch. `records`: made of the first batch, and counted. */
class KeptWrite(records: Dataset[_], options: ju.Map[String, String]) {
  private val logical = records.queryExecution.analyzed.transformAllExpressions { case _: CurrentTimestampLike => BatchTime() }
  private val plan = records.sparkSession.sessionState.executePlan(logical).executedPlan
  private val write = {
    val own = new CaseInsensitiveStringMap(options)
    val info = LogicalWriteInfoImpl(records.queryExecution.id.toString, records.schema, own, None, None)
    new HeadgateKafkaProvider().getTable(own).newWriteBuilder(info).build()
  }

  /** Whether the plan is the same for every batch but for its time: nothing else is chosen when it is made, as the seeds
    * of random numbers are, and each row goes its way alone. */
  def serves: Boolean = plan.collectLeaves().forall(_.isInstanceOf[RDDScanExec]) && !logical.exists {
    case node @ (_: Project | _: Filter | _: Generate | _: CollectMetrics | _: Repartition | _: LogicalRDD) =>
      node.expressions.exists(_.containsAnyPattern(CURRENT_LIKE, EXPRESSION_WITH_RANDOM_SEED, PLAN_EXPRESSION))
    case _ => true
  }

  /** Write a batch as Spark hands it over, in any thread; returns what was counted, as JSON. */
  def write(batch: Dataset[_]): String = records.sparkSession.withActive {
    val rows = batch.logicalPlan.asInstanceOf[LogicalRDD].rdd
    val now = Literal(DateTimeUtils.instantToMicros(java.time.Instant.now()), TimestampType)
    val timed: PartialFunction[Expression, Expression] = { case _: BatchTime => now }
    val own = plan.transform {
      case scan: RDDScanExec => scan.copy(rdd = rows)
      case node => node.transformExpressions(timed.orElse { case apart: Apart => apart.copy(body = apart.body.transform(timed)) })
    }
    val append = AppendDataExec(own, () => (), write, "kafka")
    val _ = append.metrics // made later, by another thread, they would wait for the write, which waits for them
    SQLExecution.withSQLConfPropagated(records.sparkSession)(append.executeCollect())
    CollectMetricsExec.collect(own).values.head.json
  }
}

/** The place of a batch's time in a plan that is kept. */
case class BatchTime() extends LeafExpression with CodegenFallback {
  override def dataType: DataType = TimestampType
  override def nullable: Boolean = false
  override def eval(row: InternalRow): Any = throw new IllegalStateException("a plan without a batch has no time")
}
