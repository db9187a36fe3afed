"""The frame of secrets: in from the supervisor on standard input, on to the driver by a pipe; nothing of it on disk.

A frame is its length in four bytes, big endian, then JSON: `values` by reference, and `masked`, the texts that the log
must not show.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import threading
import time

LENGTH = struct.Struct(">I")
EMPTY = LENGTH.pack(2) + b"{}"
_LARGEST = 64 << 20
_TIMEOUT = 8.0
"""Seconds; shorter than the supervisor waits for a keeper to detach."""


def receive(descriptor: int, timeout: float = _TIMEOUT) -> bytes | None:
    """Read one frame; None where it does not arrive whole in `timeout` seconds."""
    deadline = time.monotonic() + timeout
    head = _read(descriptor, LENGTH.size, deadline)
    if head is None or (length := LENGTH.unpack(head)[0]) > _LARGEST:
        return None
    body = _read(descriptor, length, deadline)
    return None if body is None else head + body


def _read(descriptor: int, length: int, deadline: float) -> bytes | None:
    found = bytearray()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while len(found) < length:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        if not (part := os.read(descriptor, length - len(found))):
            return None
        found += part
    return bytes(found)


def masked(frame: bytes) -> list[bytes]:
    """The texts that must not be shown. Raises ValueError where the frame is no JSON object."""
    document = json.loads(frame[LENGTH.size :])
    if not isinstance(document, dict):
        raise ValueError("the frame is not an object")
    return [str(text).encode() for text in document.get("masked", [])]


def pass_on(pipe: int, frame: bytes) -> None:
    """Write the frame from a thread of its own, since a driver that does not read must not hold its keeper up."""
    threading.Thread(target=_write, args=(pipe, frame), name="handover", daemon=True).start()


def _write(pipe: int, frame: bytes) -> None:
    left = memoryview(frame)
    with contextlib.suppress(OSError):
        while left:
            left = left[os.write(pipe, left) :]
