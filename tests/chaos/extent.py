"""How much of the suite runs: a short selection, or all of it with the seeds that HEADGATE_CHAOS names."""

from __future__ import annotations

import os

VARIABLE = "HEADGATE_CHAOS"
WHOLE = VARIABLE in os.environ
SEEDS = [int(seed) for seed in os.environ.get(VARIABLE, "1").split(",")]
