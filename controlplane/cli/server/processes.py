"""The server's processes, one each, for production."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.server.machine import set_up
from controlplane.cli.server.running import environment_errors, import_where_this_process_does
from controlplane.cli.server.stack import WebPort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controlplane.environment import Environment


def web(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: WebPort = None,
) -> None:
    """Run the web server: the page and the REST API.

    On an address that other machines reach, users need HTTPS: cookies are sent over it alone, unless
    HEADGATE_HTTPS=false.
    The database needs its tables: `headgate migrate-db`.
    """
    from controlplane.devstack.services import web_argv
    from controlplane.install.services.ports import is_loopback, require_free
    from controlplane.install.tools.errors import SetupError

    port = port or _environment().web_port
    try:
        require_free(port, address=host, what="the page", flag="--port", variable="HEADGATE_WEB_PORT")
    except SetupError as error:
        raise CommandError(error.message, hint=error.hint, code="port_in_use") from error
    if not is_loopback(host):
        os.environ.setdefault("HEADGATE_HTTPS", "true")
    _become(web_argv(address=host, port=port))


def worker() -> None:
    """Run the worker of this host, which starts and supervises agents. Agents continue without it.

    HEADGATE_HOST names the host, HEADGATE_REDIS_URL the Redis that carries messages. The database needs its tables:
    `headgate migrate-db`.
    """
    from controlplane.devstack.services import worker_argv
    from controlplane.provision.setup import AGENTS

    host = _environment().host
    set_up(AGENTS)
    _become(worker_argv(host))


def _environment() -> Environment:
    from controlplane import environment

    with environment_errors():
        return environment.load()


def _become(argv: Sequence[str]) -> None:
    """Replace this process, so that signals and exit codes are those of the server."""
    import_where_this_process_does()
    sys.stdout.flush()
    os.execv(argv[0], list(argv))  # noqa: S606 - an argv list, no shell
