"""Rings a bell when a process ends, through pidfds: a kill is seen at once, and not with the next tick."""

from __future__ import annotations

import os
import resource
import select
import threading
from collections.abc import Callable, Collection

from pipelines.domain.runs.protocol import ProcessIdentity

_SHARE = 4
"""The part of the process' file descriptors that may be spent on this; the ends of the rest are seen by ticks."""


class PidfdWatch:
    """`workers.ports.ProcessWatch` on Linux. `ring` is called from a thread of its own, once for each end.

    A pid that is another's by now costs a needless look and nothing else: whoever looks checks the identity.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._ends = select.epoll()
        self._handles: dict[ProcessIdentity, int] = {}
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE
        self._thread: threading.Thread | None = None

    def watch(self, processes: Collection[ProcessIdentity]) -> None:
        """Watch these from now on. Not thread-safe: for whoever ticks."""
        for gone in self._handles.keys() - set(processes):
            handle = self._handles.pop(gone)
            self._ends.unregister(handle)  # closing is not enough: a pool process may have inherited it
            os.close(handle)
        for each in processes:
            if each not in self._handles and len(self._handles) < self._most:
                self._add(each)
        if self._handles and self._thread is None:
            self._thread = threading.Thread(target=self._wait, name="process ends", daemon=True)
            self._thread.start()

    def _add(self, process: ProcessIdentity) -> None:
        try:
            handle = os.pidfd_open(process.pid)
        except OSError:
            self._ring()  # it has ended since it was seen
            return
        self._handles[process] = handle
        self._ends.register(handle, select.EPOLLIN | select.EPOLLONESHOT)

    def _wait(self) -> None:
        while True:
            if self._ends.poll():
                self._ring()
