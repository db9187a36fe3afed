"""The watch in its background loop: everything that it looks after happens by itself, and it ends when told to."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import Phase
from pipelines.foundation import clock
from pipelines.models import Alert, ExternalGroup, GroupSnapshot, LagPoint, Run
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import watching
from pipelines.services.monitoring.watching import ExternalGroupSettings
from tests.db.test_lag import NoSecrets, reports
from tests.factories import HostFactory, LedgerBatchFactory, PipelineFactory, RunFactory
from tests.fakes.brokers import FakeBrokers
from tests.fakes.receivers import FreeLock
from tests.waiting import wait_for
from workers.adapters.secrets import backends
from workers.supervisor.background.watch import watch
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db(transaction=True)


def test_lag_output_alerts_and_groups_are_watched_until_the_worker_ends(tmp_path: Path) -> None:
    HostFactory.create(name="alpha")
    PipelineFactory.create(name="bills", phase=Phase.BLOCKED, phase_message="Decide.")
    run = RunFactory.create(pipeline=PipelineFactory.create(name="orders", phase=Phase.RUNNING))
    reports(run, time.time(), 50, 60)
    Run.objects.filter(pk=run.pk).update(started_at=clock.now() - timedelta(hours=1))
    for minutes in (1, 4):
        LedgerBatchFactory.create(
            run=run, read=900, filtered=900, delivered=0, done_at=clock.now() - timedelta(minutes=minutes)
        )
    watching.watch(wanted=ExternalGroupSettings("billing", "broker:9092", interval=1.0), actor=Actor("ana"))
    key = TopicPartition("orders-in", 0)
    brokers = FakeBrokers(times={key: [time.time()] * 100}, committed={key: 40})
    watcher = watch("alpha", tmp_path, brokers, References(backends({}, None, NoSecrets()))).loop(FreeLock())
    watcher.start()
    wait_for(lambda: Alert.objects.filter(rule="blocked", key="bills").exists(), "an alert")
    wait_for(lambda: Alert.objects.filter(rule="output", key="orders").exists(), "an alert about output")
    wait_for(lambda: LagPoint.objects.filter(pipeline=run.pipeline, records=10).exists(), "a point of lag")
    wait_for(lambda: GroupSnapshot.objects.count() > 1, "two looks at the group")
    assert watcher.stop(30)
    assert ExternalGroup.objects.get().error == ""
