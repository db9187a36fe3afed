"""What pipelines may reach as far as the environment says it; administrators say the rest."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Literal, cast

from pydantic import BaseModel, field_validator

from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, Mode
from pipelines.domain.access.reach_rules import network_problem, root_problem


class ReachSettings(BaseModel):
    """`allowed_roots`: directories that pipelines may read and write, `PATH:read` to read alone, separated by commas.
    `allowed_networks`: networks and hosts that they may connect to although these are reserved.
    `reach`: with `listed`, they connect to allowed networks and hosts and to no others."""

    allowed_roots: str = ""
    allowed_networks: str = ""
    reach: Literal["open", "listed"] = "open"

    @field_validator("allowed_roots")
    @classmethod
    def _are_roots(cls, value: str) -> str:
        for root in roots_of(value):
            if problem := root_problem(root.path, root.mode):
                raise ValueError(problem)
        return value

    @field_validator("allowed_networks")
    @classmethod
    def _are_hosts(cls, value: str) -> str:
        for network in networks_of(value):
            if problem := network_problem(network.target, network.ports):
                raise ValueError(problem)
        return value


def roots_of(text: str) -> list[AllowedRoot]:
    """The directories between the commas."""
    parts = [each.strip().partition(":") for each in text.split(",") if each.strip()]
    return [
        AllowedRoot.model_construct(path=path.rstrip("/") or "/", mode=cast(Mode, mode or "write"))
        for path, _, mode in parts
    ]


def networks_of(text: str) -> list[AllowedNetwork]:
    """The networks and hosts between the commas, each about all ports."""
    return [AllowedNetwork(target=canonical_target(each.strip())) for each in text.split(",") if each.strip()]


def canonical_target(text: str) -> str:
    """A network as it is written best, a name in lower case."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return text.lower().rstrip(".")
