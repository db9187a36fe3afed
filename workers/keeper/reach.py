"""`python -m workers.keeper.reach PATH…`: whether this process' user can run an agent; prints the first path it cannot
use."""

import os
import sys
from importlib.util import find_spec


def main(paths: list[str]) -> int:
    """0 where everything can be read; else 1."""
    try:
        import ssl  # noqa: F401 - what it loads may lie elsewhere than Python itself
    except ImportError as error:
        print(error.path or sys.base_exec_prefix)
        return 1
    found = [find_spec(name) for name in ("pyspark", "pydantic", "workers.agent.__main__")]
    packages = [spec.origin for spec in found if spec is not None and spec.origin is not None]
    if len(packages) < len(found):
        print(next(each for each in sys.path if each and not os.access(each, os.R_OK | os.X_OK)))
        return 1
    for path in [*packages, *paths]:
        if not os.access(path, os.X_OK if os.path.isdir(path) else os.R_OK):  # noqa: PTH112 - before anything is imported
            print(path)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
