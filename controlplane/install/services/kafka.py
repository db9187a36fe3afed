"""An embedded Kafka: one KRaft process that is broker and controller, for development, demos and tests.

Source: the Apache Kafka quick start (format the storage once, then run `kafka.Kafka`).
"""

from __future__ import annotations

import base64
import logging
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from controlplane.install.services.child import Service, running
from controlplane.install.services.ports import LOOPBACK, free_port
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.jars import KAFKA_BROKER, class_path
from controlplane.install.tools.java import find_java

_JVM = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
# The session timeout is how long a broker that was killed keeps its own next life from registering.
_CONFIG = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={log_dir}
num.partitions=4
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
"""
_LOGGING = """\
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%p %m (%c{1})%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
"""


def bootstrap_servers(port: int) -> str:
    return f"{LOOPBACK}:{port}"


def kafka_service(*, data_dir: Path, port: int, extra: str = "", users: Sequence[str] = ()) -> Service:
    """Write the configuration, format the storage on first use, and describe the broker on 127.0.0.1:`port`.

    `extra`: lines of configuration that win over ours. `users`: SCRAM credentials as StorageTool takes them.
    Raises SetupError when Java or the jars are missing or the storage cannot be formatted.
    """
    config = _configure(data_dir, port, extra)
    java = [str(find_java().executable), *_JVM, f"-Dlog4j2.configurationFile={data_dir / 'log4j2.properties'}"]
    java += ["-cp", class_path(KAFKA_BROKER)]
    if not (data_dir / "log" / "meta.properties").exists():
        _format(java, config, users)
    return Service(
        "kafka",
        [*java, "kafka.Kafka", str(config)],
        is_ready=lambda: _answers(bootstrap_servers(port)),
        stop_timeout=30,
    )


@contextmanager
def running_kafka(
    data_dir: Path, port: int | None = None, *, extra: str = "", users: Sequence[str] = ()
) -> Iterator[str]:
    """Run a broker, on a free port unless one is given; yields its bootstrap servers."""
    port = port or free_port()
    with running(kafka_service(data_dir=data_dir, port=port, extra=extra, users=users), data_dir / "kafka.log"):
        yield bootstrap_servers(port)


def _configure(data_dir: Path, port: int, extra: str) -> Path:
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "log4j2.properties").write_text(_LOGGING)
    config = data_dir / "server.properties"
    values = {"host": LOOPBACK, "port": port, "controller_port": free_port(), "log_dir": data_dir.absolute() / "log"}
    config.write_text(_CONFIG.format(**values) + extra.format(**values))
    return config


def _format(java: list[str], config: Path, users: Sequence[str]) -> None:
    command = [*java, "kafka.tools.StorageTool", "format", "--cluster-id", _cluster_id(), "--config", str(config)]
    command += [part for user in users for part in ("--add-scram", user)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != 0:
        raise SetupError(
            f"Kafka could not format its storage: {(result.stderr or result.stdout).strip()[-500:]}",
            f"If {config.parent} holds nothing that you need, remove it and start again.",
        )


def _cluster_id() -> str:
    """A new one for each storage, as Kafka writes them, so that a cluster that is replaced is seen to be another; one
    that begins with a dash would be taken for an option."""
    made = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return made if not made.startswith("-") else _cluster_id()


def _answers(servers: str) -> bool:
    silent = logging.getLogger(f"{__name__}.probe")
    silent.propagate = False
    client = AdminClient({"bootstrap.servers": servers, "socket.timeout.ms": 1000, "log_level": 0}, logger=silent)
    try:
        return bool(client.list_topics(timeout=1).brokers)
    except KafkaException:
        return False
