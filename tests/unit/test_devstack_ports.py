from __future__ import annotations

import socket

import pytest

from controlplane.devstack.ports import LOOPBACK, free_port, is_free, require_free
from controlplane.provision.errors import SetupError


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
