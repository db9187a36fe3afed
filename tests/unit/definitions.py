"""A definition that uses everything there is, to change in tests."""

from __future__ import annotations

import copy
from typing import Any

ORDERS: dict[str, Any] = {
    "api_version": "headgate/v1",
    "name": "orders",
    "description": "Orders from the shop to the lake and to audit",
    "labels": {"team": "payments"},
    "sources": {
        "shop": {
            "type": "kafka",
            "bootstrap_servers": "broker:9092",
            "topics": ["orders"],
            "group_id": "headgate.orders",
            "start_from": "earliest",
            "options": {"security.protocol": "SASL_SSL", "sasl.password": "${secret:shop-kafka}"},
            "interceptors": [
                {"type": "timestamp"},
                {"type": "static", "key": "datacenter", "value": "prague"},
                {"type": "regex_filter", "regex": r"^\{", "exclude_events": False},
            ],
            "selector": {"type": "replicating", "channels": ["lake", "audit"], "optional": ["audit"]},
        }
    },
    "channels": {"lake": {"type": "direct"}, "audit": {"type": "direct"}},
    "sinks": {
        "lake": {"type": "kafka", "channel": "lake", "bootstrap_servers": "broker:9092", "topic": "orders.clean"},
        "audit": {"type": "file", "channel": "audit", "path": "/data/audit"},
    },
    "sink_groups": {"lake": {"sinks": ["lake"], "processor": {"type": "default"}}},
    "delivery": {"mode": "micro_batch", "trigger_interval_ms": 100},
    "lifecycle": {"drain_timeout": "60s"},
    "placement": {"host": "any", "launcher": {"type": "local", "cores": 4, "driver_memory": "512m"}},
}


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The definition with the value at each dotted path replaced; None removes."""
    data = copy.deepcopy(ORDERS)
    for path, value in changes.items():
        *parents, last = path.split("/")
        here: Any = data
        for part in parents:
            here = here[int(part) if isinstance(here, list) else part]
        key: Any = int(last) if isinstance(here, list) else last
        if value is None:
            del here[key]
        else:
            here[key] = value
    return data
