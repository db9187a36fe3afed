"""Why no broker answers: a look-up itself says only that it timed out."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

PATIENCE = 2.0
"""Seconds that a client may take to say why it cannot connect."""
_LOGIN = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
_SAYS_NOTHING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT}
_BROKER = re.compile(r"^\S+/(?:bootstrap|\d+): ")
_WHEN = re.compile(r" \(after .*\)$")


def cause(settings: Mapping[str, Any], logger: Any) -> KafkaError | None:
    """What keeps a client of these settings from its brokers; None where it does not say so in time.

    A client of its own is asked, since one that has a listener for errors must be polled as long as it lives.
    """
    told: list[KafkaError] = []
    listening: dict[str, Any] = {**settings, "error_cb": told.append}
    client = AdminClient(listening, logger=logger)
    client.describe_cluster(request_timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            client.poll(0.1)
        except KafkaException:
            return None
        for error in told:
            if error.code() not in _SAYS_NOTHING:
                return error
    return None


def is_login(error: KafkaError) -> bool:
    """Whether the broker turns user name, password or mechanism away: waiting does not help."""
    return error.code() in _LOGIN


def words(error: KafkaError) -> str:
    """The cause without what differs from one try to the next."""
    return _WHEN.sub("", _BROKER.sub("", str(error.str())))
