"""The worker as a program: `python -m controlplane.worker worker -Q control,host.<name> --pool threads -B`.

It is Celery's own with our app, which `celery -A` would look for in the current directory first.
"""

from __future__ import annotations

import sys

from controlplane.celery import app

if __name__ == "__main__":
    sys.exit(app.start(sys.argv[1:]))
