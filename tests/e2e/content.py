"""What the page has to show, without one agent: `shop` has something of everything, batches, dead letters of each kind,
runs, findings, events; the other pipelines go through all phases."""

from __future__ import annotations

from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DeadLetterState, DesiredState, Phase, RunOutcome, RunState
from pipelines.domain.monitoring.alert_rules import RULE_NAMES, AlertState
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.receivers import ALERT_EVENTS
from pipelines.domain.monitoring.webhooks import DeliveryState, Reach
from pipelines.foundation.keyring import add_key
from pipelines.models import Alert, Delivery, Event, Host, Pipeline, Receiver, Run
from pipelines.services.access import access, secrets
from pipelines.services.access.audit import checking, sealing
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts, receivers, silences
from pipelines.services.monitoring.receivers import Installation, ReceiverSettings
from pipelines.services.monitoring.silences import SilenceSettings
from tests.factories import (
    DeadLetterFactory,
    EventFactory,
    HostFactory,
    LedgerBatchFactory,
    PipelineFactory,
    PositionFactory,
    RevisionFactory,
    RunFactory,
    SampleFactory,
    now,
)

USER, PASSWORD = "admin", "correct horse battery"
LONG = "a-name-as-long-as-a-name-may-be-which-is-sixty-three-characters"
SECRETS = ["shop-kafka", "warehouse.dsn", "ingest_token", LONG]
MESSAGES = {
    Phase.BLOCKED: "orders-in/2: the position 48,210 lies 1,204 records before the start of the log.",
    Phase.DEGRADED: "sinks.out does not answer: connection refused; batch 812 is held and tried again.",
    Phase.FAILED: "Ten runs in a row ended by themselves; the last: the JVM ended with 137.",
    Phase.UNKNOWN: "The host bravo has not been heard of for 2 min.",
}
CAUSES = [
    ("sinks.out", "It has 2,400,112 bytes; the topic takes 1,048,588."),
    ("sources.shop.interceptors[1]", "java.time.format.DateTimeParseException: Text '2026-13-45' could not be parsed"),
    ("sources.shop.selector", "No channel of the selector matches the event."),
]
BODIES = ['{"order": 17, "items": [{"sku": "A-1", "n": 2}], "note": "Grüße"}'.encode(), b"text", b"\x00\xff\x10"]


def fill(count: int) -> str:
    """Everything; returns a token of the administrator."""
    call_command("migrate", interactive=False, verbosity=0)
    user = access.create_user(username=USER, password=PASSWORD, role=Role.ADMIN)
    hosts()
    if count:
        shop()
        others(count - 1)
        days()
        secrets_of(Actor(user.username))
        receivers_of(Actor(user.username))
        alerts_of(Actor(user.username), count)
        audit_of(Actor(user.username, "10.20.0.7", "0b7f3c52"))
    return access.create_token(user=user, name="tests", expires=None)


def hosts() -> None:
    soon = now() + timedelta(days=1)  # heard of for as long as a test lasts
    long_ago = now() - timedelta(days=30)
    common = {"cores": 8, "memory_bytes": 32 << 30, "supervised_since": long_ago}
    HostFactory.create(name="alpha", seen_at=soon, **common)
    HostFactory.create(name="bravo", seen_at=now() - timedelta(hours=2), **common)


def secrets_of(actor: Actor) -> None:
    add_key(settings.HEADGATE.key_file)
    everywhere = secrets.Wanted(pipelines=["shop", "shop-*"], destinations=["*.example.com:*", "sink/http"])
    for wanted in (everywhere, secrets.Wanted(Purpose.RECEIVERS)):
        for name in SECRETS:
            keyring = settings.HEADGATE.keyring()
            secrets.put(name=name, value="never shown", keyring=keyring, actor=actor, wanted=wanted)


def receivers_of(actor: Actor) -> None:
    """One that is well with deliveries of each kind, and one that was switched off by itself."""
    reference = f"${{secret:{SECRETS[0]}}}"
    url = f"https://ops.example.com/hooks/headgate/{LONG}?token={LONG}"
    wanted = [
        ReceiverSettings(url=each, events=["migration.*", "alert.*"], secrets=[reference], description="Operations")
        for each in (url, url + "-2")
    ]
    well, gone = [receivers.create(wanted=each, installation=Installation(Reach()), actor=actor) for each in wanted]
    receivers.switch_off(receiver=gone, reason="its endpoint answers 410 Gone.")
    for number, state in enumerate(DeliveryState):
        event = EventFactory.create(kind="alert.opened", pipeline=Pipeline.objects.get(name="shop"))
        failed = {"response_status": 503, "last_error": f"The endpoint answers 503: {LONG}"} if number == 3 else {}
        Delivery.objects.create(
            receiver=well,
            event=event,
            message_id=f"msg_{number}",
            state=state,
            attempts=number,
            created_at=now(),
            next_attempt_at=now() if state == DeliveryState.WAITING else None,
            **failed,
        )


