"""How long the API takes to answer over a thousand pipelines."""

from __future__ import annotations

import time
from typing import Any

import httpx2

from bench.control.fleet import Plan
from bench.control.server import viewers, web
from bench.control.stage import Stage, Values
from bench.figures import percentile

PLAN = Plan(1_000, busy=200)
SETTLE = 12
REQUESTS = 100
PLACES = {
    "list_of_1000": "/pipelines?limit=1000",
    "page_of_50": "/pipelines?limit=50",
    "status": "/pipelines/pipeline-00500/status",
    "ledger_totals": "/pipelines/pipeline-00500/ledger/summary",
    "events": "/events?limit=50",
}


def measure(stage: Stage) -> Values:
    """Median and 99th percentile of each request, one after another, with all of its answer read."""
    values: dict[str, list[float]] = {}
    with stage.fleet(PLAN) as fleet:
        for _ in range(SETTLE):
            fleet.live()
            fleet.tick()
        (token,) = viewers(1)
        with web(stage.state / "web.log") as (address, _), _client(address, token) as client:
            for _ in range(stage.runs):
                for name, place in PLACES.items():
                    found = _timed(client, place)
                    values.setdefault(f"{name}_p50_ms", []).append(percentile(found, 0.5))
                    values.setdefault(f"{name}_p99_ms", []).append(percentile(found, 0.99))
    return values


def _client(address: str, token: str) -> httpx2.Client:
    headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
    return httpx2.Client(base_url=f"{address}/api/v1", headers=headers, timeout=30)


def _timed(client: httpx2.Client, place: str) -> list[float]:
    _one(client, place)
    return [_one(client, place) for _ in range(REQUESTS)]


def _one(client: httpx2.Client, place: str) -> float:
    start = time.perf_counter()
    answer: Any = client.get(place)
    spent = (time.perf_counter() - start) * 1000
    answer.raise_for_status()
    return spent


CASES = {"api": measure}
