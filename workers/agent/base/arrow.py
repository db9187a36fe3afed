"""Python on the executors, in Arrow batches, without pandas.

`DataFrame.mapInArrow` refuses to work without pandas, which it does not use: neither the driver nor a worker needs to
load it. This is that method (PySpark 4.2.0, `pyspark.sql.pandas.map_ops`) without the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

if TYPE_CHECKING:
    import pyarrow as pa


def map_in_arrow(
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: str,
    *,
    barrier: bool = False,
) -> DataFrame:
    """Give each partition's Arrow batches to `function`, which yields batches of `schema`. `barrier`: all at once."""
    wrapped = UserDefinedFunction(
        function, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF, deterministic=False
    )
    column = wrapped(*[frame[name] for name in frame.columns])
    return DataFrame(frame._jdf.mapInArrow(column._jc, barrier, None), frame.sparkSession)


def joined(texts: pa.StringArray) -> bytes:
    """All texts of an array without nulls, one after the other: as they lie in memory, with no work per text."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return b""
    places = memoryview(offsets).cast("i")
    start, end = places[texts.offset], places[texts.offset + len(texts)]
    return bytes(memoryview(data)[start:end])
