"""How the queries of a run are started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workers.agent.delivery.query import ReadQuery
from workers.agent.delivery.real_time import RealTimeQuery
from workers.agent.startup.starting import Starting


@pytest.mark.parametrize(("kind", "compiled"), [(ReadQuery, "false"), (RealTimeQuery, "true")])
def test_a_query_with_batches_begins_interpreted_and_the_session_compiles_afterwards(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], compiled: str
) -> None:
    settings: dict[str, str] = {}
    started: list[str] = []
    monkeypatch.setattr(Starting, "_start", lambda *_: started.append(settings["spark.sql.codegen.wholeStage"]))
    query = object.__new__(kind)
    query.name = "shop.lake"
    spark: Any = SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__))
    graph: Any = SimpleNamespace()
    Starting(spark, graph, lambda *_: None).start([query], {"shop.lake": {}})
    assert started == [compiled]
    assert settings["spark.sql.codegen.wholeStage"] == "true"
