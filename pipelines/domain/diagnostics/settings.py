"""The settings of an installation in words, and how their values are written. The page of the reference and the
dashboard show these."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

SECTIONS: dict[str, dict[str, str]] = {
    "Installation": {
        "state": "The directory of run directories, checkpoints and, with SQLite, the database.",
        "cache": "Downloads and what is built from them.",
        "database_url": "The database, such as `postgresql://headgate@db/headgate`. SQLite if not set.",
        "redis_url": "Redis, for wake-up messages and live figures: `redis://`, `rediss://` or `unix://`, with its "
        "password; see [Run in production](../guides/run-in-production.md#protect-redis).",
        "host": "The name of this host. The machine's short name if not set.",
        "slots": "The most agents on this host. No limit if not set.",
        "disk_margin": "Room on the disk of runs and checkpoints below which Headgate warns: a size, a percentage, or "
        "the smaller of both. `0` never warns.",
        "agent_uids": "Numbers of the users that agents run as, one for each pipeline; see [Run in production]"
        "(../guides/run-in-production.md#agents-as-users-of-their-own). Where the worker cannot change users, agents "
        "share its user; with a range of your own, such as `200000-200999`, they are not started then. `none`: they "
        "share it.",
        "agent_group": "The group of all agents that have users of their own. Give it what agents shall read and "
        "write. A number of the range where the machine has no group of this name.",
        "memory": "Memory for all agents of this host, such as `24GiB`. An agent takes `driver_memory` and 256 MiB.",
    },
    "Web server": {
        "web_port": "The port of the web server.",
        "allowed_hosts": "Host names under which the server answers, separated by commas.",
        "trusted_origins": "Origins of the dashboard behind a proxy, such as `https://headgate.example.com`.",
        "metrics_networks": (
            "Networks whose clients can read `/metrics` without a token, such as `10.20.0.0/16,fd00:1::/64`."
        ),
        "trusted_proxies": (
            "Networks of the proxies in front of the web server, such as `127.0.0.1/32`. Their `X-Forwarded-For` names "
            "the client, in limits of log-ins and in the audit; that of others is ignored."
        ),
        "rate_limit": "Requests per second of one user of the API, with bursts of four seconds' worth; a token has "
        "half of it. `0` sets no limit.",
        "https": "Users reach the dashboard by HTTPS; cookies are sent over it alone. If not set: `true` where "
        "`HEADGATE_PUBLIC_URL` begins with `https://`, and for `headgate web --host` with an address that is not "
        "loopback.",
        "demo_pipeline": "The pipeline that the [guided demo](../get-started/guided-demo.md) may break. `headgate "
        "demo` sets it; set it nowhere else.",
        "read_only": "Why users can change nothing, such as `Upgrade to 2.0`; see [Make an installation read-only]"
        "(../guides/read-only.md). They can if not set.",
        "kafka_reader": "Which reader the Kafka sources of this host have in micro-batch mode: Headgate's, or with "
        "`spark` Spark's own, which is slower. Set it for workers; runs that start afterwards have it.",
        "debug": "Django's debug mode. For development only.",
    },
    "Reach of pipelines": {
        "allowed_roots": "Directories that pipelines can read and write, or read (`PATH:read`), separated by commas.",
        "allowed_networks": "Networks and hosts that pipelines can connect to although they are reserved.",
        "reach": "With `listed`, pipelines connect to allowed networks and hosts and to no others.",
    },
    "Sessions": {
        "session_idle": "A session of the dashboard ends after this time without input.",
        "session_lifetime": "A session ends after this time, whatever happens.",
    },
    "Sign-in": {
        "require_mfa": "Who needs a second factor beside a password: `none`, `admins` or `all`; see "
        "[Sign in](../guides/sign-in.md#second-factor).",
        "token_days": "How many days a token that is made in the dashboard or by the API holds at most.",
        "reauth_seconds": "The age of a log-in, in seconds, after which dangerous acts ask for it again.",
        "oidc_issuer": "The OpenID Connect provider, such as `https://id.example.com/realms/main`; see "
        "[Sign in](../guides/sign-in.md). Needs `HEADGATE_PUBLIC_URL`.",
        "oidc_client_id": "The id that the provider knows Headgate by.",
        "oidc_client_secret": "The secret that belongs to it. A public client has none.",
        "oidc_client_secret_file": "A file with this secret instead, readable by the user of Headgate alone.",
        "oidc_scopes": "What Headgate asks the provider for, separated by spaces.",
        "oidc_username_claim": "The claim that names a new user.",
        "oidc_groups_claim": "The claim with the groups of a user.",
        "oidc_allowed_groups": "Groups of which a user needs one to sign in, separated by commas. If not set, every "
        "user of the provider can sign in, and has the roles of its groups.",
        "oidc_button": "The label of the button.",
    },
    "Secrets and references": {
        "secret_key": "Signs sessions and seals events: the same for all web servers and workers. Created in the state "
        "directory if not set.",
        "secret_keys": "The keys of the secret store, separated by commas, the current one first.",
        "secret_key_file": "A file with these keys instead. `secret_store.keys` in the state directory if not set.",
        "env_references": "Variables that definitions can refer to by `${env:NAME}`, separated by commas.",
        "file_references": "The directory of files that definitions can refer to by `${file:NAME}`.",
        "vault_addr": "The Vault or OpenBao server of `${vault:}` references, such as "
        "`https://vault.example.com:8200`; see [Secrets](../guides/secrets.md#values-that-are-kept-elsewhere). "
        "`http://` is for loopback alone.",
        "vault_ca_file": "The authorities to trust for its certificate, instead of the system's.",
        "vault_namespace": "The namespace of the server's secrets.",
        "vault_token_file": "A file with the token of this host, which other users cannot read.",
        "vault_role_id_file": "Instead of a token: a file with the role id of AppRole.",
        "vault_secret_id_file": "A file with the secret id that belongs to it.",
        "vault_timeout": "The longest that one request to it can take, in seconds; at most 30.",
        "interceptors": "Classes that `python` interceptors can name, as `module:Class`, separated by commas.",
        "interceptor_path": "Absolute directories in which their modules can lie, separated by colons. The "
        "worker's user or root owns them, and no other user can write to them. Installed packages come first.",
    },
    "Receivers": {
        "public_url": "Where users open the dashboard, such as `https://headgate.example.com`. For links in messages.",
        "webhook_http": "Messages of every kind can be sent without encryption.",
        "webhook_networks": "Networks that can be reached although they are not public, separated by commas.",
        "smtp_host": "The mail server for receivers of kind `email`.",
        "smtp_port": "Its port.",
        "smtp_tls": "`starttls`, `tls` from the start, or `none`.",
        "smtp_user": "The user of the mail server.",
        "smtp_password_secret": "The name of the secret with the user's password.",
        "smtp_sender": "The sender of messages, such as `headgate@example.com`.",
        "silence_days": "The longest that a silence can last.",
    },
    "Retention": {
        "sample_days": "Points of charts.",
        "event_days": "Events.",
        "lag_minute_days": "Points of lag, one a minute.",
        "lag_five_minute_days": "Points of lag, one in five minutes.",
        "lag_hour_days": "Points of lag, one an hour.",
        "dead_letter_days": "Entries of dead letters.",
        "dead_letters_kept": "The most entries of dead letters for one pipeline.",
        "run_days": "Directories of runs that have ended.",
        "run_bytes": "The most bytes of these directories on a host.",
        "checkpoint_days": "Checkpoints of lineages that have ended.",
        "webhook_days": "Deliveries of receivers that have ended.",
    },
    "Audit": {
        "audit_syslog": "The syslog server that the audit is forwarded to: `tls://HOST:PORT`, `tcp://HOST:PORT`, "
        "`udp://HOST:PORT` or `unix:///dev/log`; see [The audit](../guides/audit.md#forward). Set it on web servers "
        "and workers alike.",
        "audit_syslog_ca": "A file with the authorities of its certificate. The system's if not set.",
        "audit_otlp": "The collector that the audit is forwarded to by OTLP over HTTP, such as "
        "`https://otel.example.com:4318`. Set it on web servers and workers alike.",
        "audit_otlp_headers": "Headers for it, as `NAME=VALUE`, separated by commas, values percent-encoded.",
    },
    "Traces": {
        "traces": "Workers export traces of operations and migrations; see [Trace operations](../guides/traces.md). "
        "Set it on web servers and workers alike.",
    },
    "Logs": {
        "log_format": "`plain` to read, `json` for log collectors.",
        "log_level": "`DEBUG`, `INFO`, `WARNING` or `ERROR`.",
    },
}

DOCS = re.compile(r"\[([^\]]+)\]\((?:\.\./)*([\w/-]+)\.md(#[\w-]+)?\)")
"""A link of a meaning, which is a line of docs/reference/settings.md."""


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"HEADGATE_{name.upper()}"


def described(meaning: str) -> tuple[str, str]:
    """A meaning without its link, and the page of the documentation that the link leads to; empty without one."""
    found = DOCS.search(meaning)
    page = f"{found[2]}/{found[3] or ''}" if found else ""
    return DOCS.sub(r"\1", meaning), page


def plain(value: Any) -> str:
    """A value as one writes it in the environment."""
    if isinstance(value, list):
        return ",".join(map(plain, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def location(url: str) -> str:
    """Where a URL leads, without who logs in there and what else it says."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
