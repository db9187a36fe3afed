"""`python -m tests.chaos.soak --seconds 3600 [--seed N] [--fault NAME]…`: the whole stack, one random fault every 20 s.

Ends with 1 where a record is missing, where more duplicates are there than the ledger has announced, or where the page
disagreed with the measurement for longer than 10 s.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.installation import PROJECT, installed
from tests.chaos.running import kill_those_of
from tests.chaos.small_disk import small_disk
from tests.chaos.soak.run import soak
from tests.chaos.soak.schedule import EVERY, NAMES, schedule
from tests.chaos.soak.site import prepared
from tests.chaos.soak.summary import Report, document, text
from tests.chaos.soak.truth import Patience

PIPELINES = ("orders", "carts")
DISK = "512m"
"""Room for the run directories, so that it can be filled."""


def main(arguments: Sequence[str]) -> int:
    """0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--every", type=float, default=EVERY)
    parser.add_argument("--fault", action="append", choices=NAMES, metavar="NAME")
    parser.add_argument("--out", type=Path, default=PROJECT / "var" / "soak")
    wanted = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the stack is taken down on the way out
    seed = secrets.randbelow(1_000_000) if wanted.seed is None else wanted.seed
    out = wanted.out / str(seed)
    out.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}: SEED={seed} replays it; {out} gets everything", flush=True)
    report = _soak(wanted, seed, out)
    (out / "report.json").write_text(json.dumps(document(report), indent=1) + "\n")
    (out / "report.txt").write_text(text(report))
    print(text(report))
    return 1 if report.problems() else 0


def _soak(wanted: argparse.Namespace, seed: int, out: Path) -> Report:
    strikes = schedule(seed, wanted.seconds, PIPELINES, wanted.fault or NAMES, wanted.every)
    with tempfile.TemporaryDirectory(prefix="headgate-soak-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        os.environ["TMPDIR"] = name  # by which every process of the soak is known
        stack.callback(kill_those_of, directory)
        _small(stack, directory / "stack" / "state" / "runs")
        installation = stack.enter_context(installed(directory / "stack", "--no-kafka"))
        site = stack.enter_context(prepared(installation, directory / "kafka", PIPELINES))
        try:
            return soak(
                site,
                out,
                strikes,
                seed=seed,
                seconds=wanted.seconds,
                every=wanted.every,
                patience=Patience(),
                say=lambda line: print(line, flush=True),
            )
        finally:
            (out / "stack.log").write_bytes(installation.log.read_bytes())


def _small(stack: contextlib.ExitStack, runs: Path) -> None:
    try:
        stack.enter_context(small_disk(runs, DISK))
    except OSError as error:
        print(f"No disk can be filled here, so that fault is left out: {error}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
