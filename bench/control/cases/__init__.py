"""The cases of the control plane's benchmark, by name: each measures one thing in an empty database of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.control.cases import api, dashboard, growth, stream, ticks
from bench.control.stage import Stage, Values

Case = Callable[[Stage], Values]
CASES: Mapping[str, Case] = {**ticks.CASES, **growth.CASES, **api.CASES, **stream.CASES, **dashboard.CASES}
