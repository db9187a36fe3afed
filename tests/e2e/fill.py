"""`python -m tests.e2e.fill COUNT`: fill the database of the environment with `content`; prints a token.

`python -m tests.e2e.fill PART`: add one of the parts of `supervised` or `migrating`.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Set Django up first, since the rows are made of models."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    django.setup()
    from tests.e2e import content, migrating, supervised

    part = sys.argv[1]
    if part.isdigit():
        print(content.fill(int(part)))
    else:
        (supervised.PARTS | migrating.PARTS)[part]()


if __name__ == "__main__":
    main()
