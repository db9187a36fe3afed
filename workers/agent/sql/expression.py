"""From the text of an expression to a column: parsed, checked, analysed over the inputs, then bound to an event's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.sql.checks import Problem, problems
from workers.agent.sql import permitted
from workers.agent.sql.catalyst import Catalyst, Node, message_of, place_of_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


class Unfit(Exception):
    """An expression that cannot be evaluated, and everything that is wrong with it."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in found))
        self.problems = found


@dataclass(frozen=True)
class Expression:
    """An expression that may be evaluated. `inputs`: those that it mentions; `type`: of its value."""

    text: str
    node: Node
    inputs: frozenset[str]
    type: DataType

    def bound(self, catalyst: Catalyst, inputs: Mapping[str, Column]) -> Column:
        """Its value, over these columns."""
        return catalyst.column(_bound(catalyst, self.node, inputs))


def checked(catalyst: Catalyst, text: str, frame: DataFrame) -> Expression:
    """The expression of a text, over the columns of a frame that are its inputs. Raises Unfit."""
    _require(problems(text))
    try:
        node = catalyst.parsed(text)
    except Exception as error:
        raise _unfit("sql_syntax", error, text) from error
    _require(permitted.problems_as_written(catalyst, node, text))
    try:
        resolved, selected = catalyst.analysed(node, frame)
    except Exception as error:
        raise _unfit("sql_analysis", error, text) from error
    _require(permitted.problems_as_resolved(catalyst, resolved, text))
    return Expression(text, node, permitted.inputs_of(catalyst, node), selected.schema[0].dataType)


def _require(found: list[Problem]) -> None:
    if found:
        raise Unfit(found)


def _unfit(code: str, error: Exception, text: str) -> Unfit:
    at = permitted.offset(text, place_of_error(error))
    return Unfit([Problem(code, message_of(error), "Correct the expression there.", at)])


def _bound(catalyst: Catalyst, node: Node, inputs: Mapping[str, Column]) -> Node:
    """The tree with each input replaced by its column."""
    if permitted.is_attribute(node):
        first, *rest = permitted.name_parts(node)
        if first.lower() not in inputs:
            return node  # a function that is called without brackets
        parts = [f.lit(part) for part in rest]
        return reduce(catalyst.field, parts, catalyst.node(inputs[first.lower()]))
    children = catalyst.children(node)
    return catalyst.with_children(node, [_bound(catalyst, each, inputs) for each in children]) if children else node
