"""`python -m bench`: measure Headgate and its peers side by side, and write or complete the report.

On a machine that does nothing else; `make bench` is the same with set-up. A case whose sink does not hold every record
exactly once fails: its figures are not written, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import readme, report
from bench.bench import Bench, Options
from bench.cases import CASES, RUNS
from bench.figures import Result
from bench.machine import machine, versions
from bench.systems.base import Failed
from bench.topics import Topics
from controlplane.install.services.kafka import running_kafka
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.paths import PROJECT

OUT = PROJECT / "docs" / "reference" / "benchmarks"


def main(arguments: list[str]) -> int:
    """Run the cases that were asked for; 0 where none failed."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends what was started, too
    cases = options.case or list(CASES)
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="headgate-bench-", ignore_cleanup_errors=True) as work:
        directory = Path(work)
        with running_kafka(directory / "kafka") as servers:
            sizes = Options(records=options.records, seconds=options.seconds, rest=options.rest)
            bench = Bench(Topics(servers), sizes, directory)
            for case in cases:
                sizes.runs = options.runs or RUNS.get(case, Options.runs)
                results = _run(bench, case)
                if results is None:
                    failed.append(case)
                else:
                    report.write(options.out, _document(bench, case, results, arguments))
    if options.out == OUT:
        readme.write(PROJECT / "README.md", json.loads((OUT / f"{report.NAME}.json").read_text()))
    print(f"{options.out / report.NAME}.md" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _run(bench: Bench, case: str) -> list[Result] | None:
    """The results of a case; None where it failed."""
    print(case, flush=True)
    try:
        return CASES[case](bench)
    except (Failed, SetupError) as error:
        print(f"  FAILED: {error}", file=sys.stderr, flush=True)
    except Exception:
        # Hours of other cases must not go with one that has a defect.
        print(f"  FAILED: {traceback.format_exc()}", file=sys.stderr, flush=True)
    return None


def _document(bench: Bench, case: str, results: list[Result], arguments: list[str]) -> dict[str, Any]:
    command = shlex.join(["python", "-m", "bench", *arguments])
    return {
        "machine": machine(),
        "versions": versions(),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commands": [command],
        "cases": [case],
        "results": [result.plain() for result in results],
        "skipped": {case: bench.skipped[case]} if bench.skipped[case] else {},
        "records": {case: bench.records[case] for case in {found.case for found in results} & bench.records.keys()},
        "notes": {},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this one; may be repeated")
    parser.add_argument("--records", type=_positive, help="how many records to move, instead of each case's own size")
    parser.add_argument("--runs", type=_positive, help="how often each system does the same (default 3, recovery 5)")
    parser.add_argument("--seconds", type=float, default=120.0, help="length of a latency measurement (default 120)")
    parser.add_argument("--rest", type=float, default=120.0, help="longest wait for an idle machine (default 120 s)")
    parser.add_argument("--out", type=Path, default=OUT, help="the report's directory (docs/reference/benchmarks)")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
