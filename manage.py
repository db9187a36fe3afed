#!/usr/bin/env python
"""Django's command line for Headgate."""

import os
import sys


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    from django.core.management import execute_from_command_line

    from controlplane.environment import InvalidEnvironment
    from pipelines.foundation.privacy import close_umask

    close_umask()
    try:
        execute_from_command_line(sys.argv)
    except InvalidEnvironment as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
