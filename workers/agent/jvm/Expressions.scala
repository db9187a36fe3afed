package org.apache.spark.sql.headgate

import java.io.ByteArrayOutputStream
import java.util.regex.Pattern

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** What keeps the projection of an event in generated code. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectFunction(function("headgate_headers_without") { given =>
      HeadersWithout(given.head, given.tail.map(_.eval().asInstanceOf[UTF8String]).toSet, None)
    })
    extensions.injectFunction(function("headgate_headers_not_matching") { given =>
      HeadersWithout(given.head, Set.empty, Some(given.last.eval().toString))
    })
    extensions.injectFunction(function("headgate_copy_text")(StaticInvoke(CopyText.getClass, StringType, "escaped", _)))
    extensions.injectColumnar(_ => new ColumnarRule {
      override def preColumnarTransitions: Rule[SparkPlan] = EvaluateApart
    })
  }

  private def function(name: String)(make: Seq[Expression] => Expression) =
    (FunctionIdentifier(name), new ExpressionInfo(classOf[HeadersWithout].getName, name), make)
}

/** Headers, an array of key and value, without those that have one of the `names` or match the `pattern`, and without
  * places where there is none. A header without a name has none of the names, and does not match. */
case class HeadersWithout(child: Expression, names: Set[UTF8String], pattern: Option[String]) extends UnaryExpression {
  @transient private lazy val regex = pattern.map(Pattern.compile)

  override def nullIntolerant: Boolean = true
  override def dataType: DataType = child.dataType
  override def nullSafeEval(headers: Any): Any = kept(headers.asInstanceOf[ArrayData])

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val self = context.addReferenceObj("without", this)
    nullSafeCodeGen(context, made, headers => s"${made.value} = $self.kept($headers);")
  }

  /** The same array where nothing is to be left out. */
  def kept(headers: ArrayData): ArrayData = {
    val count = headers.numElements()
    var first = 0
    while (first < count && !isLeftOut(headers, first)) first += 1
    if (first == count) headers
    else {
      val left = (0 until count).filterNot(isLeftOut(headers, _))
      new GenericArrayData(left.map(headers.getStruct(_, 2): Any).toArray)
    }
  }

  private def isLeftOut(headers: ArrayData, number: Int): Boolean = headers.isNullAt(number) || {
    val header = headers.getStruct(number, 2)
    !header.isNullAt(0) && {
      val name = header.getUTF8String(0)
      names.contains(name) || regex.exists(_.matcher(name.toString).find())
    }
  }

  override protected def withNewChildInternal(child: Expression): HeadersWithout = copy(child = child)
}

/** Text as PostgreSQL's COPY reads it, in one pass: Spark's replace() takes one for each character. */
object CopyText {
  private def escape(byte: Byte): Byte = byte match {
    case '\\' => '\\' case '\t' => 't' case '\n' => 'n' case '\r' => 'r'
    case _ => 0
  }

  /** The same text where nothing has to be escaped. */
  def escaped(text: UTF8String): UTF8String = {
    val size = text.numBytes
    var first = 0
    while (first < size && escape(text.getByte(first)) == 0) first += 1
    if (first == size) text
    else {
      val made = new ByteArrayOutputStream(size + 16)
      for (byte <- text.getBytes) {
        if (escape(byte) == 0) made.write(byte) else made.write(Array[Byte]('\\', escape(byte)))
      }
      UTF8String.fromBytes(made.toByteArray)
    }
  }
}

/** An expression that Spark cannot generate code for, as a function of the columns that it reads: a plan with one in it
  * would be interpreted as a whole. `body` refers to `inputs` by their numbers and is evaluated as before. */
case class Apart(body: Expression, inputs: Seq[Expression]) extends Expression {
  override def children: Seq[Expression] = inputs
  override def dataType: DataType = body.dataType
  override def nullable: Boolean = body.nullable
  override def eval(row: InternalRow): Any = body.eval(new GenericInternalRow(inputs.map(_.eval(row)).toArray[Any]))

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val self = context.addReferenceObj("apart", body, classOf[Expression].getName)
    val row = context.freshName("inputs")
    val value = context.freshName("value")
    val values = inputs.map(_.genCode(context))
    val boxed = CodeGenerator.boxedType(dataType)
    val list = values.map(each => s"${each.isNull} ? null : (Object) ${each.value}").mkString(", ")
    made.copy(code = code"""
      ${values.map(_.code).foldLeft(EmptyBlock: Block)(_ + _)}
      ${classOf[InternalRow].getName} $row = new ${classOf[GenericInternalRow].getName}(new Object[] {$list});
      Object $value = $self.eval($row);
      boolean ${made.isNull} = $value == null;
      ${CodeGenerator.javaType(dataType)} ${made.value} =
        ${made.isNull} ? ${CodeGenerator.defaultValue(dataType)} : ($boxed) $value;""")
  }

  override protected def withNewChildrenInternal(inputs: IndexedSeq[Expression]): Apart = copy(inputs = inputs)
}

/** Puts each expression without generated code of its own apart, with all below it. */
object EvaluateApart extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case node @ (_: ProjectExec | _: FilterExec) => node.transformExpressionsDown {
      case fallback: CodegenFallback if fallback.deterministic && !fallback.isInstanceOf[LeafExpression] =>
        apart(fallback.asInstanceOf[Expression])
    }
  }

  private def apart(expression: Expression): Expression = {
    val inputs = expression.references.toSeq
    Apart(BindReferences.bindReference(expression, AttributeSeq(inputs)), inputs)
  }
}
