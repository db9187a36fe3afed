"""The process' environment, parsed once. Every variable is `HEADGATE_<NAME>`; all problems are reported together."""

from __future__ import annotations

import grp
import os
import re
import secrets
import socket
import sys
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from pipelines.domain.access.audit.settings import AuditSettings
from pipelines.domain.access.reach_settings import ReachSettings
from pipelines.domain.access.secrets import NAME
from pipelines.domain.access.sign_in import SignInSettings
from pipelines.domain.access.vault_settings import VaultSettings
from pipelines.domain.base.addresses import Network
from pipelines.domain.base.values import byte_size
from pipelines.domain.hosts.disk import Margin
from pipelines.domain.hosts.isolation import AgentUids, parse_uids
from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.webhooks import Reach, secret_name
from pipelines.foundation.interceptors import directories
from pipelines.foundation.keyring import Keyring, open_keyring
from pipelines.foundation.signing import Signer

TRACE_PACKAGES = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")
HOST_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}$")


class InvalidEnvironment(Exception):
    """The environment does not describe a Headgate that could run; the text lists every problem."""


def default_host() -> str:
    """The machine's short name in the syntax of names: lower case, digits and dashes."""
    short = socket.gethostname().split(".")[0].lower()
    return re.sub(r"[^a-z0-9-]+", "-", short).strip("-")[:63] or "localhost"


