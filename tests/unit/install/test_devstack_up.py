from __future__ import annotations

import os
from pathlib import Path

import pytest

from controlplane.devstack import up
from controlplane.environment import load


def test_a_port_that_was_given_for_the_page_is_one_that_no_pipeline_reaches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = up.Options(
        state=tmp_path,
        host="here",
        web_port=8123,
        redis_port=None,
        redis_url="redis://127.0.0.1:6399/0",
        kafka_port=None,
        servers="127.0.0.1:9092",
        demo=False,
        unattended=False,
        stop_agents=False,
        rate=0,
        records=0,
    )
    for name in [name for name in os.environ if name.startswith("HEADGATE_")]:
        monkeypatch.delenv(name)
    for name, value in up.environment(options, options.redis_url).items():
        monkeypatch.setenv(name, value)
    assert {"127.0.0.1 8123", "127.0.0.1 6399"} <= set(load().own_servers)
