"""What the stack prints when it is ready."""

from __future__ import annotations

from controlplane.devstack.access import ADMIN

_READY = """
Headgate is at   {url}
user             {user}
password         {password}
"""
_PRINTED_BEFORE = "as printed at the first start; for a new one: .venv/bin/python manage.py changepassword {user}"
_KAFKA = "Kafka is at      {kafka}\n"
_TO_TRY = """
Three things to try:
  1. Open {url}/pipelines/{pipeline} and press Pause, then Resume.
  2. In another terminal, from this directory:
       export HEADGATE_URL={url}
       export HEADGATE_TOKEN=$(.venv/bin/python manage.py create_token {user})
       .venv/bin/headgate status {pipeline} --watch
  3. Kill its Spark driver, and see it come back with nothing lost:
       kill -9 $(pgrep -f 'workers.agent .*/runs/{pipeline}/')
       .venv/bin/headgate ledger {pipeline}
"""
_STOP = "\nCtrl-C stops everything in order.\n"


def welcome(url: str, *, password: str | None, kafka: str | None, pipeline: str | None) -> str:
    """`password` None: it was printed when it was made. `kafka`: the embedded broker. `pipeline`: the demo's."""
    parts = [_READY]
    parts += [_KAFKA] if kafka else []
    parts += [_TO_TRY] if pipeline else []
    words = {"url": url, "user": ADMIN, "kafka": kafka, "pipeline": pipeline}
    secret = password or _PRINTED_BEFORE.format(user=ADMIN)
    return "".join([*parts, _STOP]).format(password=secret, **words)
