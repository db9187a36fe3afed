"""The task queue: messages that wake supervisors, and housekeeping.

`python -m controlplane.worker worker -Q control,host.<name> --pool threads --concurrency 2 -B`
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from functools import cached_property
from typing import Any

from celery import Celery
from celery.signals import beat_embedded_init, setup_logging
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

from django.conf import settings

from controlplane.loader import Loader
from pipelines.foundation.privacy import close_umask

HOUSEKEEPING_SECONDS = 60.0
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class _Application(Celery):  # type: ignore[misc]
    @cached_property
    def loader(self) -> Loader:
        """Imports modules for the application."""
        return Loader(app=self)


def broker_url(url: str) -> str:
    """As Celery names it: a socket has other words there than in HEADGATE_REDIS_URL and in redis-py."""
    if not url.startswith("unix:"):
        return url
    return url.replace("unix:", "redis+socket:", 1).replace("?db=", "?virtual_host=")


close_umask()
TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "controlplane.messages:Transport"))
_path = sys.path[:]
app = _Application("headgate")
# Celery puts the current directory first, where files of the user may have the names of our packages.
sys.path[:] = _path
app.conf.update(
    broker_url=broker_url(settings.HEADGATE.redis_url.get_secret_value()),
    broker_connection_timeout=2,
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "socket_timeout": 10,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "visibility_timeout": 600,
        "retry_policy": {"max_retries": 0},
    },
    accept_content=["json"],
    task_serializer="json",
    result_serializer="json",
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue="control",
    task_routes={"workers.wake": {"queue": f"host.{settings.HEADGATE.host}"}, "workers.*": {"queue": "control"}},
    task_soft_time_limit=300,
    worker_prefetch_multiplier=1,
    # Who can write to Redis could end the worker by it, or read what it is doing.
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    imports=["workers.tasks"],
    beat_schedule={
        "housekeeping": {
            "task": "workers.housekeeping",
            "schedule": HOUSEKEEPING_SECONDS,
            "options": {"expires": HOUSEKEEPING_SECONDS},
        }
    },
    beat_schedule_filename=str(settings.HEADGATE.state / "celerybeat-schedule"),
    timezone="UTC",
)
app.steps["worker"].add("controlplane.bootstep:SupervisorStep")


@setup_logging.connect  # type: ignore[untyped-decorator]
def keep_logging(**_: Any) -> None:
    """Django has set up the logs already; without a receiver Celery would set up its own."""


@beat_embedded_init.connect  # type: ignore[untyped-decorator]
def end_with_the_worker(**_: Any) -> None:
    """The beat is a child of the worker; one that outlived a killed worker would be a second beat beside the next."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
