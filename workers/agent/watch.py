"""Watching the two processes without which the driver must not go on: its keeper and its JVM."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable

from pipelines.domain.protocol import KEEPER_FD_VARIABLE
from workers.agent.jvm import Jvm


def keeper(lost: Callable[[], None]) -> None:
    """Read the secrets' frame, then call `lost` when the pipe closes, which is when the keeper is gone."""
    descriptor = os.environ.get(KEEPER_FD_VARIABLE)
    if descriptor is not None:
        threading.Thread(target=_read, args=(int(descriptor), lost), name="keeper", daemon=True).start()


def _read(descriptor: int, lost: Callable[[], None]) -> None:
    os.set_inheritable(descriptor, False)
    try:
        with os.fdopen(descriptor, "rb") as pipe:
            (length,) = struct.unpack(">I", pipe.read(4))
            pipe.read(length)
            pipe.read()
    except (OSError, struct.error):
        pass
    lost()


def jvm(process: Jvm, lost: Callable[[int], None]) -> None:
    """Call `lost` with the wait status as soon as the JVM has ended."""
    threading.Thread(target=lambda: lost(process.process.wait()), name="jvm", daemon=True).start()