def alerts_of(actor: Actor, count: int) -> None:
    """As many as there are pipelines: open, acknowledged, silenced and resolved, with deliveries of each kind."""
    wanted = SilenceSettings(Matchers(labels=("team:payments",)), now() + timedelta(hours=2), "Brokers are upgraded")
    silences.create(wanted=wanted, longest=timedelta(days=1), actor=actor)
    at = now()
    Alert.objects.bulk_create(
        Alert(
            rule=rule,
            key=f"{rule} {number}",
            message="A cause.",
            state=AlertState.RESOLVED if number % 2 else AlertState.OPEN,
            opened_at=at,
            changed_at=at,
            resolved_at=at if number % 2 else None,
        )
        for number, rule in enumerate(islice(cycle(RULE_NAMES), count))
    )
    shop = Pipeline.objects.get(name="shop")
    alert = alerts.raise_alert(rule="blocked", key="shop", message=MESSAGES[Phase.BLOCKED], pipeline=shop)
    receiver = Receiver.objects.order_by("pk")[0]
    for number, state in enumerate(DeliveryState):
        event = EventFactory.create(kind=ALERT_EVENTS[number % 3], pipeline=shop)
        fields = {"receiver": receiver, "event": event, "alert": alert, "created_at": now()}
        Delivery.objects.create(**fields, message_id=f"msg_alert_{number}", state=state, attempts=1)
    seen = alerts.raise_alert(rule="lag", key=LONG, message=f"Lag: more than 10 records wait. {LONG}")
    if seen is not None:
        alerts.acknowledge(alert_id=seen.pk, actor=actor, note=f"On it. {LONG}")


def audit_of(actor: Actor) -> None:
    """Rows with a difference and without, refused ones, long ones; all but the last are sealed and verified."""
    before = {"name": "shop", "spec": {"topic": "orders", "servers": [LONG]}, "note": None}
    after = {"name": "shop", "spec": {"topic": "orders-in", "servers": [LONG, "b:9092"]}, "labels": {"team": "web"}}
    audit.record(actor=actor, action="pipeline.update", pipeline_name=LONG, before=before, after=after)
    for number in range(60):
        audit.record(actor=Actor(LONG, f"10.20.0.{number}"), action="session.login", outcome="refused")
    audit.record(actor=actor, action="host.drain", after={"host": "bravo", "on_timeout": "keep"})
    audit.record(actor=actor, action="pipeline.stop", pipeline_name="shop", outcome="nothing to do")
    while sealing.seal(signer=settings.HEADGATE.signer):
        pass
    checking.Walk(lambda: settings.HEADGATE.signer).turn()
    audit.record(actor=actor, action="pipeline.pause", pipeline_name="shop", before={"desired": "RUNNING"})


DECIDED: dict[str, Any] = {
    "delivered": 7,
    "filtered": 2,
    "dead_lettered": 1,
    "components": {"sources.shop.interceptors[0]": {"filtered": 2}, "sinks.out": {"dead_lettered": 1}},
}
"""What became of the ten records of a batch, by component."""


def shop() -> None:
    """A pipeline that had a life."""
    pipeline = PipelineFactory.create(
        name="shop",
        description="Orders of the shop, cleaned, to the lake",
        labels={"team": "payments", "tier": "1"},
        phase=Phase.BLOCKED,
        desired_state=DesiredState.RUNNING,
        phase_message=MESSAGES[Phase.BLOCKED],
        phase_reason="BELOW_LOG_START",
        findings=[finding()],
    )
    RevisionFactory.create(pipeline=pipeline, number=2, note="Reads orders of all countries")
    run = ended(pipeline, 1, RunOutcome.CLEAN)
    log_of(ended(pipeline, 2, RunOutcome.KILLED))
    for number in range(30):
        ranges = [{"topic": "orders-in", "partition": 0, "start": number * 10, "end": number * 10 + 10}]
        LedgerBatchFactory.create(run=run, first_batch=number, ranges=ranges, **DECIDED)
        SampleFactory.create(pipeline=pipeline, at=now() - timedelta(seconds=3 * number))
        EventFactory.create(pipeline=pipeline, message=f"Run {number} ended: the sink was away.", kind="run.ended")
    for partition in range(4):
        PositionFactory.create(pipeline=pipeline, partition=partition, next_offset=48_210 + partition)
    dead_letters(run)


