"""Whether this host's worker works, as the database says."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pipelines.models import Host
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within


class Command(BaseCommand):
    """`manage.py worker_health`: exit with 0 where this host's supervisor has recorded its heartbeat of late.

    It asks the database, since the worker takes no questions from Redis.
    """

    help = "Exit with 0 where the supervisor of this host has recorded its heartbeat of late."

    def handle(self, *_: Any, **__: Any) -> None:
        """Raise CommandError where the heartbeat is missing or old."""
        host = settings.HEADGATE.host
        seen_at = Host.objects.filter(name=host).values_list("seen_at", flat=True).first()
        if not seen_within(seen_at, LOST_AFTER):
            raise CommandError(f"The supervisor of {host} has not been seen for {LOST_AFTER.total_seconds():.0f} s.")
        self.stdout.write(f"The supervisor of {host} works.")
