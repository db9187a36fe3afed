"""The report: one JSON file that grows case by case, and the Markdown made from it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import page
from bench.figures import Result
from bench.recovery.victims import VICTIMS
from bench.targets import TARGETS

NAME = "data-plane"
SYSTEMS = {
    "headgate_micro_batch": "Headgate micro-batch",
    "headgate_real_time": "Headgate real-time",
    "flume": "Flume",
    "connect": "Kafka Connect",
}
_WAYS = {
    "at_once": "trigger_interval_ms: 0",
    "interval": "the default",
    "target_latency": "target_latency: 500ms",
    "small": "the same, jvm_profile: small",
    "real_time": "mode: real_time",
}
COLUMNS = {
    "small_batches_100": _WAYS,
    "small_batches_1000": _WAYS,
    "recovery_parts": {victim.name: victim.title for victim in VICTIMS},
    "kafka_clients": {
        "as_above": "as everywhere here",
        "kafkas_batch_size": "batch.size: 16 KiB",
        "no_linger": "linger_ms: 0",
        "long_linger": "linger_ms: 100",
        "zstd": "compression: zstd",
        "uncompressed": "compression: none",
        "large_fetches": "fetches of 8 MiB",
        "patient_fetches": "fetch.min.bytes: 1 MiB",
    },
    "multiplexing_3": {"direct": "direct channels", "memory": "memory channels"},
    "sql_interceptor": {
        "regex_filter": "regex_filter",
        "sql_pattern": "sql, RLIKE",
        "regex_extractor": "and regex_extractor",
        "sql_get": "sql, get_json_object",
        "sql_fields": "sql, schema",
    },
}
"""Those of a case whose columns are not the systems."""
TITLES = {
    "kafka_to_kafka": "Kafka to Kafka, and latency at 100 records/s",
    "kafka_to_kafka_2m": "Kafka to Kafka, a short run",
    "latency_1000": "Latency at 1,000 records/s",
    "small_batches_100": "Ways to move 100 records/s",
    "small_batches_1000": "Ways to move 1,000 records/s",
    "start": "From process start to first record",
    "recovery": "Recovery: from `kill -9` to the next new record, at 100 records/s",
    "recovery_parts": "Recovery of Headgate, part by part",
    "pause_resume": "Pause and resume under 1,000 records/s",
    "idle": "An idle agent",
    "density": "Sixteen agents side by side",
    "ledger": "The price of the ledger",
    "kafka_clients": "Settings of the Kafka clients",
    "failover_group": "A failover group",
    "multiplexing_3": "Multiplexing to three channels",
    "python_interceptor": "A Python interceptor: parse JSON, add a field, dump",
    "sql_interceptor": "The same work by patterns and in SQL",
    "parquet_sink": "Parquet files",
    "postgres_sink": "PostgreSQL",
}
_INTRODUCTION = """\
Every system did the same work on the same embedded broker of the same machine, by turns, after a warm-up and on a
machine at rest: records of 200 bytes, four partitions, lz4, two headers per record, a regular expression that every
body matches. All producers share linger (20 ms for throughput, none for latency), batch size (512 KiB) and buffer
(64 MiB), and wait for all acknowledgements; the real-time mode alone never lingers. Arrivals are the append times of
the sink's log; latency is measured from the instant at which a record was handed to its producer. After each run the
sink was read back: a run in which a record is missing or comes twice counts as failed, and with it its case. Figures
are medians; single runs stand behind them in brackets. *Steady* is the second half of a run; CPU time is that of all
processes of a system from start to last record.

