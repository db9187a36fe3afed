"""The right to supervise a host, and the refusal of whoever has lost it.

The lease on a host's row has an epoch that grows whenever another process takes it. `holding` makes a lease known to
everything that a tick calls; `fenced` is a transaction that begins by comparing that epoch with the row's, so that a
supervisor that was stopped past its lease and continued changes nothing. Requests of people hold no lease and are not
compared with one: they are compare-and-swap on what they saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from pipelines.models import Host
from pipelines.selectors.base.prepared import Prepared, given

P = ParamSpec("P")
R = TypeVar("R")


_still_held = Prepared(
    lambda: (
        Host.objects.select_for_update(no_key=True).filter(name=given("host"), lease_epoch=given("epoch")).only("name")
    )
)


class Fenced(Exception):
    """The lease is somebody else's, or has expired; nothing was written."""


@dataclass(frozen=True)
class Lease:
    """The right to supervise `host`. `expires`: CLOCK_BOOTTIME after which another may have taken it."""

    host: str
    epoch: int
    expires: float


@dataclass
class _Held:
    lease: Lease
    boottime: Callable[[], float]
    checked: bool = False


_held: ContextVar[_Held | None] = ContextVar("lease", default=None)


@contextmanager
def holding(lease: Lease, boottime: Callable[[], float]) -> Iterator[None]:
    """Act under a lease. `boottime` reads CLOCK_BOOTTIME."""
    token = _held.set(_Held(lease, boottime))
    try:
        yield
    finally:
        _held.reset(token)


def epoch() -> int:
    """The epoch of the lease that is held; 0 without one."""
    held = _held.get()
    return held.lease.epoch if held else 0


def require_time() -> None:
    """Before anything is done to processes or files: raises Fenced where the lease has expired by now."""
    held = _held.get()
    if held is not None and held.boottime() >= held.lease.expires:
        raise Fenced(f"the lease of {held.lease.host} has expired")


def fenced(write: Callable[P, R]) -> Callable[P, R]:
    """A transaction that raises Fenced, and writes nothing, unless the lease that is held is still the host's.

    The row stays locked until the end, so nobody can take the lease in between; one comparison serves nested writes.
    """

    @wraps(write)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        held = _held.get()
        with transaction.atomic():
            if held is None or held.checked:
                return write(*args, **kwargs)
            _require(held.lease)
            held.checked = True
            try:
                return write(*args, **kwargs)
            finally:
                held.checked = False

    return guarded


def _require(lease: Lease) -> None:
    if not _still_held(host=lease.host, epoch=lease.epoch):
        raise Fenced(f"the lease of {lease.host} was taken by another supervisor")
