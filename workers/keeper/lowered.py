"""`python -m workers.keeper.lowered MODULE`: run a module without the privileges that the worker passes on."""

import os
import sys

from workers.keeper.account import give_up_privileges

if __name__ == "__main__":
    give_up_privileges()
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])  # noqa: S606 - an argv list, no shell
