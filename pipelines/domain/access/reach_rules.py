"""Whether an administrator's rule about directories or networks can be one."""

from __future__ import annotations

import re
from ipaddress import ip_network

from pipelines.domain.access.reach import KERNEL

_ROOT = re.compile(r"/|(?:/[^\x00-\x1f\x7f:,*/]+)*/[^\x00-\x1f\x7f:,*/]+\*?")
_NAME = re.compile(r"(?:\*\.)?[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)*")
_PORTS = re.compile(r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?){0,63}")
_HIGHEST = 65535
LONGEST_PATH, LONGEST_TARGET = 1024, 253


def root_problem(path: str, mode: str) -> str:
    """Why a path cannot be an allowed root; empty where it can."""
    if mode not in ("read", "write"):
        return f"{mode!r} is not a mode: read or write."
    parts = path.split("/")
    if len(path) > LONGEST_PATH or not _ROOT.fullmatch(path) or {".", ".."} & set(parts):
        return f"{path!r} is not an absolute directory without . and .. in it; its last part may end with *."
    if any(path == each or path.startswith(f"{each}/") for each in KERNEL):
        return f"{path} belongs to the system; no pipeline reaches it."
    return ""


def network_problem(target: str, ports: str) -> str:
    """Why a network, an address or a name cannot be allowed; empty where it can."""
    numbers = [int(number) for number in re.findall(r"[0-9]+", ports)]
    if ports != "*" and (not _PORTS.fullmatch(ports) or not all(0 < number <= _HIGHEST for number in numbers)):
        return f"{ports!r} are no ports: write 9092, 8000-8100, several with commas between, or *."
    try:
        ip_network(target, strict=False)
    except ValueError:
        looks_like_numbers = re.fullmatch(r"[0-9.:/]+", target) is not None
        if looks_like_numbers or len(target) > LONGEST_TARGET or not _NAME.fullmatch(target):
            return f"{target!r} is no network, address or host name; a name may begin with *."
    return ""
