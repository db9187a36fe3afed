"""A standalone Spark cluster as its web pages tell it: `GET /json/` of the master and of each worker.

Source: `org.apache.spark.deploy.JsonProtocol`. The pages are asked, never believed blindly: what cannot be asked counts
as unknown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.base.causes import explain
from pipelines.domain.definitions.parts.clusters import ClusterSpec

TIMEOUT = 3.0
"""Seconds that one page may take."""
_LARGEST = 8 << 20
_DEFAULT_PORT = 8080


class Silent(Exception):
    """A page did not answer, or not with what it should say. `frozen`: it took the connection and kept quiet."""

    def __init__(self, message: str, *, frozen: bool = False) -> None:
        super().__init__(message)
        self.frozen = frozen


@dataclass(frozen=True)
class StandaloneMaster:
    """What a master says: free and all cores of its living workers, the applications that it serves, the pages of
    living workers, and the ids of those that are not alive."""

    cores: int
    free_cores: int
    applications: frozenset[str]
    workers: tuple[str, ...]
    dead: frozenset[str]


def page(cluster: ClusterSpec) -> str | None:
    """The address of a cluster's page; None where it is not one of Spark's own."""
    return (cluster.master_ui or page_of(cluster.master)) if cluster.standalone else None


def page_of(master: str) -> str:
    """The address of the first master's page, where it has the default port."""
    host = master.removeprefix("spark://").split(",")[0].rpartition(":")[0]
    return f"http://{host}:{_DEFAULT_PORT}"


def cluster(page: str) -> StandaloneMaster:
    """Ask a master. Raises Silent."""
    found = _get(page)
    try:
        alive = [worker for worker in found["workers"] if worker["state"] == "ALIVE"]
        return StandaloneMaster(
            cores=sum(worker["cores"] for worker in alive),
            free_cores=sum(worker["cores"] - worker["coresused"] for worker in alive),
            applications=frozenset(each["id"] for each in found["activeapps"]),
            workers=tuple(each["webuiaddress"] for each in alive),
            dead=frozenset(each["id"] for each in found["workers"] if each not in alive),
        )
    except (KeyError, TypeError) as error:
        raise Silent(f"{page} is not the page of a Spark master: {error!r}") from error


def dead_workers(page: str) -> frozenset[str]:
    """Workers that a master knows and that are not alive; none where it cannot be asked."""
    try:
        return cluster(page).dead
    except Silent:
        return frozenset()


def is_gone(page: str, application: str, never_on: frozenset[str] = frozenset()) -> bool:
    """Whether the master has ended an application and no worker has an executor of it left. `never_on`: workers that
    were dead before it began. Raises Silent where the master, or a worker that it knows, cannot be asked."""
    seen = cluster(page)
    if application in seen.applications:
        return False
    if seen.dead - never_on:
        raise Silent("a worker is not alive")
    return not any(application in _executors(worker) for worker in seen.workers)


def _executors(worker: str) -> frozenset[str]:
    """The applications that a worker has executors of."""
    try:
        return frozenset(each["appid"] for each in _get(worker)["executors"])
    except (KeyError, TypeError) as error:
        raise Silent(f"{worker} is not the page of a Spark worker: {error!r}") from error


def _get(page: str) -> dict[str, Any]:
    address = urlsplit(page)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=TIMEOUT)
    try:
        connection.connect()
    except OSError as error:
        raise Silent(f"{page} cannot be reached: {explain(error)}") from error
    try:
        connection.request("GET", "/json/")
        answer = json.loads(connection.getresponse().read(_LARGEST))
    except (OSError, HTTPException, ValueError) as error:
        raise Silent(f"{page} does not answer: {explain(error)}", frozen=isinstance(error, TimeoutError)) from error
    finally:
        connection.close()
    if not isinstance(answer, dict):
        raise Silent(f"{page} is not a page of Spark")
    return answer
