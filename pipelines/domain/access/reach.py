"""What pipelines may reach: directories, and addresses of the network. Links and names are resolved by callers."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from ipaddress import ip_network
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipelines.domain.base.addresses import Address, address_of, faces, is_reserved

Mode = Literal["read", "write"]

KERNEL = ("/proc", "/sys", "/dev")
_LISTED_ALONE = "/etc"
"""Nothing below it is allowed by a root above it."""

ALLOW_ROOT = "An administrator allows it: headgate allowed-roots add PATH --mode read or write."
ALLOW_NETWORK = "An administrator allows it: headgate allowed-networks add HOST_OR_NETWORK --ports PORTS."


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class AllowedRoot(_Frozen):
    """A directory with all below it. `write` includes reading. The last part may end with `*`."""

    path: str
    mode: Mode = "write"

    def covers(self, path: PurePosixPath) -> bool:
        """Whether a path lies in it; the root itself does."""
        root = PurePosixPath(self.path)
        if not root.name.endswith("*"):
            return path.is_relative_to(root)
        parts = path.parts[: len(root.parts)]
        return len(parts) == len(root.parts) and parts[:-1] == root.parts[:-1] and fnmatchcase(parts[-1], root.name)


class AllowedNetwork(_Frozen):
    """A network, an address or the name of a host, which may begin with `*.`; `ports`: `9092,8000-8100`, or `*`."""

    target: str
    ports: str = "*"

    def has_port(self, port: int) -> bool:
        """Whether the rule is about a port."""
        if self.ports == "*":
            return True
        ranges = (each.partition("-") for each in self.ports.split(","))
        return any(int(low) <= port <= int(high or low) for low, _, high in ranges)

    def has_address(self, address: Address) -> bool:
        """Whether it is a network or address, and this one is in it."""
        try:
            network = ip_network(self.target, strict=False)
        except ValueError:
            return False
        return address.version == network.version and address in network

    def has_name(self, host: str) -> bool:
        """Whether it is about a name."""
        return address_of(host) is None and fnmatchcase(host.lower().rstrip("."), self.target.lower())

    @property
    def is_exact(self) -> bool:
        """Whether it names one host, which may then be this machine."""
        return "*" not in self.target


class ReachPolicy(_Frozen):
    """`roots` and `networks` that are allowed. `listed_only`: no other address is reached; otherwise every one but
    reserved ones. `never`: paths that are reached by nobody; `own`: addresses and ports of Headgate's own servers, as
    `address port`."""

    roots: tuple[AllowedRoot, ...] = ()
    networks: tuple[AllowedNetwork, ...] = ()
    listed_only: bool = False
    never: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def path_problem(self, path: str, mode: Mode) -> str:
        """Why a path, without links in it, may not be reached; empty where it may."""
        place = PurePosixPath(path)
        if ".." in place.parts or not place.is_absolute():
            return f"{path} is not a plain absolute path."
        if any(place.is_relative_to(each) for each in (*self.never, *KERNEL)):
            return f"{path} belongs to Headgate or to the system; no pipeline reaches it."
        covering = [root for root in self.roots if root.covers(place) and self._reaches(root, place)]
        if not covering:
            return f"{path} is in none of the directories that pipelines may reach."
        if mode == "write" and not any(root.mode == "write" for root in covering):
            return f"{path} is in a directory that pipelines may only read."
        return ""

    @staticmethod
    def _reaches(root: AllowedRoot, place: PurePosixPath) -> bool:
        return not place.is_relative_to(_LISTED_ALONE) or PurePosixPath(root.path).is_relative_to(_LISTED_ALONE)

    def address_problem(self, host: str, address: Address, port: int) -> str:
        """Why a connection to an address, which a host was resolved to, may not be made; empty where it may."""
        return next((problem for each in faces(address) if (problem := self._problem(host, each, port))), "")

    def _problem(self, host: str, address: Address, port: int) -> str:
        shown = f"{host}:{port}" if host == str(address) else f"{host}:{port} ({address})"
        if f"{address} {port}" in self.own:
            return f"{shown} is a server of Headgate itself; no pipeline reaches it."
        if any(rule.has_port(port) and rule.has_address(address) for rule in self.networks):
            return ""
        named = [rule for rule in self.networks if rule.has_port(port) and rule.has_name(host)]
        reserved = is_reserved(address)
        if reserved and not (address.is_loopback and any(rule.is_exact for rule in named)):
            return f"{shown} is {reserved}, which pipelines do not reach."
        if self.listed_only and not named:
            return f"{shown} is in none of the networks that pipelines may reach."
        return ""

    def host_problem(self, host: str, port: int) -> str:
        """The same of a host before its name is looked up: what can be said of it anywhere."""
        address = address_of(host)
        if address is not None:
            return self.address_problem(host, address, port)
        if host.lower().rstrip(".") in {"localhost", "localhost.localdomain"}:
            loopback = address_of("127.0.0.1")
            return self.address_problem(host, loopback, port) if loopback else ""
        if self.listed_only and not any(rule.has_port(port) and rule.has_name(host) for rule in self.networks):
            known = any(address_rule(rule) and rule.has_port(port) for rule in self.networks)
            return "" if known else f"{host}:{port} is in none of the networks that pipelines may reach."
        return ""

    def with_never(self, paths: Iterable[str]) -> ReachPolicy:
        """The same, with further paths that are never reached."""
        return self.model_copy(update={"never": tuple(dict.fromkeys((*self.never, *paths)))})


def address_rule(rule: AllowedNetwork) -> bool:
    """Whether a rule is about addresses: then only a look-up tells whether a name is meant."""
    try:
        ip_network(rule.target, strict=False)
    except ValueError:
        return False
    return True
