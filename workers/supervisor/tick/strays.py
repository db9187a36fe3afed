"""Processes of runs that are over: a peer has taken their pipeline, or a person has declared them lost, while this host
was silent. They are killed, each after its identity was checked; processes of others are left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.domain.base.states import RunState
from pipelines.models import Run
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.lifecycle.supervision import Row
from pipelines.services.base import events, fencing
from workers.ports import Processes, TokenHolders

emit = fencing.fenced(events.record)


@dataclass
class Strays:
    """`_strangers`: tokens of other hosts on this machine, or of other installations, which are looked up only once."""

    host: str
    processes: Processes
    _strangers: set[str] = field(default_factory=set)

    def end(self, rows: Sequence[Row], holders: TokenHolders) -> None:
        """Kill what lives of runs that have ended; no query where every token is known."""
        self._strangers &= holders.keys()
        unknown = holders.keys() - self._strangers - {row.run.token for row in rows if row.run}
        if not unknown:
            return
        runs = supervision.own_runs(self.host, unknown)
        self._strangers |= unknown - {run.token for run in runs}
        for run in runs:
            if run.state == RunState.ENDED:
                self._kill(run, holders)

    def _kill(self, run: Run, holders: TokenHolders) -> None:
        fencing.require_time()
        killed = [each.pid for each in holders[run.token] if self.processes.kill(each, run.token)]
        if killed:
            message = f"Run {run.number} has ended and its processes were alive. Killed: {', '.join(map(str, killed))}."
            emit(kind="run.killed", message=message, pipeline=run.pipeline, run=run, data={"pids": killed})
