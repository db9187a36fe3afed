"""The production shape in docker-compose.yml: checked as data, and by the compose client where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[3]
FILE = PROJECT / "docker-compose.yml"
SECRETS = {"HEADGATE_SECRET_KEY": "a", "POSTGRES_PASSWORD": "b", "REDIS_PASSWORD": "c"}


def services() -> dict[str, Any]:
    parsed: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())
    return parsed["services"]


def test_every_service_that_stays_has_a_health_check_and_comes_back() -> None:
    staying = {name: service for name, service in services().items() if name != "migrate"}
    assert set(staying) == {"web", "worker", "beat", "postgres", "redis", "kafka"}
    assert [name for name, service in staying.items() if "healthcheck" not in service] == []
    assert {service["restart"] for service in staying.values()} == {"unless-stopped"}


def test_secrets_are_required_references_and_never_values() -> None:
    text = FILE.read_text()
    for name in SECRETS:
        assert re.search(rf"\$\{{{name}:\?", text)
    values = re.findall(r"^ *\w*(?:PASSWORD|SECRET_KEY): (\S+)", text, flags=re.MULTILINE)
    assert values
    assert all(value.startswith("${") for value in values)


def test_only_the_page_is_published_and_on_the_loopback_interface_unless_asked() -> None:
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert published == {"web": ["${HEADGATE_WEB_BIND:-127.0.0.1}:${HEADGATE_WEB_PORT:-8000}:8000"]}


def test_images_that_are_pulled_are_pinned_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", (PROJECT / "Dockerfile").read_text(), flags=re.MULTILINE)
    pulled = {service["image"] for service in services().values() if "build" not in service}
    assert len(pulled) == 3
    assert [image for image in (*bases, *pulled) if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)] == []


def test_cookies_are_sent_by_https_alone_unless_asked() -> None:
    assert services()["web"]["environment"]["HEADGATE_HTTPS"] == "${HEADGATE_HTTPS:-true}"


def test_the_compose_client_accepts_the_file_where_there_is_one() -> None:
    if not _has_compose():
        assert yaml.safe_load(FILE.read_text())["name"] == "headgate"
        return
    environment = {**os.environ, **SECRETS}
    subprocess.run(["docker", "compose", "config", "--quiet"], cwd=PROJECT, env=environment, check=True, timeout=60)


def _has_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    return (
        subprocess.run(["docker", "compose", "version"], capture_output=True, timeout=60, check=False).returncode == 0
    )
