"""Start: from the first process to the first record in the sink, on a topic that has records waiting."""

from __future__ import annotations

from bench.bench import Bench, Values, check, results
from bench.figures import Result
from bench.systems.base import System
from bench.systems.connect import Connect
from bench.systems.flume import Flume
from bench.systems.headgate import Headgate
from controlplane.provision.archive import archive_path

RECORDS = 1000
_TIMEOUT = 120.0
_WITH_ARCHIVE, _COLD = "start_to_first_record_seconds", "start_without_archive_seconds"


def start(bench: Bench) -> list[Result]:
    """Headgate with and without its class-data archive, and its peers, by turns; the first turn warms the caches."""
    systems: list[tuple[System, str]] = [
        (Headgate(), _WITH_ARCHIVE),
        (Headgate(archive=False), _COLD),
        (Headgate("real_time"), _WITH_ARCHIVE),
        (Flume(), _WITH_ARCHIVE),
        (Connect(), _WITH_ARCHIVE),
    ]
    if archive_path() is None:
        bench.skip("start", "headgate with its archive: there is none; run `make setup`")
        systems = [(system, metric) for system, metric in systems if metric is _COLD or system.name in _PEERS]
    able = bench.able("start", list({system.name: system for system, _ in systems}.values()))
    names = {system.name for system in able}
    values: Values = {}
    with bench.source(RECORDS) as source:
        for number in range(bench.options.runs + 1):
            for system, metric in systems:
                if system.name not in names:
                    continue
                seconds = _first_record(bench, system, source)
                if number:
                    values.setdefault((system.name, metric), []).append(seconds)
                    bench.say(f"  start {number}/{bench.options.runs} {system.name}: {metric} {seconds:.2f}")
    return results("start", values)


_PEERS = (Flume.name, Connect.name)


def _first_record(bench: Bench, system: System, source: str) -> float:
    with bench.work(source, hurry=True) as work, system.start(work) as running:
        running.await_(lambda: bench.topics.size(work.sink) >= RECORDS, f"{RECORDS} records", _TIMEOUT)
        running.settle()
        running.stop()
        delivered = bench.topics.read([work.sink], RECORDS)
        check(system.name, delivered)
        return min(delivered.arrivals) / 1000 - running.started_at
