"""`python -m bench.control.child CASE OUT`: one case in the database that the environment names, figures to a file.

A process of its own for each case: settings are read once, and no case inherits another's memory.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TICKS = "HEADGATE_BENCH_TICKS"
RUNS = "HEADGATE_BENCH_RUNS"


def main(case: str, out: Path) -> None:
    """Migrate, measure, write."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from django.conf import settings

    from bench.control.cases import CASES
    from bench.control.stage import Stage

    stage = Stage(settings.HEADGATE.state, int(os.environ[TICKS]), int(os.environ[RUNS]))
    out.write_text(json.dumps({metric: list(values) for metric, values in CASES[case](stage).items()}))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    main(sys.argv[1], Path(sys.argv[2]))