def is_installed(package: str) -> bool:
    """Whether a distribution is installed; nothing of it is imported."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


class Environment(AuditSettings, SignInSettings, ReachSettings, VaultSettings, BaseSettings):
    """Every setting that is not the same in each installation.

    `state`: directory of run directories, checkpoints and, embedded, the database. `database_url`: SQLite below `state`
    unless given. `https`: the page is reached by HTTPS, so cookies are sent over it alone; `public_url` says so unless
    given. `env_references`: variables that definitions may refer to by `${env:NAME}`;
    `file_references`: the directory of `${file:NAME}`.
    `interceptors`: classes that `python` interceptors may name, as module:Class, beside the entry points of the group
    headgate.interceptors; `interceptor_path`: directories in which they may lie beside the installed packages.
    `agent_uids`: numbers of the users that agents run as, one for each pipeline: `auto` takes 60578-61183 where the
    worker may, `none` leaves agents to the worker's user, and with a range of your own no agent starts without;
    `agent_group`: the group that they all have, for what they shall read.
    `slots` and `memory`: how many agents may run on this host, and how many bytes they may take together; no limit
    unless given. `disk_margin`: room on the disk of runs and checkpoints below which Headgate warns.
    `lag_minute_days`, `lag_five_minute_days`, `lag_hour_days`: how long points of lag are kept minute by minute, and
    rolled up.
    `sample_days`, `event_days`, `dead_letter_days`: how long points of charts, events and dead letters are kept;
    `dead_letters_kept`: the most dead letters of one pipeline. `run_days`, `run_bytes`: how long directories of runs
    that are over are kept on a host, and how many bytes all of them may take; `checkpoint_days`: checkpoints of
    lineages that have ended. `webhook_days`: deliveries that are over. `webhook_http`: messages may go to receivers
    without encryption; `webhook_networks`: networks that they may reach although these are not public.
    `public_url`: where people open the dashboard, for links in messages. `smtp_...`: where mail goes out;
    `smtp_password_secret`: the name of a secret. `silence_days`: how long a silence may last.
    `metrics_networks`: networks whose clients read `/metrics` without a token.
    `trusted_proxies`: networks of proxies whose `X-Forwarded-For` names the client.
    `rate_limit`: requests per second of one user; none are counted with 0.
    `traces`: workers export traces of
    operations and migrations, as the variables OTEL_* say.
    `demo_pipeline`: the pipeline that the guided demo may break; `headgate demo` sets it, and without it nothing may.
    `kafka_reader`: that of Kafka sources in micro-batch mode, Headgate's own or Spark's.
    `read_only`: why users can change nothing of the installation; they can without it.
    `secret_key` signs sessions;
    `secret_keys`, or else the lines of `secret_key_file`, are the Fernet keys of the secret store, current one first.
    """

    model_config = SettingsConfigDict(env_prefix="HEADGATE_", extra="ignore", frozen=True)

    state: Path = Path("var")
    database_url: SecretStr | None = None
    redis_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    host: str = Field(default_factory=default_host)
    allowed_hosts: Annotated[list[str], NoDecode] = ["localhost", "127.0.0.1", "[::1]"]
    trusted_origins: Annotated[list[str], NoDecode] = []
    env_references: Annotated[list[str], NoDecode] = []
    interceptors: Annotated[list[str], NoDecode] = []
    interceptor_path: Annotated[list[str], NoDecode] = []
    file_references: Path | None = None
    agent_uids: Annotated[AgentUids | None, NoDecode] = AgentUids()
    agent_group: str = "headgate-agent"
    slots: int | None = Field(default=None, ge=1)
    memory: Annotated[int, BeforeValidator(byte_size)] | None = None
    disk_margin: Annotated[Margin, NoDecode] = Margin()
    sample_days: float = Field(default=2, gt=0)
    event_days: float = Field(default=90, gt=0)
    lag_minute_days: float = Field(default=1, gt=0)
    lag_five_minute_days: float = Field(default=7, gt=0)
    lag_hour_days: float = Field(default=90, gt=0)
    dead_letter_days: float = Field(default=30, gt=0)
    dead_letters_kept: int = Field(default=100_000, ge=1)
    run_days: float = Field(default=30, gt=0)
    run_bytes: int = Field(default=10 * 1024**3, ge=0)
    checkpoint_days: float = Field(default=7, gt=0)
    webhook_days: float = Field(default=30, ge=1)
    webhook_http: bool = False
    webhook_networks: Annotated[list[Network], NoDecode] = []
    public_url: str = Field(default="", validate_default=True)
    smtp_host: str = ""
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_tls: Literal["starttls", "tls", "none"] = "starttls"
    smtp_user: str = ""
    smtp_password_secret: str = ""
    smtp_sender: str = ""
    silence_days: float = Field(default=30, gt=0, le=3660)
    metrics_networks: Annotated[list[Network], NoDecode] = []
    trusted_proxies: Annotated[list[Network], NoDecode] = []
    rate_limit: float = Field(default=50, ge=0)
    traces: bool = False
    demo_pipeline: str = ""
    kafka_reader: Literal["headgate", "spark"] = "headgate"
    read_only: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)] = ""
    debug: bool = False
    https: bool | None = None
    web_port: int = Field(default=8000, ge=1, le=65535)
    cache: Path = Field(default_factory=lambda: Path.home() / ".cache" / "headgate")
    log_format: Literal["plain", "json"] = "plain"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    secret_key: SecretStr | None = Field(default=None, validate_default=True)
    secret_keys: SecretStr | None = None
    secret_key_file: Path | None = None

    @field_validator("allowed_hosts", "trusted_origins", "env_references", "interceptors", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("interceptor_path", mode="before")
    @classmethod
    def _are_absolute_directories(cls, value: Any) -> Any:
        found = directories(value) if isinstance(value, str) else value
        if relative := [each for each in found if not Path(each).is_absolute()]:
            raise ValueError(f"{relative[0]!r} is not an absolute directory")
        return found

    @field_validator("webhook_networks", "metrics_networks", "trusted_proxies", mode="before")
    @classmethod
    def _are_networks(cls, value: Any) -> list[Network]:
        given = value.split(",") if isinstance(value, str) else map(str, value)
        try:
            return [ip_network(each.strip()) for each in given if each.strip()]
        except ValueError as error:
            raise ValueError(f"is not a list of networks such as 10.20.0.0/16,fd00:1::/64: {error}") from None

    @field_validator("public_url")
    @classmethod
    def _is_where_people_go(cls, value: str, info: ValidationInfo) -> str:
        parts = urlsplit(value)
        if not value and info.data.get("oidc_issuer"):
            raise ValueError("is required with HEADGATE_OIDC_ISSUER: the provider sends users back to it")
        if value and (parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment):
            raise ValueError("is not the address of the dashboard, such as https://headgate.example.com")
        return value.rstrip("/")

    @field_validator("smtp_password_secret")
    @classmethod
    def _names_a_secret(cls, value: str) -> str:
        name = secret_name(value) or value
        if value and not re.fullmatch(NAME, name):
            raise ValueError(
                "is not the name of a secret; store the password by `headgate secrets set NAME --for receivers`"
            )
        return name

    @field_validator("traces")
    @classmethod
    def _can_be_exported(cls, value: bool) -> bool:
        if value and not all(map(is_installed, TRACE_PACKAGES)):
            raise ValueError("needs packages that are not installed: pip install 'headgate[otel]'")
        return value

    @field_validator("agent_uids", mode="before")
    @classmethod
    def _is_a_range(cls, value: Any) -> Any:
        return parse_uids(value.strip()) if isinstance(value, str) else value

    @field_validator("disk_margin", mode="before")
    @classmethod
    def _is_a_margin(cls, value: Any) -> Any:
        return Margin.parse(value) if isinstance(value, str) else value

    @field_validator("state", "cache")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("host")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not HOST_NAME.match(value):
            raise ValueError(f"{value!r} is not a name: lower-case letters, digits and dashes, 63 at most")
        return value

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, value: SecretStr) -> SecretStr:
        if urlsplit(value.get_secret_value()).scheme not in {"redis", "rediss", "unix"}:
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @field_validator("database_url")
    @classmethod
    def _is_a_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value and urlsplit(value.get_secret_value()).scheme not in DATABASE_ENGINES:
            raise ValueError("must begin with sqlite:///, postgres:// or postgresql://")
        return value

    @field_validator("secret_key")
    @classmethod
    def _production_brings_its_key(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and not info.data.get("debug") and not is_embedded(info.data.get("database_url")):
            raise ValueError("is required with a database server: 50 random characters")
        return value

    @field_validator("secret_keys")
    @classmethod
    def _are_fernet_keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                Keyring(listed(value))
            except ValueError:
                raise ValueError("is not a list of Fernet keys, separated by commas") from None
        return value

    @field_validator("secret_key_file")
    @classmethod
    def _is_the_only_place_of_keys(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None and info.data.get("secret_keys") is not None:
            raise ValueError("and HEADGATE_SECRET_KEYS are both set; set one of them")
        return None if value is None else value.expanduser().absolute()

    def keyring(self) -> Keyring:
        """The keys of the secret store, read now. Raises StoreClosed."""
        return open_keyring(listed(self.secret_keys), self.key_file)

    @property
    def development(self) -> bool:
        """Whether all of Headgate is on one machine, or somebody debugs it: loopback then needs no encryption."""
        return self.debug or is_embedded(self.database_url)

    @property
    def is_https(self) -> bool:
        """Whether browsers reach the page by HTTPS alone."""
        return self.public_url.startswith("https:") if self.https is None else self.https

    @property
    def webhook_reach(self) -> Reach:
        """Where messages to receivers may go."""
        return Reach(self.webhook_http, tuple(self.webhook_networks))

    @property
    def mail_server(self) -> MailServer:
        """Where mail goes out, unless a receiver has a server of its own."""
        return MailServer(
            host=self.smtp_host,
            port=self.smtp_port,
            tls=self.smtp_tls,
            user=self.smtp_user,
            password=self.smtp_password_secret,
            sender=self.smtp_sender,
        )

    @property
    def key_file(self) -> Path:
        """The file with the keys of the secret store, whether it exists or not."""
        return self.secret_key_file or self.state / "secret_store.keys"

    @property
    def agents_gid(self) -> int | None:
        """The group of agents that run as users of their own: the machine's of that name, or a number of the range."""
        if self.agent_uids is None:
            return None
        try:
            return grp.getgrnam(self.agent_group).gr_gid
        except KeyError:
            return self.agent_uids.first

    @property
    def private_files(self) -> list[Path]:
        """Files outside `state` that only the user of Headgate may open, whether they exist or not."""
        database = [Path(self.database["NAME"])] if self.embedded else []
        journals = [path.with_name(path.name + each) for path in database for each in ("-wal", "-shm", "-journal")]
        return [*database, *journals, self.key_file]

    @property
    def never_reached(self) -> list[str]:
        """Paths that no pipeline reaches: what Headgate keeps, what it runs, and what holds keys."""
        code = Path(__file__).resolve().parents[1]
        own = [code / "controlplane", code / "pipelines", code / "workers", code / "manage.py", Path(sys.prefix)]
        kept = [self.state, self.cache, *self.private_files, *map(Path, self.interceptor_path), *self.vault_files]
        return with_real([*own, *kept, *([self.file_references] if self.file_references else [])])

    @cached_property
    def own_servers(self) -> list[str]:
        """Addresses and ports of Redis, the database and the web server, each as `address port`."""
        urls = [self.redis_url, *([self.database_url] if self.database_url and not self.embedded else [])]
        places = [(url.hostname, url.port) for url in (urlsplit(each.get_secret_value()) for each in urls)]
        ports = [(host, port or (5432 if number else 6379)) for number, (host, port) in enumerate(places) if host]
        return addresses_of([*ports, ("127.0.0.1", self.web_port), ("::1", self.web_port)])

    @property
    def embedded(self) -> bool:
        """Whether the database is a file of this machine."""
        return is_embedded(self.database_url)

    @cached_property
    def database(self) -> dict[str, Any]:
        """Django's description of the database."""
        if self.database_url is None:
            return sqlite(self.state / "headgate.sqlite3")
        url = urlsplit(self.database_url.get_secret_value())
        return sqlite(Path(unquote(url.path[1:])).absolute()) if url.scheme == "sqlite" else postgresql(url)

    def signing_key(self) -> str:
        """The key that signs sessions; an embedded installation keeps one of its own, readable by its user alone."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        return own_secret(self.state / "secret_key")

    @cached_property
    def signer(self) -> Signer:
        """What signs the audit and the evidence of migrations."""
        return Signer(self.signing_key())


def with_real(paths: list[Path]) -> list[str]:
    """Paths as they are written, and where they really are."""
    return list(dict.fromkeys(str(each) for path in paths for each in (path, path.resolve())))


def addresses_of(servers: list[tuple[str, int]]) -> list[str]:
    """Servers by name and by every address that the name has now."""
    found = []
    for host, port in servers:
        try:
            places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            places = []
        found += [f"{each} {port}" for each in dict.fromkeys([host, *(str(place[0]) for *_, place in places)])]
    return found


def listed(keys: SecretStr | None) -> list[str]:
    """The keys between the commas."""
    return [key.strip() for key in (keys.get_secret_value() if keys else "").split(",") if key.strip()]


def is_embedded(database_url: SecretStr | None) -> bool:
    """Whether the database is a file of this machine."""
    return database_url is None or urlsplit(database_url.get_secret_value()).scheme == "sqlite"


DATABASE_ENGINES = {"sqlite", "postgres", "postgresql"}

SQLITE_BUSY_SECONDS = 1.5
"""While a connection is opened; afterwards `pipelines.foundation.availability` sets what each process waits."""
SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
POSTGRES_CONNECT_SECONDS = 2
"""For each address of the server's name, of which there may be two."""


