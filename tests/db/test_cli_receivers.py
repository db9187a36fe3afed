"""`headgate receivers` against the real API, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from controlplane.cli.base.errors import ExitCode
from controlplane.cli.monitoring import receivers as commands
from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.roles import Role
from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.webhooks import Reach
from pipelines.models import Delivery, Receiver
from tests.db.conftest import CommandLine, Run
from tests.fakes.http_servers import Reply, serving
from tests.fakes.receivers import NEW
from tests.fakes.smtp import mail_server
from workers.adapters.filelock import FileLock
from workers.adapters.receivers.mails import SmtpMails
from workers.adapters.receivers.posts import HttpPosts
from workers.adapters.secrets import StoredSecrets
from workers.supervisor.background.sending.attempts import Attempts
from workers.supervisor.background.sending.deliveries import DeliverySender


@pytest.fixture
def run(command_line: CommandLine, settings: Any, key_file: Path) -> Run:
    """A command line of an admin; the store has a secret that can sign; messages may go to this machine."""
    reach = {"webhook_http": True, "webhook_networks": [ip_network("127.0.0.0/8")]}
    settings.HEADGATE = settings.HEADGATE.model_copy(update=reach)
    invoke = command_line("admin", Role.ADMIN)
    assert invoke("secrets", "set", "hooks", "--for", "receivers", text=NEW).exit_code == 0
    return invoke


@contextmanager
def sending(keyring: Any, tmp_path: Path) -> Iterator[None]:
    """The sender of a worker."""
    reach = Reach(http=True, networks=(ip_network("127.0.0.0/8"),))
    worker = DeliverySender(
        Attempts(HttpPosts(reach), SmtpMails(reach), MailServer(), reach), StoredSecrets(keyring, Purpose.RECEIVERS)
    ).loop(FileLock(tmp_path / "deliveries.lock"))
    worker.start()
    try:
        yield
    finally:
        assert worker.stop(60)


def test_the_life_of_a_receiver(run: Run) -> None:
    made = run(
        "receivers", "create", "webhook", "--url", "https://a.example/x", "--event", "migration.*", "--secret", "hooks"
    )
    assert made.exit_code == 0, made.output
    number = str(Receiver.objects.get().pk)
    assert made.stdout == f"Receiver {number} (webhook, enabled): migration.* to https://a.example/x\n"
    assert Receiver.objects.get().secrets == ["${secret:hooks}"]
    assert "disabled)" in run("receivers", "disable", number).stdout
    assert "enabled)" in run("receivers", "enable", number).stdout
    changed = run("receivers", "update", number, "--event", "*", "--description", "Operations", "-o", "json")
    assert json.loads(changed.stdout)["events"] == ["*"]
    assert "https://a.example/x" in run("receivers", "list").stdout
    assert run("receivers", "deliveries", "list", number).stdout == "No deliveries.\n"
    assert run("receivers", "update", number).exit_code == ExitCode.USAGE
    assert run("receivers", "delete", number).stdout == f"Receiver {number}: deleted\n"
    assert json.loads(run("receivers", "list", "-o", "json").stdout) == []


def test_findings_are_shown_and_the_command_is_refused(run: Run) -> None:
    refused = run("receivers", "create", "webhook", "--url", "http://10.0.0.1/", "--event", "No")
    assert refused.exit_code == ExitCode.REFUSED
    assert all(code in refused.stderr for code in ("address_not_public", "invalid_event_type", "secrets_missing"))


def test_a_trial_tells_what_came_of_it(run: Run, tmp_path: Path, settings: Any) -> None:
    replies = iter([Reply(200), Reply(404, "nobody here")])
    with serving(lambda _: next(replies)) as endpoint, sending(settings.HEADGATE.keyring, tmp_path):
        run("receivers", "create", "webhook", "--url", endpoint.url, "--event", "alert.*", "--secret", "hooks")
        number = str(Receiver.objects.get().pk)
        good, bad = run("receivers", "test", number), run("receivers", "test", number)
    assert (good.exit_code, bad.exit_code) == (0, ExitCode.FAILED), (good.output, bad.output)
    assert "the receiver answered 200" in good.stdout
    assert 'Not delivered: The endpoint answers 404: "nobody here"' in bad.stdout
    shown = run("receivers", "deliveries", "list", number, "--state", "failed")
    assert "webhook.ping" in shown.stdout
    assert "nobody here" in shown.stdout
    failed = Delivery.objects.get(state="FAILED")
    assert "queued again" in run("receivers", "deliveries", "retry", number, str(failed.pk)).stdout


def test_a_trial_that_no_worker_sends_times_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "TEST_SECONDS", 0.0)
    run("receivers", "create", "webhook", "--url", "https://a.example/", "--secret", "hooks")
    waited = run("receivers", "test", str(Receiver.objects.get().pk))
    assert waited.exit_code == ExitCode.TIMED_OUT
    assert "No worker has sent it yet" in waited.stdout


def test_every_kind_is_tested_over_the_wire(run: Run, tmp_path: Path, settings: Any) -> None:
    with (
        serving(lambda asked: Reply(202 if "enqueue" in asked.path else 200, "ok")) as web,
        mail_server(lambda line: "550 nobody here" if "nobody" in line else None) as mail,
        sending(settings.HEADGATE.keyring, tmp_path),
    ):
        run("secrets", "set", "slack", "--for", "receivers", text=f"{web.url}/services/T/B/canary")
        run("secrets", "set", "pagerduty", "--for", "receivers", text="canary" * 5)
        smtp = (
            "--smtp-host",
            "127.0.0.1",
            "--smtp-port",
            str(mail.port),
            "--smtp-tls",
            "none",
            "--from",
            "h@a.example",
        )
        for kind, given in (
            ("slack", ("--secret", "slack")),
            ("pagerduty", ("--secret", "pagerduty", "--url", f"{web.url}/v2/enqueue")),
            ("email", ("--to", "ana@example.com", *smtp)),
            ("email", ("--to", "nobody@example.com", *smtp)),
        ):
            made = run("receivers", "create", kind, *given)
            assert made.exit_code == 0, made.output
        numbers = [str(each) for each in Receiver.objects.order_by("id").values_list("pk", flat=True)]
        tests = [run("receivers", "test", number) for number in numbers]
    answers = ["answered 200", "answered 202", "answered 250", "Not delivered: The mail server refuses nobody"]
    assert [test.exit_code for test in tests] == [0, 0, 0, ExitCode.FAILED], [test.output for test in tests]
    assert all(words in test.stdout for words, test in zip(answers, tests, strict=True))
    assert [json.loads(asked.body).get("event_action") for asked in web.seen] == [None, "trigger", "resolve"]
    assert web.seen[0].path == "/services/T/B/canary"
    (taken,) = mail.taken
    assert "Subject: Test message from Headgate" in taken.data
    listed = run("receivers", "list")
    assert "canary" not in listed.stdout + "".join(test.output for test in tests)


def test_alerts_are_chosen_and_the_choice_is_removed(run: Run) -> None:
    run("receivers", "create", "webhook", "--url", "https://a.example/", "--secret", "hooks", "--label", "team:shop")
    number = str(Receiver.objects.get().pk)
    assert "labels: team:shop" in run("receivers", "list").stdout.replace("\n", " ")
    assert run("receivers", "update", number, "--severity", "critical").exit_code == 0
    assert Receiver.objects.get().matchers["severities"] == ["critical"]
    assert Receiver.objects.get().matchers["labels"] == []
    assert run("receivers", "update", number, "--all-alerts").exit_code == 0
    assert Receiver.objects.get().matchers["severities"] == []
    refused = run("receivers", "create", "pager", "--secret", "hooks")
    assert refused.exit_code == ExitCode.REFUSED
    assert "slack" in refused.stderr
