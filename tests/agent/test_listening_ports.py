"""No port of an agent takes orders or objects from a user of the machine who does not know the run's secrets."""

from __future__ import annotations

import socket
import struct
from typing import Any

import psutil
from pyspark.sql import SparkSession

from controlplane.install.services.ports import free_port
from tests.agent.listening import SECONDS, is_failure, is_loopback, listening, marker, one_way, request, send


def ports(session: SparkSession) -> dict[int, str]:
    """What listens in the JVM and its Python workers, and for them in this process, which has ports of other tests."""
    context = session.sparkContext
    server: Any = context._accumulatorServer
    address, port = server.server_address
    return listening(context._jvm.java.lang.ProcessHandle.current().pid()) | {port: address}  # type: ignore[union-attr]


def busy(session: SparkSession) -> dict[int, str]:
    """What listens once tasks, a shuffle and Python workers have been at work."""
    assert session.range(100).repartition(3).count() == 100
    assert session.range(10).rdd.map(lambda row: row.id + 1).sum() == 55
    return ports(session)


def daemon_ports(session: SparkSession) -> set[int]:
    """The ports of the daemons that fork Python workers: one for each environment that tasks have asked for."""
    jvm = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    daemons = [each.pid for each in psutil.Process(jvm).children() if "-m" in each.cmdline()]
    assert daemons
    return {port for daemon in daemons for port in listening(daemon)}


def spark_ports(session: SparkSession) -> set[int]:
    """The ports of the driver and of its block manager, which speak Spark's own protocol."""
    blocks = session.sparkContext._jvm.org.apache.spark.SparkEnv.get().blockManager().blockManagerId()  # type: ignore[union-attr]
    return {int(session.sparkContext.getConf().get("spark.driver.port") or 0), blocks.port()}


def test_every_port_is_known_and_on_the_loopback_interface(session: SparkSession) -> None:
    context = session.sparkContext
    found = busy(session)
    gateway = context._gateway.gateway_parameters.port  # type: ignore[union-attr]
    accumulators: int = context._accumulatorServer.server_address[1]  # type: ignore[assignment,index]
    known = {gateway, accumulators, *spark_ports(session)}
    assert known <= found.keys()
    assert found.keys() - known == daemon_ports(session), (
        "beside them, daemons that fork Python workers have a port each"
    )
    assert [each for each in found.items() if not is_loopback(each[1])] == []


def test_no_port_reads_a_serialised_object_of_a_stranger(session: SparkSession) -> None:
    opened = free_port()
    found = busy(session)
    answers = {port: send(port, one_way(port, marker(opened)) + request(marker(opened))) for port in found}
    assert opened not in ports(session), "a stranger's object was deserialised"
    assert spark_ports(session) <= {port for port, answer in answers.items() if is_failure(answer)}, answers


def test_the_gateway_and_the_server_of_accumulators_ask_for_their_secret(session: SparkSession) -> None:
    context = session.sparkContext
    gateway = context._gateway
    assert gateway is not None
    before = context._jvm.System.getProperty("headgate.probe")  # type: ignore[union-attr]
    order = "c\nz:java.lang.System\nsetProperty\nsheadgate.probe\nsreached\ne\n"
    send(gateway.gateway_parameters.port, order.encode())
    assert context._jvm.System.getProperty("headgate.probe") == before is None  # type: ignore[union-attr]
    server = context._accumulatorServer
    assert server.auth_token
    assert send(server.server_address[1], b"x" * len(server.auth_token) + struct.pack(">i", 0)) == b""


def test_a_silent_stranger_keeps_no_port_from_the_jvm(session: SparkSession) -> None:
    server = session.sparkContext._accumulatorServer
    port: int = server.server_address[1]  # type: ignore[assignment,index]
    with socket.create_connection(("127.0.0.1", port), SECONDS):
        assert send(port, str(server.auth_token).encode() + struct.pack(">i", 0)) == b"\x01"


def test_python_workers_ask_for_their_secret(session: SparkSession) -> None:
    ours = {int(session.sparkContext._gateway.gateway_parameters.port)}  # type: ignore[union-attr]
    before = busy(session)
    wrong = b"not the secret"
    answers = {port: send(port, struct.pack(">i", len(wrong)) + wrong) for port in before.keys() - ours}
    assert struct.pack(">i", 2) + b"ok" not in answers.values(), answers
    assert busy(session)