def sqlite(path: Path) -> dict[str, Any]:
    """SQLite for several processes: readers never wait, writers queue up from their first statement on. Its other files
    have the mode of the database, which is made here."""
    private_directory(path.parent)
    if not path.exists():
        path.touch(mode=0o600)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {"timeout": SQLITE_BUSY_SECONDS, "transaction_mode": "IMMEDIATE", "init_command": SQLITE_PRAGMAS},
    }


def postgresql(url: SplitResult) -> dict[str, Any]:
    """PostgreSQL; the URL's query becomes connection options, every statement is bounded, in a request more
    tightly. A server that has vanished is noticed within seconds."""
    options: dict[str, Any] = {
        "connect_timeout": POSTGRES_CONNECT_SECONDS,
        "options": "-c statement_timeout=30000 -c lock_timeout=10000",
        "tcp_user_timeout": 4000,
        "keepalives_idle": 2,
        "keepalives_interval": 1,
        "keepalives_count": 2,
    }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
        "OPTIONS": options | dict(parse_qsl(url.query)),
    }


def private_directory(path: Path) -> None:
    """Make a directory that only its user can open; one that exists stays as it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def own_secret(path: Path) -> str:
    """Read the secret at `path`; the first reader of all makes it (mode 0600)."""
    private_directory(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    if not path.exists():
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def load() -> Environment:
    """Parse the environment; raises InvalidEnvironment with every problem at once."""
    try:
        return Environment()
    except ValidationError as error:
        problems = "\n".join(f"  {_variable(each['loc'])}{each['msg']}" for each in error.errors())
        raise InvalidEnvironment(f"Headgate cannot start with this environment:\n{problems}") from None


def _variable(location: tuple[int | str, ...]) -> str:
    return f"HEADGATE_{str(location[0]).upper()}: " if location else ""