def finding() -> dict[str, object]:
    return {
        "path": "sources.shop",
        "code": "BELOW_LOG_START",
        "message": MESSAGES[Phase.BLOCKED],
        "suggestion": "Choose where to go on; every choice says how many records it skips or reads again.",
        "severity": "error",
    }


def ended(pipeline: Pipeline, number: int, outcome: RunOutcome) -> Run:
    return RunFactory.create(
        pipeline=pipeline,
        number=number,
        state=RunState.ENDED,
        outcome=outcome,
        ended_at=now(),
        exit_code=0,
        exit_reason="the write did not end within 300 s" if outcome == RunOutcome.KILLED else "",
    )


def log_of(run: Run) -> None:
    """Lines of every level and component, long ones and a trace, on this host."""
    run.host, run.keeper_pid = Host.objects.get(name=settings.HEADGATE.host), 4711
    run.run_dir = str(settings.HEADGATE.state / "runs" / "shop" / str(run.number))
    run.save()
    said = [
        ("INFO", "driver", "batch {0} of shop/main was delivered in {0} ms"),
        ("WARNING", "keeper", "the driver has not reported for {0} s"),
        (
            "ERROR",
            "jvm",
            "Executor: sinks.out refused a record\njava.io.IOException: Broken pipe\n\tat org.example.Sink.write",
        ),
        ("DEBUG", "driver", f"headers of the record: {LONG} {LONG} {LONG}"),
    ]
    lines = []
    for number, (level, component, text) in enumerate(islice(cycle(said), 400)):
        stamp = f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z"
        lines.append(f"{stamp} {level:<7} {component} shop/{run.number}: {text.format(number)}\n")
    directory = Path(run.run_dir)
    directory.mkdir(parents=True)
    (directory / "agent.log").write_text("".join(lines))


def dead_letters(run: Run) -> None:
    """New, replayed and given up; text, JSON, bytes, and one that is cut off."""
    states = cycle(
        [
            DeadLetterState.NEW,
            DeadLetterState.NEW,
            DeadLetterState.NEW,
            DeadLetterState.RETRIED,
            DeadLetterState.DISCARDED,
        ]
    )
    for number, state in enumerate(islice(states, 60)):
        component, cause = CAUSES[number % len(CAUSES)]
        settled = {} if state == DeadLetterState.NEW else {"settled_by": USER, "settled_at": now()}
        DeadLetterFactory.create(
            run=run, component=component, cause=cause, body=BODIES[number % len(BODIES)], state=state, **settled
        )
    DeadLetterFactory.create(run=run, cause="x" * 900, truncated=True, size=3_000_000, body=b"y" * 16_384)


def days() -> None:
    """Every pipeline ran until its present phase began: that of `shop` six hours ago."""
    Pipeline.objects.update(created_at=now() - timedelta(days=3))
    Pipeline.objects.filter(name="shop").update(phase_since=now() - timedelta(hours=6))
    Event.objects.bulk_create(
        Event(
            pipeline=each,
            at=each.phase_since,
            kind="phase.changed",
            message="It changed.",
            data={"old": Phase.RUNNING, "new": each.phase},
        )
        for each in Pipeline.objects.exclude(phase=Phase.RUNNING)
    )
    Pipeline.objects.filter(phase=Phase.RUNNING).update(phase_since=now() - timedelta(days=2))


def others(count: int) -> None:
    """One after the other in every phase."""
    phases = list(islice(cycle(Phase), max(0, count)))
    for number, phase in enumerate(phases):
        resting = phase in {Phase.STOPPED, Phase.PAUSED}
        desired = DesiredState(phase.value) if resting else DesiredState.RUNNING
        name = LONG if number == 0 else f"{['clicks', 'stock', 'invoices'][number % 3]}-{number}"
        PipelineFactory.create(
            name=name,
            phase=phase,
            desired_state=desired,
            phase_message=MESSAGES.get(phase, ""),
            labels={"team": ["web", "data"][number % 2]},
            phase_since=now() - timedelta(minutes=number),
            host=Host.objects.get(name="bravo" if phase == Phase.UNKNOWN else "alpha"),
        )
