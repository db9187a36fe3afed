"""The machine that was measured on, and the wait until it is idle enough to measure again."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.peers import CONNECT_VERSION, FLUME_VERSION
from controlplane.install.tools.jars import KAFKA_BROKER, read_lock
from controlplane.install.tools.java import find_java

_LOOK = 2.0
_BUSY_PERCENT = 15.0


def machine() -> dict[str, str | int | float]:
    """What a reader needs to judge the figures."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "system": _system(),
    }


def versions() -> dict[str, str]:
    """Of everything that takes part."""
    broker = read_lock()[KAFKA_BROKER]["roots"][0].rpartition(":")[2]
    return {
        "headgate": version("headgate"),
        "spark": version("pyspark"),
        "python": platform.python_version(),
        "java": find_java().banner.splitlines()[0],
        "kafka_broker": broker,
        "flume": FLUME_VERSION,
        "kafka_connect": CONNECT_VERSION,
    }


def cool_down(longest: float) -> float:
    """Wait until the processors rest, `longest` seconds at most; returns how busy they were in the end, in per cent."""
    deadline = time.monotonic() + longest
    while (busy := psutil.cpu_percent(interval=_LOOK)) > _BUSY_PERCENT and time.monotonic() < deadline:
        continue
    return busy


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _system() -> str:
    lines = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return lines.get("PRETTY_NAME", platform.system()).strip('"')
