"""The page's document, static files and the questions of a load balancer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.settings import BASE_DIR

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


def test_a_browser_is_told_what_to_read_while_it_loads_the_scripts(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.FRONTEND_DIST = tmp_path
    (tmp_path / "index.html").write_text("<!doctype html>")
    session = "</api/v1/session>; rel=preload; as=fetch; crossorigin"
    listed = f"{session}, </api/v1/pipelines?limit=1000>; rel=preload; as=fetch; crossorigin"

    assert client.get("/").headers["Link"] == session  # nobody is logged in: the list would be refused
    client.cookies[settings.SESSION_COOKIE_NAME] = "of somebody"
    assert [client.get(path).headers["Link"] for path in ("/", "/fleet")] == [listed, listed]
    assert client.get("/pipelines/orders").headers["Link"] == session


@pytest.fixture
def site(settings: Settings, tmp_path: Path) -> Path:
    """A site of the documentation, and a file beside it that is none of its business."""
    settings.DOCS_SITE = tmp_path / "site"
    (tmp_path / "site" / "concepts").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("home")
    (tmp_path / "site" / "concepts" / "index.html").write_text("concepts")
    (tmp_path / "site" / "site.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "site"


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/concepts/"])
def test_without_a_build_the_documentation_says_how_to_make_one(
    client: Client, settings: Settings, tmp_path: Path, path: str
) -> None:
    settings.DOCS_SITE = tmp_path
    response = client.get(path)
    assert response.status_code == 503
    assert b"make docs" in response.content


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("/docs/", "text/html", b"home"),
        ("/docs/concepts/", "text/html", b"concepts"),
        ("/docs/site.js", "text/javascript", b"1"),
    ],
)
def test_the_documentation_is_served_without_a_login(client: Client, path: str, kind: str, content: bytes) -> None:
    response = client.get(path)
    assert (response.status_code, response.content) == (200, content)
    assert response.headers["Content-Type"].startswith(kind)
    assert "script-src 'self';" in response.headers["Content-Security-Policy"]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", ["/docs", "/docs/concepts"])
def test_a_folder_of_the_documentation_ends_with_a_slash(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.headers["Location"]) == (302, f"{path}/")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", ["nothing/", "../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "a%00b"])
def test_what_is_not_part_of_the_documentation_is_not_found(client: Client, path: str) -> None:
    response = client.get(f"/docs/{path}")
    assert response.status_code == 404
    assert b"secret" not in response.content


@pytest.mark.parametrize("path", ["/assets/missing.js", "/static/missing.css", "/api", "/api/v2/pipelines"])
def test_a_missing_file_or_route_is_not_the_page(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_scripts_of_the_page_are_sent_compressed(client: Client, settings: Settings, encoding: str) -> None:
    """A third of the bytes: the first view of somebody on a slow line."""
    largest = max((settings.FRONTEND_DIST / "assets").glob("*.js"), key=lambda file: file.stat().st_size)
    response = client.get(f"/assets/{largest.name}", headers={"accept-encoding": encoding})
    assert response.headers["Content-Encoding"] == encoding
    assert response.headers["Vary"] == "Accept-Encoding"
    assert "immutable" in response.headers["Cache-Control"]
    assert len(response.getvalue()) < largest.stat().st_size / 2


def test_the_page_is_only_read(client: Client) -> None:
    assert client.post("/").status_code == 405


def test_the_process_is_healthy_and_ready_without_redis(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    response = client.get("/readyz")
    assert response.json() == {"status": "ok", "checks": {"database": "ok", "redis": "unreachable"}}


def test_without_a_database_it_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("gone")

    monkeypatch.setattr("pipelines.selectors.hosts.health.ask_database", fail)
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


def test_the_web_process_has_loaded_every_view_before_it_spares_what_stays_from_the_collector() -> None:
    program = (
        "import sys, controlplane.asgi; there = set(sys.modules)\n"
        "from django.test import Client; answer = Client(SERVER_NAME='localhost').get('/api/v1/nothing')\n"
        "print(answer.status_code, sorted(m for m in set(sys.modules) - there if m.split('.')[0] == 'pipelines'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=BASE_DIR, capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.splitlines()[-1] == "404 []"
