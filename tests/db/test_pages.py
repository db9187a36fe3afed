"""The page's document, static files and the questions of a load balancer."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db


def test_without_a_build_the_page_says_how_to_make_one(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    response = client.get("/")
    assert response.status_code == 503
    assert b"make setup" in response.content


@pytest.mark.parametrize("path", ["/", "/pipelines/orders", "/login", "/anything/else?x=1"])
def test_every_other_address_is_the_page(client: Client, settings: Settings, tmp_path: Path, path: str) -> None:
    settings.FRONTEND_DIST = tmp_path
    (tmp_path / "index.html").write_text("<!doctype html>")
    response = client.get(path)

    assert (response.status_code, response.getvalue()) == (200, b"<!doctype html>")
    assert response.headers["Cache-Control"] == "no-cache"
    assert "csrftoken" in response.cookies


@pytest.mark.parametrize("path", ["/assets/missing.js", "/static/missing.css", "/api", "/api/v2/pipelines"])
def test_a_missing_file_or_route_is_not_the_page(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_the_page_is_only_read(client: Client) -> None:
    assert client.post("/").status_code == 405


def test_the_process_is_healthy_and_ready_without_redis(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    response = client.get("/readyz")
    assert response.json() == {"status": "ok", "checks": {"database": "ok", "redis": "unreachable"}}


def test_without_a_database_it_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("gone")

    monkeypatch.setattr("controlplane.pages._ask_database", fail)
    assert client.get("/readyz").status_code == 503


def test_the_documentation_of_the_api_brings_its_own_scripts(admin_client: Client) -> None:
    page = admin_client.get("/api/docs").content.decode()
    assert "/static/drf_spectacular_sidecar/" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<script>" not in page
    asset = page.split('src="')[1].split('"')[0]
    response = admin_client.get(asset)
    assert response.status_code == 200
    assert "Access-Control-Allow-Origin" not in response.headers
