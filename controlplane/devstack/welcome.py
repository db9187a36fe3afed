"""What the stack prints when it is ready."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from controlplane.devstack.access import ADMIN

_READY = """
Headgate is at   {url}
user             {user}
password         {password}
"""
_PRINTED_BEFORE = "as printed at the first start; set a new one: {program} create-user {user} --role admin"
_KAFKA = "Kafka is at      {kafka}\n"
_TO_TRY = """
Three things to try:
  1. Open {url}/pipelines/{pipeline} and press Pause, then Resume.
  2. In another terminal, from this directory:
       export HEADGATE_STATE={state}
       export HEADGATE_URL={url}
       export HEADGATE_TOKEN=$({program} create-token {user})
       {program} status {pipeline} --watch
  3. Kill its Spark driver, and watch it restart without a loss:
       kill -9 $(pgrep -f {driver})
       {program} ledger {pipeline}
The guided demo breaks it in five ways: {url}/guide
"""
_STOP = "\nCtrl-C stops everything.\n"


def welcome(url: str, *, state: Path, password: str | None, kafka: str | None, pipeline: str | None) -> str:
    """`password` None: it was printed when it was made. `kafka`: the embedded broker. `pipeline`: the demo's. Commands
    name this state directory, so that they reach this stack beside others."""
    parts = [_READY]
    parts += [_KAFKA] if kafka else []
    parts += [_TO_TRY] if pipeline else []
    driver = rf"workers\.agent .*{re.escape(str(state.absolute()))}/runs/{pipeline}/"
    words = {
        "state": shlex.quote(str(state.absolute())),
        "driver": shlex.quote(driver),
        "url": url,
        "user": ADMIN,
        "kafka": kafka,
        "pipeline": pipeline,
        "program": _program(),
    }
    secret = password or _PRINTED_BEFORE.format(**words)
    return "".join([*parts, _STOP]).format(password=secret, **words)


def _program() -> str:
    """What starts this installation's `headgate` in another terminal, where its environment may not be activated."""
    program = Path(sys.executable).with_name("headgate")
    found = shutil.which("headgate")
    if found and "VIRTUAL_ENV" not in os.environ and Path(found).resolve() == program.resolve():
        return "headgate"
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)
