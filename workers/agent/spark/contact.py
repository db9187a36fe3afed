"""`python -m workers.agent.spark.contact`: connect to a cluster's servers, in a process that ends with the answer.

The cluster is one JSON object on standard input, the answer one on standard output. No session starts and nothing is
submitted. Bounded by its connections; whoever asks has a deadline of his own, since a look-up of a name has none.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from pipelines.domain.base.causes import explain
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.hosts.connection_tests import ConnectionResult, ServerContact, StandaloneCluster, left_open
from workers.agent.spark import standalone

CONNECT_TIMEOUT = 3.0
UNREACHABLE = "MASTER_UNREACHABLE"
ADVICE = "Check that it runs, that this host can reach it, and that it has the same Spark version."
_PORTS = {"https": 443, "http": 80}
_AT_ONCE = 8


def addresses(master: str) -> list[tuple[str, int]]:
    """The servers that a master's URL names; none for YARN, whose address is not in it."""
    if master.startswith("spark://"):
        pairs = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
        return [(host.strip("[]"), int(port)) for host, _, port in pairs]
    if master.startswith("k8s://"):
        address = urlsplit(master.removeprefix("k8s://"))
        return [(address.hostname or "", address.port or _PORTS[address.scheme])]
    return []


def connect(address: tuple[str, int]) -> ServerContact:
    """Connect to one server, and hang up."""
    begun, detail = time.perf_counter(), ""
    try:
        socket.create_connection(address, CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        detail = explain(error)
    took = round((time.perf_counter() - begun) * 1000, 1)
    return ServerContact(server="{}:{}".format(*address), reached=not detail, milliseconds=took, detail=detail)


def silence(servers: Sequence[ServerContact]) -> str:
    """Why none of them was reached; empty where one was, or none is known."""
    if any(each.reached for each in servers):
        return ""
    return "; ".join(f"{each.server}: {each.detail}" for each in servers)


def unreachable(master: str, cause: str) -> str:
    """What to say of a master that cannot be used."""
    return f"The Spark master {master} cannot be used: {cause}"


def test(spec: ClusterSpec) -> ConnectionResult:
    """Connect to every server at once, and ask a standalone master for its page."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        servers = list(pool.map(connect, addresses(spec.master)))
    result = ConnectionResult(servers=servers, unchecked=left_open(spec))
    if cause := silence(servers):
        return _failed(result, spec, cause)
    page = standalone.page(spec)
    return _with_page(result, spec, page) if page else result


def _with_page(result: ConnectionResult, spec: ClusterSpec, page: str) -> ConnectionResult:
    """A page may be closed to this host, which keeps no pipeline from its start; a master that takes a connection and
    stays quiet hangs."""
    try:
        seen = standalone.cluster(page)
    except standalone.Silent as silent:
        if silent.frozen:
            return _failed(result, spec, str(silent))
        unasked = f"Workers and cores, and whether executors of an ended run are gone: {silent}"
        return result.model_copy(update={"unchecked": [unasked, *result.unchecked]})
    found = StandaloneCluster(
        workers=len(seen.workers),
        dead_workers=len(seen.dead),
        cores=seen.cores,
        free_cores=seen.free_cores,
        applications=len(seen.applications),
    )
    result = result.model_copy(update={"standalone": found})
    if found.workers:
        return result
    words = f"The Spark master {spec.master} answers and has no worker, so that no pipeline gets executors."
    return result.model_copy(
        update={"code": "NO_WORKERS", "message": words, "hint": "Start workers, and check that they name this master."}
    )


def _failed(result: ConnectionResult, spec: ClusterSpec, cause: str) -> ConnectionResult:
    words = {"code": UNREACHABLE, "message": unreachable(spec.master, cause), "hint": ADVICE}
    return result.model_copy(update=words)


def main() -> None:
    """Read the cluster, write the answer."""
    spec = ClusterSpec.model_validate_json(sys.stdin.buffer.read())
    sys.stdout.write(test(spec).model_dump_json())
    sys.stdout.flush()


if __name__ == "__main__":
    code = 1
    try:
        main()
        code = 0
    except BaseException:
        sys.stderr.write(traceback.format_exc(limit=5))
    sys.stderr.flush()
    os._exit(code)  # a look-up of a name that hangs must not keep the process
