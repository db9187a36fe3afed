"""`python -m tests.chaos [--fault N]… [--seeds 1,2] [--short]`: run the tests of faults, and write the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.chaos.faults import FAULTS, Fault, in_order
from tests.chaos.report import result, verdict, write
from tests.chaos.running import run_tests


def main(arguments: Sequence[str]) -> int:
    """0 when every fault that was run has passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--fault", type=int, action="append", choices=[each.number for each in FAULTS], metavar="N")
    parser.add_argument("--seeds", default="1,2", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--short", action="store_true", help="only the cases that `make test` runs")
    wanted = parser.parse_args(arguments)
    faults = [each for each in FAULTS if not wanted.fault or each.number in wanted.fault]
    seeds = [] if wanted.short else wanted.seeds
    outcomes = run_tests(in_order({test for each in faults for test in each.tests}), seeds)
    rows = [result(each, outcomes, short=wanted.short) for each in faults]
    write(rows, wanted.seeds)
    print(table(faults, rows))
    return 0 if all(row["passed"] is not False for row in rows) else 1


def table(faults: Sequence[Fault], rows: Sequence[dict[str, object]]) -> str:
    """What is printed at the end."""
    return "\n".join(f"{each.number:3} {each.name}: {verdict(row)}" for each, row in zip(faults, rows, strict=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
