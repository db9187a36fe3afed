from __future__ import annotations

import socket
from pathlib import Path

import pytest

from controlplane.install.services import ports
from controlplane.install.services.ports import LOOPBACK, free_port, is_free, require_free
from controlplane.install.tools.errors import SetupError


def test_a_busy_port_names_its_purpose_the_flag_and_the_variable() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SetupError) as raised:
            require_free(port, what="Kafka", flag="--kafka-port", variable="HEADGATE_KAFKA_PORT")
    assert f"Port {port} on 127.0.0.1, wanted for Kafka, is in use." in str(raised.value)
    assert "--kafka-port PORT, or HEADGATE_KAFKA_PORT=PORT" in str(raised.value)


def test_a_free_port_is_free() -> None:
    assert is_free(free_port())


def test_a_port_is_given_once_and_none_that_the_kernel_may_give_to_others() -> None:
    given = [free_port() for _ in range(300)]
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert len(set(given)) == len(given)
    assert max(given) < first or first <= 20_000


def test_where_the_kernel_gives_all_ports_one_of_those_must_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "range").write_text("1024\t65535\n")
    monkeypatch.setattr(ports, "_KERNELS", tmp_path / "range")
    assert len({free_port() for _ in range(5)}) > 1
