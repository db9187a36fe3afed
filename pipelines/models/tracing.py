"""Traces that wait to be exported."""

from __future__ import annotations

from django.db import models


class PendingTrace(models.Model):
    """What one host has to export of an operation or a migration that has ended: the spans of its agents, which only
    their host can read, and with `whole` those of web server and supervisor, too. An empty host is any host."""

    subject = models.UUIDField(help_text="The id of the operation or migration.")
    host = models.CharField(max_length=63, blank=True, default="")
    whole = models.BooleanField(default=False)
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subject", "host"], name="one_pending_trace_per_host"),
        ]
        indexes = [models.Index(fields=["host", "since"], name="pending_traces_of_a_host")]

    def __str__(self) -> str:
        return f"{self.subject} on {self.host or 'any host'}"
