"""`python -m workers.keeper RUNDIR`: detach, run the driver, and record how it ended."""

import sys
from pathlib import Path

from workers.keeper.keeper import main

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
