"""What a definition would reach on this host: paths with their links followed, names with their addresses."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.uses import AddressUse, PathUse, Use, finding, uses
from pipelines.domain.base.addresses import Address, address_of
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.spec import Definition

Resolve = Callable[[str, int], Sequence[Address]]


def look_up(host: str, port: int) -> list[Address]:
    """The addresses of a name. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = (address_of(str(place[0]).partition("%")[0]) for *_, place in found)
    return list(dict.fromkeys(each for each in addresses if each is not None))


def on_this_host(definition: Definition, policy: ReachPolicy, resolve: Resolve = look_up) -> list[Finding]:
    """A finding for each path and address that the policy does not allow. A name that is not known now is no finding:
    the components themselves say so."""
    return [finding(use, problem) for use in uses(definition) if (problem := problem_of(use, policy, resolve))]


def problem_of(use: Use, policy: ReachPolicy, resolve: Resolve = look_up) -> str:
    """Why a path or an address may not be used; empty where it may."""
    if isinstance(use, PathUse):
        return policy.path_problem(use.value, use.mode) or policy.path_problem(os.path.realpath(use.value), use.mode)
    return server_problem(use, policy, resolve)


def server_problem(use: AddressUse, policy: ReachPolicy, resolve: Resolve) -> str:
    """The same of a server: every address that its name has must be allowed."""
    if problem := policy.host_problem(use.host, use.port):
        return problem
    try:
        addresses = resolve(use.host, use.port)
    except (OSError, UnicodeError):
        return ""
    found = (policy.address_problem(use.host, each, use.port) for each in addresses)
    return next((problem for problem in found if problem), "")
