"""Previews of revisions, the events that differ in them, and runs of tests."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


class Preview(HostTask):
    """A comparison of a definition with the present revision on real records. `result`: counts and what was read
    (`PreviewResult` without its differences)."""

    NOUN = "preview"
    ADVICE = "Ask for fewer records."

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="previews")
    base = models.ForeignKey("pipelines.Revision", on_delete=models.CASCADE, related_name="+")
    candidate = models.JSONField()
    digest = models.CharField(max_length=64)
    source = models.CharField(max_length=63, blank=True, default="")
    selection = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-requested_at"], name="previews_by_time"),
            models.Index(fields=["expires_at"], name="previews_by_expiry"),
            models.Index(fields=["pipeline"], condition=IS_OPEN, name="open_previews"),
        ]


class CaseRun(HostTask):
    """The tests of a definition. `pipeline`: the one of the definition's name, None where it is not created yet;
    `result`: `CasesResult`."""

    NOUN = "test"
    ADVICE = "Look in the worker's log for why it ended, and run the tests again."

    team = models.ForeignKey("pipelines.Team", on_delete=models.CASCADE, related_name="+")
    host = models.ForeignKey("pipelines.Host", on_delete=models.CASCADE, related_name="+")
    pipeline = models.ForeignKey(
        "pipelines.Pipeline", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    candidate = models.JSONField()
    digest = models.CharField(max_length=64)
    passed = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["team", "digest", "-requested_at"], name="case_runs_by_digest"),
            models.Index(fields=["expires_at"], name="case_runs_by_expiry"),
            models.Index(fields=["host"], condition=IS_OPEN, name="open_case_runs"),
        ]


class PreviewDifference(models.Model):
    """An event that differs. `kinds` and `components`: names, each between spaces; `shown`: the whole of it
    (`DifferenceRow`)."""

    preview = models.ForeignKey(Preview, on_delete=models.CASCADE, related_name="differences")
    number = models.PositiveIntegerField()
    kinds = models.TextField()
    components = models.TextField()
    shown = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["preview", "number"], name="differences_of_a_preview_are_numbered"),
        ]

    def __str__(self) -> str:
        return f"{self.preview_id} {self.number}"
