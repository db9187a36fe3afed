"""Named points at which an agent or a worker can be made to kill itself, so that tests show what survives it there.

Only tests set the variable HEADGATE_FAULT_AT: `POINT`, `POINT:3` for the third time that it is reached, `POINT:3+0.25`
for a quarter of a second after that. A process passes over the points of others. Without the variable a point costs
one comparison.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from dataclasses import dataclass

VARIABLE = "HEADGATE_FAULT_AT"

AGENT_POINTS = {
    "agent.compared": "Ledger, checkpoint and log agree; first positions and what the sinks hold are in the journal.",
    "agent.resolved": "The sinks said how much of an unfinished batch they hold, and that is in the journal.",
    "agent.ready": "Every component is initialised; no query was started.",
    "agent.offered": "Spark has logged the batch's offsets; nothing of it is planned.",
    "agent.planned": "`planned` is in the journal; the sink was not touched.",
    "agent.writing": "The sink starts to receive the batch; with a delay it has some of it.",
    "agent.staged": "A sink with commits of its own has the whole batch where no reader sees it.",
    "agent.committed": "A sink with commits of its own has committed the batch; the agent does not know it yet.",
    "agent.delivered": "The sink has acknowledged the batch; its dead letters are not kept.",
    "agent.dead_letters": "The batch's dead letters are kept; it is not done.",
    "agent.done": "`done` is in the journal; Spark's commit is not written.",
    "agent.resting": "Spark's commit of the last batch is on disk, and none is in flight.",
    "agent.leaving": "A stop was obeyed and the queries have ended; the exit is not recorded.",
}
WORKER_POINTS = {
    "worker.intended": "A run and its token are in the database; nothing of it is on the host.",
    "worker.prepared": "The run directory is written; there is no keeper.",
    "worker.spawned": "The keeper has detached; the database knows no process.",
    "worker.recorded": "The processes of the run are in the database.",
    "worker.commanding": "A stop is recorded in the database; the agent has not received it.",
    "worker.commanded": "The agent was given a new command.",
    "worker.ingested": "A piece of a journal is in the database, and how far it was read.",
    "worker.ended": "The end of a run is in the database.",
}
MIGRATION_POINTS = {
    "worker.step_intended": "The intent of a migration's step is in the database; nothing of it was done.",
    "worker.step_acted": "What the step asks for is in the database; that it was done is not.",
    "worker.step_recorded": "What came of the step is in the database.",
    "worker.migration_ended": "The end of a migration is in the database.",
}
POINTS = {**AGENT_POINTS, **WORKER_POINTS, **MIGRATION_POINTS}

_FORM = re.compile(r"(?P<point>[a-z_.]+)(:(?P<time>[1-9]\d*))?(\+(?P<delay>\d+(\.\d+)?))?")


@dataclass
class Fault:
    """`left`: how often the point has to be reached yet; `delay`: seconds after that."""

    point: str
    left: int = 1
    delay: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Fault:
        """What the variable says. Raises ValueError: a fault that never strikes would prove nothing."""
        found = _FORM.fullmatch(text)
        if found is None or found["point"] not in POINTS:
            raise ValueError(f"{VARIABLE}={text} is not POINT[:TIME][+SECONDS] with one of {', '.join(POINTS)}")
        return cls(found["point"], int(found["time"] or 1), float(found["delay"] or 0))

    def reached(self, point: str) -> bool:
        """Count; True when it is time to die."""
        if point != self.point:
            return False
        self.left -= 1
        return self.left == 0


_lock = threading.Lock()
_fault = Fault.parse(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def reach(point: str) -> None:
    """The process has come to a point of `POINTS`."""
    if _fault is not None:
        _strike(_fault, point)


def _strike(fault: Fault, point: str) -> None:
    with _lock:
        due = fault.reached(point)
    if due and fault.delay:
        timer = threading.Timer(fault.delay, _die)
        timer.daemon = True
        timer.start()
    elif due:
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
