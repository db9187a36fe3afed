"""`python -m tests.steps NAME... [-- COMMAND...]`: set-up, and the checks that are no pytest, side by side.

COMMAND runs among them, as a step that needs all of the set-up. Where `TEST_TIMES` names a directory, what each step
took is recorded there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane.provision import steps
from controlplane.provision.setup import SETUP, provision
from controlplane.provision.steps import Ended, Step
from tests.times import records

_BIN = Path(sys.executable).parent
CHECKS = (
    Step("lint", (str(_BIN / "ruff"), "check", ".")),
    Step("formatting", (str(_BIN / "ruff"), "format", "--check", ".")),
    Step("types", (str(_BIN / "mypy"),)),
    Step("import rules", (str(_BIN / "lint-imports"), "--no-logo")),
    Step("words", (sys.executable, "-m", "tests.words")),
    Step("check of the dashboard", provision("check-frontend"), needs=("dashboard packages",)),
)
OTHERS = (
    Step("tests of the dashboard", provision("test-frontend"), needs=("dashboard packages",)),
    Step("browser", provision("browser"), needs=("java",)),  # system packages are installed one after the other
    Step("postgres", provision("postgres"), needs=("browser",)),
)
GROUPS = {
    "setup": [step.name for step in SETUP],
    "check": [step.name for step in CHECKS],
    "vitest": ["tests of the dashboard"],
    "services": ["browser", "postgres"],
}
PLAN = (*SETUP, *CHECKS, *OTHERS)


def plan(names: Sequence[str], command: Sequence[str] = ()) -> list[Step]:
    """The steps of the named groups; all of the set-up with them, which the tests need that run next."""
    wanted = [name for group in ("setup", *names) for name in GROUPS[group]]
    last = [Step("tests", tuple(command), needs=GROUPS["setup"])] if command else []
    return [*steps.chosen(PLAN, wanted), *last]


def main(arguments: Sequence[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return steps.run(plan(arguments[:end], arguments[end + 1 :]), ended=_record)


def _record(step: Ended) -> None:
    if directory := records.directory():
        records.write(directory, records.Step(step.name, step.wall, step.cpu))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
