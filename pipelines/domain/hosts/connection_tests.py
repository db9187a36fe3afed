"""What a test of the connection to a Spark cluster has found on one host. Pure."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel

from pipelines.domain.definitions.parts.clusters import ClusterSpec

SECONDS = 10.0
"""What a test may take on its host."""


class ConnectionState(StrEnum):
    """What is known of the connection from a host. Only a test of the present version makes it reachable."""

    NOT_CHECKED = "NOT_CHECKED"
    CHECKING = "CHECKING"
    REACHABLE = "REACHABLE"
    FAILED = "FAILED"


class ServerContact(BaseModel):
    """One server that was connected to. `detail`: why it could not be."""

    server: str
    reached: bool
    milliseconds: float
    detail: str = ""


class StandaloneCluster(BaseModel):
    """What the web page of a standalone master says."""

    workers: int
    dead_workers: int
    cores: int
    free_cores: int
    applications: int


class ConnectionResult(BaseModel):
    """What a host has found. `code`, `message` and `hint`: why the cluster cannot be used from it, or empty.
    `standalone`: None where no page has answered. `unchecked`: what the test leaves open, a sentence each."""

    servers: list[ServerContact]
    standalone: StandaloneCluster | None = None
    code: str = ""
    message: str = ""
    hint: str = ""
    unchecked: list[str] = []

    @property
    def state(self) -> ConnectionState:
        """Reachable only where a server has answered."""
        if self.code:
            return ConnectionState.FAILED
        reached = any(each.reached for each in self.servers)
        return ConnectionState.REACHABLE if reached else ConnectionState.NOT_CHECKED


def left_open(spec: ClusterSpec) -> list[str]:
    """What no connection from a host shows of a cluster."""
    if spec.master == "yarn":
        return [
            "The address of YARN is in the Hadoop configuration of the host: the first start of a pipeline checks it."
        ]
    found = ["The connection from executors back to the driver: a start checks it."]
    if spec.master.startswith("k8s://"):
        return ["The certificate, the login and the rights in the namespace: a start checks them.", *found]
    secret = "The cluster secret and the Spark version" if spec.cluster_secret else "The Spark version"
    return [f"{secret}: a start checks {'them' if spec.cluster_secret else 'it'}.", *found]
