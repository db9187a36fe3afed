"""`python -m controlplane.rehearse`: a rehearsal by the agent's own code, with what this host gives to agents.

The request on standard input and the answer on standard output are those of `workers.agent.startup.rehearse`.
Where this host has nothing to give, the answer is `missing`.
"""

from __future__ import annotations

import json
import sys

from controlplane.install.tools.errors import SetupError
from controlplane.provision.spark import spark_settings
from workers.agent.startup import rehearse


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    try:
        spark = spark_settings()
    except SetupError as error:
        json.dump({"missing": {"detail": error.message, "hint": error.hint}}, sys.stdout)
        return
    rehearse.main(json.dumps({**request, "spark": spark.model_dump()}).encode())


if __name__ == "__main__":
    main()
