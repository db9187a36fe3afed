"""One attempt to deliver a message, for each kind of receiver. Nothing of a secret's value is ever in the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.monitoring import messages
from pipelines.domain.monitoring.messages import Happened, Notice
from pipelines.domain.monitoring.receivers import PAGERDUTY_URL, MailServer, ReceiverKind, value_problem
from pipelines.domain.monitoring.webhooks import DeliveryResponse, Reach, key_of, secret_name, signed_headers
from pipelines.foundation import clock
from pipelines.services.monitoring.deliveries import Job
from workers.ports import Mail, Mails, Posts, SecretValue, Unreadable, missing

Values = Mapping[str, SecretValue | Unreadable]
LOCAL = "headgate.invalid"
"""Where a sender has no domain that message ids could be of."""


class Unusable(Exception):
    """A secret cannot be used; the text says why, and never what it is."""


class Attempts:
    """`usual`: the mail server of the installation."""

    def __init__(self, posts: Posts, mails: Mails, usual: MailServer, reach: Reach) -> None:
        self._posts = posts
        self._mails = mails
        self._usual = usual
        self._reach = reach

    def names(self, job: Job) -> set[str]:
        """The secrets that a job needs."""
        names = {name for each in job.secrets if (name := secret_name(each))}
        if job.kind is ReceiverKind.EMAIL and (password := job.email.server(self._usual, job.secrets).password):
            names.add(password)
        return names

    def make(self, job: Job, values: Values) -> DeliveryResponse:
        """Send it, and wait for the answer."""
        try:
            if job.kind is ReceiverKind.WEBHOOK or job.notice is None:
                return self._webhook(job, values)
            if job.kind is ReceiverKind.SLACK:
                return self._slack(job, job.notice, values)
            if job.kind is ReceiverKind.PAGERDUTY:
                return self._pagerduty(job, job.notice, values)
            return self._email(job, job.notice, values)
        except Unusable as unusable:
            return DeliveryResponse(None, str(unusable))

    def _webhook(self, job: Job, values: Values) -> DeliveryResponse:
        keys = [key_of(self._value(job.kind, secret_name(each) or "", values, job.team)) for each in job.secrets]
        headers = {**_headers(), **signed_headers(keys, job.message_id, clock.now(), job.body)}
        return self._posts.post(job.url, headers, job.body)

    def _slack(self, job: Job, notice: Notice, values: Values) -> DeliveryResponse:
        return self._json(self._only(job, values), messages.slack(notice))

    def _pagerduty(self, job: Job, notice: Notice, values: Values) -> DeliveryResponse:
        url, key = job.url or PAGERDUTY_URL, self._only(job, values)
        answer = self._json(url, messages.pagerduty(notice, key))
        if notice.happened is Happened.TEST and answer.accepted:
            return self._json(url, messages.pagerduty_end_of_test(notice, key))
        return answer

    def _email(self, job: Job, notice: Notice, values: Values) -> DeliveryResponse:
        server = job.email.server(self._usual, job.secrets)
        if not server.host:
            return DeliveryResponse(None, "No mail server is set on this host: set HEADGATE_SMTP_HOST.")
        owner = job.team if job.email.host else None
        password = self._value(job.kind, server.password, values, owner) if server.password else ""
        subject, text = messages.mail(notice)
        domain = server.sender.rpartition("@")[2] or LOCAL
        mail = Mail(
            sender=server.sender,
            recipients=job.email.recipients,
            subject=subject,
            text=text,
            message_id=f"<{job.message_id}@{domain}>",
            thread=messages.thread_of(notice, domain),
        )
        return self._mails.send(server, password, mail)

    def _json(self, url: str, body: Mapping[str, Any]) -> DeliveryResponse:
        return self._posts.post(url, _headers(), json.dumps(body, separators=(",", ":")).encode())

    def _only(self, job: Job, values: Values) -> str:
        """The value of the one secret of a receiver."""
        return self._value(job.kind, (secret_name(job.secrets[0]) or "") if job.secrets else "", values, job.team)

    def _value(self, kind: ReceiverKind, name: str, values: Values, team: int | None) -> str:
        """The value of a secret of the team, or of the installation for None; one of another owner is not there."""
        value = values.get(name)
        if value is None or (isinstance(value, SecretValue) and value.team != team):
            value = missing(name, Purpose.RECEIVERS)
        reference = f"${{secret:{name}}}"
        if isinstance(value, Unreadable):
            raise Unusable(f"{reference} cannot be resolved: {value.reason} {value.hint}")
        if problem := value_problem(kind, value.text, self._reach):
            raise Unusable(f"{reference} {problem[1]}.")
        return value.text


def _headers() -> dict[str, str]:
    return {"content-type": "application/json", "user-agent": f"Headgate/{version('headgate')}"}
