"""`python -m controlplane.simulation PLAN`: one simulation in the empty database that the environment names.

The plan is JSON; progress goes to standard error, the page to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial


def main(plan: str) -> int:
    """Migrate, simulate, report; 1 where something does not hold, or where the database is somebody's."""
    import django
    from django.core.management import call_command

    django.setup()
    from django.db import connection

    say = partial(print, file=sys.stderr, flush=True)
    if connection.introspection.table_names():
        say("FAILED: The database is not empty. A simulation fills it with pipelines; name another one.")
        return 1
    call_command("migrate", verbosity=0)
    from controlplane.simulation.phases import Plan, Simulation, SimulationFailed
    from controlplane.simulation.report import markdown

    given = Plan(**json.loads(plan))
    try:
        measured = Simulation(given, say).run()
    except SimulationFailed as failed:
        say(f"FAILED: {failed}")
        return 1
    sys.stdout.write(markdown(given, measured, connection.vendor))
    return 0


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
    sys.exit(main(sys.argv[1]))
