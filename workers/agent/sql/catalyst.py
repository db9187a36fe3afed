"""Spark's own expressions, behind its columns: what PySpark has no names for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Node = Any
"""An expression of Catalyst, in the JVM."""

_PACKAGE = "org.apache.spark.sql.catalyst."
_INHERITS = f"{_PACKAGE}expressions.InheritAnalysisRules"
_MESSAGE = re.compile(r"\[[A-Z0-9_.]+\]\s*(.*?)\s*SQLSTATE", re.DOTALL)
_LONGEST_MESSAGE = 400


class Catalyst:
    """Parses and takes apart. Whatever Spark raises, its methods raise."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._spark = spark
        self._utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._analysis = jvm.org.apache.spark.sql.catalyst.analysis
        # The parser of a session would replace ${env:NAME} and ${system:NAME} first; this one leaves texts alone.
        self._parser = jvm.org.apache.spark.sql.catalyst.parser.CatalystSqlParser()
        self._inherits = jvm.java.lang.Class.forName(_INHERITS)
        self._to_sequence = jvm.PythonUtils.toSeq

    def parsed(self, text: str) -> Node:
        """The tree of a text, in which no name is resolved yet."""
        return self._parser.parseExpression(text)

    def analysed(self, node: Node, frame: DataFrame) -> tuple[Node, DataFrame]:
        """The tree with every name resolved, and the frame with its value alone."""
        selected = frame.select(self.column(node).alias("value"))
        return selected._jdf.queryExecution().analyzed().expressions().apply(0).child(), selected

    def column(self, node: Node) -> Column:
        """An expression as PySpark has it."""
        return Column(self._utils.column(node))

    def node(self, column: Column) -> Node:
        """The expression of a column."""
        return self._utils.expression(column._jc)

    def field(self, node: Node, name: Column) -> Node:
        """A field of a struct, or a value of a map."""
        return self._analysis.UnresolvedExtractValue(node, self.node(name))

    def tried(self, column: Column) -> Column:
        """The value, null where computing it raises an exception."""
        return self.column(self._expressions.TryEval(self.node(column)))

    def children(self, node: Node) -> list[Node]:
        """What the expression was made of; what Spark has put in its place is left out."""
        return elements(node.parameters() if self._inherits.isInstance(node) else node.children())

    def with_children(self, node: Node, children: Sequence[Node]) -> Node:
        """The same over other children."""
        return node.withNewChildren(self._to_sequence(list(children)))

    def walk(self, root: Node) -> Iterator[tuple[Node, int]]:
        """All expressions of a tree, with their depth."""
        left = [(root, 0)]
        while left:
            node, depth = left.pop()
            yield node, depth
            left += [(child, depth + 1) for child in self.children(node)]


def elements(sequence: Any) -> list[Any]:
    """What a sequence of Scala's holds."""
    return [sequence.apply(number) for number in range(sequence.size())]


def class_of(node: Node) -> str:
    """The name of its class, within Catalyst's package."""
    return str(node.getClass().getName()).removeprefix(_PACKAGE)


def place(origin: Any) -> tuple[int, int] | None:
    """Line and column of an origin, from 1; None where it does not know them."""
    line, position = origin.line(), origin.startPosition()
    return (int(line.get()), int(position.get()) + 1) if line.isDefined() and position.isDefined() else None


def place_of_error(error: Exception) -> tuple[int, int] | None:
    """Where in the text Spark has found an error."""
    origin = getattr(error, "_origin", None)
    return place(origin) if hasattr(origin, "startPosition") else None


def message_of(error: Exception) -> str:
    """What Spark says of an error, without codes and plans."""
    found = _MESSAGE.search(str(error))
    text = found[1] if found else str(error).strip().partition("\n")[0]
    return " ".join(text.split())[:_LONGEST_MESSAGE]
