"""`python -m bench.control`: measure the control plane on SQLite and PostgreSQL, and write or complete the report.

Each case runs in an empty database in a process of its own. `make bench-control` is the same with set-up. A case that
fails keeps its old figures, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import postgres
from bench.control import report
from bench.control.child import RUNS, TICKS
from bench.figures import Result, result
from bench.machine import machine
from controlplane.install.services.interrupt import end_in_order_on_signals
from controlplane.install.services.redis import running_redis
from controlplane.install.tools.paths import PROJECT

OUT = PROJECT / "docs" / "reference" / "benchmarks"
TIMEOUT = 1800.0


def main(arguments: list[str]) -> int:
    """Run the cases that were asked for; 0 where none failed."""
    options = _parser().parse_args(arguments)
    end_in_order_on_signals()
    failed = []
    for system in options.system or list(report.SYSTEMS):
        for case in options.case or list(report.TITLES):
            print(f"{system}: {case}", flush=True)
            found = _run(system, case, options)
            if found is None:
                failed.append(f"{case} on {system}")
            else:
                report.write(options.out, _document(found, arguments, options.note))
    print(f"{options.out / report.NAME}.md" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _run(system: str, case: str, options: argparse.Namespace) -> list[Result] | None:
    """The results of a case; None where it failed."""
    with (
        tempfile.TemporaryDirectory(prefix="headgate-bench-", ignore_cleanup_errors=True) as work,
        _database(system, Path(work)) as database,
        running_redis(Path(work) / "redis") as redis_url,
    ):
        out, state = Path(work) / "figures.json", Path(work) / "state"
        state.mkdir()
        environment = {
            **os.environ,
            **database,
            "HEADGATE_STATE": str(state),
            "HEADGATE_HOST": "bench",
            "HEADGATE_REDIS_URL": redis_url,
            "HEADGATE_LOG_LEVEL": "WARNING",
            "HEADGATE_SECRET_KEY": "bench" * 10,
            "HEADGATE_RATE_LIMIT": "0",
            TICKS: str(options.ticks),
            RUNS: str(options.runs),
        }
        command = [sys.executable, "-m", "bench.control.child", case, str(out)]
        try:
            subprocess.run(command, env=environment, check=True, timeout=TIMEOUT)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"  FAILED: {error}", file=sys.stderr, flush=True)
            return None
        figures: dict[str, list[float]] = json.loads(out.read_text())
        return [result(case, system, metric, values) for metric, values in figures.items()]


@contextmanager
def _database(system: str, work: Path) -> Iterator[Mapping[str, str]]:
    """An empty database of a kind, as the environment names it."""
    if system == "sqlite":
        yield {}
        return
    with postgres.running(work) as server:
        yield {"HEADGATE_DATABASE_URL": server.dsn}


def _document(results: list[Result], arguments: list[str], notes: list[str]) -> dict[str, Any]:
    return {
        "machine": machine(),
        "versions": report.versions(),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commands": [shlex.join(["python", "-m", "bench.control", *arguments])],
        "results": [found.plain() for found in results],
        "notes": notes,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.control", description=__doc__)
    parser.add_argument("--case", action="append", choices=list(report.TITLES), help="only this one; may be repeated")
    parser.add_argument("--system", action="append", choices=list(report.SYSTEMS), help="only on this database")
    parser.add_argument("--ticks", type=int, default=20, help="ticks of one run (default 20)")
    parser.add_argument("--runs", type=int, default=3, help="how often the same is measured (default 3)")
    parser.add_argument("--note", action="append", default=[], help="a sentence on the circumstances, for the report")
    parser.add_argument("--out", type=Path, default=OUT, help="the report's directory (docs/reference/benchmarks)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
