"""Paths and servers at the moment of their use: what was opened is checked, not what its name was before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import httpcore2

from pipelines.domain.access.on_host import look_up
from pipelines.domain.access.reach import Mode, ReachPolicy

_GONE = " (deleted)"


class OutOfReach(PermissionError):
    """A path or a server that the pipeline may not reach; the text says why."""


def opened_for_reading(path: str, reach: ReachPolicy | None) -> BinaryIO:
    """A file, once it is known to be one that may be read: a link that was put in its way is noticed. Raises
    OutOfReach and OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        require(descriptor, "read", reach)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def require(descriptor: int, mode: Mode, reach: ReachPolicy | None) -> None:
    """Raises OutOfReach where what is open may not be reached."""
    if reach is not None:
        real = os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(_GONE)  # noqa: PTH115 - where it is now
        if problem := reach.path_problem(real, mode):
            raise OutOfReach(problem)


def require_path(path: str | Path, reach: ReachPolicy | None) -> None:
    """Raises OutOfReach where a path that is about to be written leads, through links, to what may not be."""
    if reach is not None and (problem := reach.path_problem(os.path.realpath(path), "write")):
        raise OutOfReach(problem)


def unlink(path: str, reach: ReachPolicy | None) -> None:
    """Remove a file from its directory, which is held open while it is checked. Raises OutOfReach and OSError."""
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
    try:
        require(directory, "write", reach)
        os.unlink(os.path.basename(path), dir_fd=directory)  # noqa: PTH119 - relative to what was checked
    finally:
        os.close(directory)


def rename(path: str, to: str, reach: ReachPolicy | None) -> None:
    """Rename a file in its directory, held as above."""
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
    try:
        require(directory, "write", reach)
        names = os.path.basename(path), os.path.basename(to)  # noqa: PTH119
        os.rename(*names, src_dir_fd=directory, dst_dir_fd=directory)
    finally:
        os.close(directory)


def allowed_addresses(host: str, port: int, reach: ReachPolicy) -> list[str]:
    """The addresses of a host, looked up now. Raises OutOfReach where one of them may not be reached, and OSError."""
    addresses = look_up(host, port)
    for address in addresses:
        if problem := reach.address_problem(host, address, port):
            raise OutOfReach(problem)
    return [str(address) for address in addresses]


class PinnedBackend(httpcore2.SyncBackend):
    """Connects to the addresses that were checked, and to no others: a second look-up cannot lead elsewhere."""

    def __init__(self, reach: ReachPolicy) -> None:
        self._reach = reach

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """As the backend of the library, to one of the checked addresses."""
        try:
            addresses = allowed_addresses(host, port, self._reach)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


def options(reach: ReachPolicy | None) -> dict[str, Any]:
    """The rules as a part of the configuration of a reader, which Spark runs in another process."""
    return {} if reach is None else {"reach": reach.model_dump(mode="json")}


def of_options(options: Mapping[str, Any]) -> ReachPolicy | None:
    """The rules in such a configuration."""
    return ReachPolicy.model_validate(options["reach"]) if "reach" in options else None
