"""The environment is parsed once, and what is wrong with it is told all at once."""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from controlplane import environment
from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.webhooks import Reach


def load(monkeypatch: pytest.MonkeyPatch, **variables: str) -> environment.Environment:
    for name in list(os.environ):
        if name.startswith("HEADGATE_"):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(f"HEADGATE_{name}", value)
    return environment.load()


def test_nothing_needs_to_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = load(monkeypatch)

    assert found.state == tmp_path / "var"
    assert found.database["NAME"] == str(tmp_path / "var" / "headgate.sqlite3")
    assert found.database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert environment.HOST_NAME.match(found.host)


def test_every_problem_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(environment.InvalidEnvironment) as refusal:
        load(
            monkeypatch, WEB_PORT="99999", HOST="Not A Name", REDIS_URL="http://x", DATABASE_URL="mysql://x", DEBUG="x"
        )

    text = str(refusal.value)
    for name in ("WEB_PORT", "HOST", "REDIS_URL", "DATABASE_URL", "DEBUG"):
        assert f"HEADGATE_{name}: " in text


def test_networks_that_receivers_may_reach_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).webhook_reach == Reach()
    reach = load(monkeypatch, WEBHOOK_NETWORKS="10.20.0.0/16, fd00:1::/64,", WEBHOOK_HTTP="true").webhook_reach
    assert reach == Reach(http=True, networks=(ip_network("10.20.0.0/16"), ip_network("fd00:1::/64")))
    with pytest.raises(environment.InvalidEnvironment, match=r"WEBHOOK_NETWORKS: .*10\.20\.0\.1/16 has host bits set"):
        load(monkeypatch, WEBHOOK_NETWORKS="10.20.0.1/16")


def test_metrics_are_open_to_no_network_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).metrics_networks == []
    assert load(monkeypatch, METRICS_NETWORKS="").metrics_networks == []
    named = load(monkeypatch, METRICS_NETWORKS="10.20.0.0/16,fd00:1::/64,192.0.2.7").metrics_networks
    assert [str(network) for network in named] == ["10.20.0.0/16", "fd00:1::/64", "192.0.2.7/32"]
    with pytest.raises(environment.InvalidEnvironment, match=r"METRICS_NETWORKS: .*is not a list of networks"):
        load(monkeypatch, METRICS_NETWORKS="everybody")


def test_directories_of_interceptors_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = load(monkeypatch, INTERCEPTOR_PATH=f"{tmp_path}: /opt/acme :")
    assert found.interceptor_path == [str(tmp_path), "/opt/acme"]
    with pytest.raises(environment.InvalidEnvironment, match="'interceptors' is not an absolute directory"):
        load(monkeypatch, INTERCEPTOR_PATH="/opt/acme:interceptors")


def test_a_database_server_needs_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(environment.InvalidEnvironment, match="HEADGATE_SECRET_KEY"):
        load(monkeypatch, DATABASE_URL="postgres://db/headgate")
    assert load(monkeypatch, DATABASE_URL="postgres://db/headgate", SECRET_KEY="k" * 50).signing_key() == "k" * 50


def test_a_database_url_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://ana:p%40ss@db.example:5433/head%20gate?sslmode=require"
    found: dict[str, Any] = load(monkeypatch, DATABASE_URL=url, SECRET_KEY="k" * 50).database

    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"]) == ("ana", "p@ss", "db.example", "5433")
    assert found["NAME"] == "head gate"
    assert found["OPTIONS"]["sslmode"] == "require"


def test_secrets_are_not_shown_with_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = load(
        monkeypatch,
        STATE=str(tmp_path),
        DATABASE_URL="postgres://ana:swordfish@db/x",
        REDIS_URL="redis://:swordfish@r/0",
        SECRET_KEY="swordfish" * 6,
    )
    assert "swordfish" not in repr(found)
    assert "swordfish" not in str(found.model_dump())


def test_a_problem_does_not_repeat_the_secret_that_caused_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(environment.InvalidEnvironment) as refusal:
        load(monkeypatch, REDIS_URL="http://:swordfish@r/0")
    assert "swordfish" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_an_embedded_installation_keeps_a_key_that_others_cannot_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = load(monkeypatch, STATE=str(tmp_path)).signing_key()

    assert load(monkeypatch, STATE=str(tmp_path)).signing_key() == first
    assert len(first) > 40
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_an_embedded_installation_is_made_for_its_user_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    database = Path(load(monkeypatch, STATE=str(tmp_path / "state")).database["NAME"])
    assert database.parent.stat().st_mode & 0o777 == 0o700
    assert database.stat().st_mode & 0o777 == 0o600


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, ALLOWED_HOSTS="a.example, b.example").allowed_hosts == ["a.example", "b.example"]


