"""A writer is killed at any byte: what was committed is there, what was not is gone, and nothing else changes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.unit.agent.test_ingest_buffer import Limits
from workers.agent.push import frames
from workers.agent.push import log as logs
from workers.agent.push.event import Event, record_batch
from workers.agent.push.log import IngestBuffer, LogFull
from workers.agent.push.reader import events

LIMITS = Limits(capacity=60, transaction_capacity=20, byte_capacity=4000)
BODIES = st.lists(st.binary(max_size=200), min_size=1, max_size=25)


class Crashes(RuleBasedStateMachine):
    """One log, its writer, and what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="ingest_buffer-"))
        self.committed: list[bytes] = []
        self.acknowledged = 0
        self.open()

    def open(self) -> None:
        self.log = IngestBuffer(self.directory, LIMITS, durable=False)

    def teardown(self) -> None:
        self.log.close()
        shutil.rmtree(self.directory)

    @rule(bodies=BODIES)
    def append(self, bodies: list[bytes]) -> None:
        fits = self.fits(bodies)
        try:
            assert self.log.append(record_batch([Event(body) for body in bodies])) == len(self.committed)
        except LogFull:
            assert not fits
        else:
            assert fits
            self.committed += bodies

    def fits(self, bodies: list[bytes]) -> bool:
        held = len(self.committed) - self.acknowledged
        events, used = self.log.fill()
        assert events == held
        size = sum(map(len, bodies))
        return len(bodies) <= 20 and held + len(bodies) <= 60 and used + size <= 3200

    @rule(bodies=BODIES, cut=st.floats(0, 1), rolled=st.booleans())
    def killed_in_the_middle_of_a_write(self, bodies: list[bytes], cut: float, rolled: bool) -> None:
        frame, _ = frames.encode(self.log.end, record_batch([Event(body) for body in bodies]), "torn")
        torn = frame[: int(cut * (len(frame) - 1))]
        found = frames.segments(self.directory)
        path = frames.segment_path(self.directory, self.log.end) if rolled or not found else found[-1][1]
        with path.open("ab") as segment:
            segment.write(torn)
        self.log.close()
        self.open()

    @rule(bodies=BODIES)
    def killed_between_the_write_and_its_report(self, bodies: list[bytes]) -> None:
        if not self.fits(bodies):
            return
        reported = (self.directory / "end").read_bytes()
        self.log.append(record_batch([Event(body) for body in bodies]))
        (self.directory / "end").write_bytes(reported)
        self.log.close()
        self.committed += bodies
        self.open()

    @rule(share=st.floats(0, 1))
    def acknowledge(self, share: float) -> None:
        offset = self.acknowledged + int(share * (len(self.committed) - self.acknowledged))
        logs.acknowledge(self.directory, offset)
        self.acknowledged = max(self.acknowledged, offset)

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.open()

    @invariant()
    def everything_that_is_not_acknowledged_can_be_read(self) -> None:
        assert self.log.end == len(self.committed) == logs.end(self.directory)
        found = [event.body for event in events(self.directory, self.acknowledged, self.log.end)]
        assert found == self.committed[self.acknowledged :]


def test_a_log_survives_every_crash() -> None:
    run_state_machine_as_test(Crashes, settings=settings(max_examples=60, stateful_step_count=30, deadline=None))