Flume runs two sources and two sinks around one memory channel, which loses what it holds in a crash. Connect is
MirrorMaker's source connector with two tasks; it has no transform that looks into a body, and does two header
transforms instead. Connect has the heap of its own script, Flume and Headgate have 1 GiB."""

_ABOUT = {
    "density": (
        "Each has a pipeline of its own with `jvm_profile: small` and `target_latency: 500ms`. All of them are idle "
        "first; then each gets 10 records a second. Memory and CPU are those of all together, PSS as the kernel shares "
        "it out, private what no other process has."
    ),
    "ledger": (
        "Two pairs of pipelines, whose sides run next to each other, each of them first in every other pair; a cost is"
        " that of its pair. One has the ledger and one has none, with one filter. One counts by component and bytes, "
        "and one counts sums alone, with three filters. Each sink is read back and holds every record once."
    ),
    "recovery": (
        "SIGKILL while records flow. The time ends with the first record in the sink that was not there before, "
        "appended by what was started after the kill. Headgate runs with its control plane, as `headgate up` "
        "starts it; of one agent either all processes are killed at once (agent), or one of them. The control "
        "plane detects the end and starts the next run at once, or promotes the warm standby. Flume and Connect "
        "are one process each, which the benchmark starts again at once, as systemd does with `Restart=always` and"
        " `RestartSec=0`; they stand beside the whole agent. Lost and repeated records are those of all kills "
        "together: with one of either the case fails for Headgate, and for a peer they are counted."
    ),
    "recovery_parts": (
        "The parts of one kill add up to its whole; medians need not. Agent end: until the last word of the run "
        "that was killed, where it left one. Detection: until the control plane has recorded the end. Backoff: "
        "until the next run is recorded. Process: until the driver's first line. JVM and session: until the Spark "
        "session is open; probes and the comparison of positions run meanwhile, and preflight is what is left of"
        " them. Query start: until the first batch is planned. Sink tail: until the sink was read for what it has "
        "of the unfinished batch, at the earliest half a second after the run was proven over; 0 where no "
        "batch was in flight. First batch: until the first new record is in the sink."
    ),
}
"""What a reader must know of one case alone."""


def merge(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """The report after a run: cases that were measured again are replaced as a whole, all others and the notes stay.

    `old` is None where there is no report yet. Machine, versions and commands are those of the newest run.
    """
    if old is None:
        return dict(new)
    measured = {result["case"] for result in new["results"]}
    kept = [result for result in old["results"] if result["case"] not in measured]
    order = list(TITLES)
    found = sorted([*kept, *new["results"]], key=lambda result: order.index(result["case"]))
    skipped = {case: lines for case, lines in old.get("skipped", {}).items() if case not in new["cases"]}
    commands = [*old.get("commands", []), *new["commands"]]
    return {
        **new,
        "cases": list(dict.fromkeys([*old.get("cases", []), *new["cases"]])),
        "results": found,
        "skipped": {**skipped, **new["skipped"]},
        "commands": list(dict.fromkeys(commands)),
        "records": {**old.get("records", {}), **new["records"]},
        "notes": {**old.get("notes", {}), **new["notes"]},
    }


def write(directory: Path, new: Mapping[str, Any]) -> None:
    """Merge a run into the report in `directory` and write both files."""
    page.store(directory, NAME, new, merge, markdown)


def markdown(report: Mapping[str, Any]) -> str:
    """The report as a page."""
    results = [Result(**result) for result in report["results"]]
    parts = ["# The data plane, measured", "Made by `make bench`; do not edit.", _INTRODUCTION]
    parts += ["## Machine and versions", page.machine(report), "## Targets", page.targets(TARGETS, results)]
    for case in dict.fromkeys(result.case for result in results):
        size = report["records"].get(case)
        title = f"{TITLES[case]} ({size:,} records)" if size else TITLES[case]
        own = [result for result in results if result.case == case]
        parts += [f"## {title}", *([page.prose(_ABOUT[case])] if case in _ABOUT else [])]
        parts += [page.table(own, COLUMNS.get(case, SYSTEMS))]
        parts += [page.prose(report["notes"][case])] if case in report["notes"] else []
    if report["skipped"]:
        parts += ["## Not measured", _skipped(report["skipped"])]
    return "\n\n".join(parts) + "\n"


def _skipped(skipped: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(page.prose(f"- {case}: {line}") for case, lines in skipped.items() for line in lines)
