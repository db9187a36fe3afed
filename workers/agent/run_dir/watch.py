"""Watching the two processes without which the driver must not go on: its keeper and its JVM."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import struct
import threading
from collections.abc import Callable

from pipelines.domain.runs.protocol import KEEPER_FD_VARIABLE, Handover
from workers.agent.spark.jvm import Jvm

_LARGEST_EPOCH = 32
"""Bytes of a promotion."""


def handover() -> Handover:
    """The secrets' frame; empty where no keeper is above. Raises EOFError where it does not come whole."""
    descriptor = os.environ.get(KEEPER_FD_VARIABLE)
    if descriptor is None:
        return Handover()
    os.set_inheritable(int(descriptor), False)
    with open(int(descriptor), "rb", closefd=False, buffering=0) as pipe:
        (length,) = struct.unpack(">I", _exactly(pipe, 4))
        return Handover.model_validate_json(_exactly(pipe, length))


def _exactly(pipe: io.FileIO, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        if not (part := pipe.read(length - len(found))):
            raise EOFError("the keeper has ended")
        found += part
    return bytes(found)


def keeper(promoted: Callable[[int, int], None], lost: Callable[[], None]) -> None:
    """Listen to the keeper on the socket from which the frame was read: `promoted` hears the epoch under which it has
    taken the pipeline's lock, and the descriptor of that; `lost` hears of the socket's end, when the keeper is gone."""
    descriptor = os.environ.get(KEEPER_FD_VARIABLE)
    if descriptor is not None:
        threading.Thread(target=_listen, args=(int(descriptor), promoted, lost), name="keeper", daemon=True).start()


def _listen(descriptor: int, promoted: Callable[[int, int], None], lost: Callable[[], None]) -> None:
    with contextlib.suppress(OSError), socket.socket(fileno=descriptor) as channel:
        while (message := socket.recv_fds(channel, _LARGEST_EPOCH, 1))[0]:
            epoch, locks, *_ = message
            if locks:
                os.set_inheritable(locks[0], False)
                promoted(int(epoch), locks[0])
    lost()


def jvm(process: Jvm, lost: Callable[[int], None]) -> None:
    """Call `lost` with the wait status as soon as the JVM has ended."""
    threading.Thread(target=lambda: lost(process.process.wait()), name="jvm", daemon=True).start()
