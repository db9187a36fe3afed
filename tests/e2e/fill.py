"""`python -m tests.e2e.fill COUNT`: fill the database of the environment with `content`; prints a token."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Set Django up first, since the rows are made of models."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    django.setup()
    from tests.e2e.content import fill

    print(fill(int(sys.argv[1])))


if __name__ == "__main__":
    main()