def test_the_address_of_the_dashboard_and_the_mail_server_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).mail_server == MailServer()
    found = load(
        monkeypatch,
        PUBLIC_URL="https://headgate.example.com/",
        SMTP_HOST="mail.example.com",
        SMTP_PORT="465",
        SMTP_TLS="tls",
        SMTP_USER="u",
        SMTP_PASSWORD_SECRET="${secret:smtp}",
        SMTP_SENDER="h@example.com",
    )
    assert found.public_url == "https://headgate.example.com"
    assert found.mail_server == MailServer("mail.example.com", 465, "tls", "u", "smtp", "h@example.com")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PUBLIC_URL", "headgate.example.com"),
        ("PUBLIC_URL", "https://a.example/?x=1"),
        ("SMTP_PASSWORD_SECRET", "hunter 2"),
        ("SMTP_TLS", "ssl"),
        ("SMTP_PORT", "0"),
        ("SILENCE_DAYS", "0"),
    ],
)
def test_what_is_wrong_with_them_names_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    with pytest.raises(environment.InvalidEnvironment, match=f"HEADGATE_{name}: "):
        load(monkeypatch, **{name: value})


def test_traces_are_off_and_need_packages_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load(monkeypatch).traces
    assert load(monkeypatch, TRACES="true").traces
    monkeypatch.setattr(environment, "TRACE_PACKAGES", ("opentelemetry-sdk", "a-package-that-nobody-has"))
    assert not load(monkeypatch, TRACES="false").traces
    with pytest.raises(environment.InvalidEnvironment, match=r"HEADGATE_TRACES: .*pip install 'headgate\[otel\]'"):
        load(monkeypatch, TRACES="true")


@pytest.mark.parametrize(
    ("variables", "secure"),
    [
        ({}, False),
        ({"PUBLIC_URL": "http://headgate.internal"}, False),
        ({"PUBLIC_URL": "https://headgate.example.com"}, True),
        ({"PUBLIC_URL": "https://headgate.example.com", "HTTPS": "false"}, False),
        ({"HTTPS": "true"}, True),
    ],
)
def test_cookies_are_for_https_where_the_dashboard_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], secure: bool
) -> None:
    assert load(monkeypatch, **variables).is_https is secure


def test_the_length_of_sessions_is_a_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).session_idle_seconds == 8 * 3600
    assert load(monkeypatch, SESSION_LIFETIME="12h").session_lifetime_seconds == 12 * 3600
    with pytest.raises(environment.InvalidEnvironment) as refusal:
        load(monkeypatch, SESSION_IDLE="soon", SESSION_LIFETIME="0s")
    assert "HEADGATE_SESSION_IDLE: " in str(refusal.value)
    assert "HEADGATE_SESSION_LIFETIME: " in str(refusal.value)


PROVIDER = {
    "OIDC_ISSUER": "https://id.example.com",
    "OIDC_CLIENT_ID": "headgate",
    "PUBLIC_URL": "https://hg.example.com",
}


def test_a_provider_needs_an_id_and_an_address_to_come_back_to(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).oidc_issuer == ""
    found = load(monkeypatch, **PROVIDER, OIDC_ALLOWED_GROUPS="ops, data ,")
    assert (found.oidc_issuer, found.allowed_groups) == ("https://id.example.com", frozenset({"ops", "data"}))
    with pytest.raises(environment.InvalidEnvironment) as refusal:
        load(
            monkeypatch,
            OIDC_ISSUER="https://id.example.com",
            OIDC_SCOPES="profile",
            OIDC_BUTTON="",
            OIDC_CLIENT_SECRET="x",
            OIDC_CLIENT_SECRET_FILE="/run/secret",
        )
    names = ("OIDC_CLIENT_ID", "PUBLIC_URL", "OIDC_SCOPES", "OIDC_BUTTON", "OIDC_CLIENT_SECRET_FILE")
    assert [name for name in names if f"HEADGATE_{name}: " not in str(refusal.value)] == []


@pytest.mark.parametrize(
    ("issuer", "accepted"),
    [
        ("http://localhost:9000", True),
        ("http://127.0.0.1:9000/realms/x", True),
        ("http://[::1]:9000", True),
        ("http://id.example.com", False),
        ("http://10.0.0.1", False),
        ("ftp://id.example.com", False),
        ("https://id.example.com?x=1", False),
        ("id.example.com", False),
    ],
)
def test_a_provider_is_reached_by_https_unless_it_is_here(
    monkeypatch: pytest.MonkeyPatch, issuer: str, accepted: bool
) -> None:
    if accepted:
        assert load(monkeypatch, **(PROVIDER | {"OIDC_ISSUER": issuer})).oidc_issuer == issuer
        return
    with pytest.raises(environment.InvalidEnvironment, match="HEADGATE_OIDC_ISSUER: "):
        load(monkeypatch, **(PROVIDER | {"OIDC_ISSUER": issuer}))
