"""Asking for a dump of a run's stacks, of its keeper and by a file, so that it works with everything else dead."""

from __future__ import annotations

import uuid
from pathlib import Path

from pipelines.domain.base.states import RunState
from pipelines.domain.runs.protocol import DUMP_ORDER, DumpOrder
from pipelines.foundation.errors import Conflict
from pipelines.models import Run
from pipelines.selectors.runs.stacks import is_here
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


def ask(*, run: Run, actor: Actor, host: str, state_dir: Path) -> str:
    """Have the stacks of a living run dumped; returns the id that the dump will have.

    Raises Conflict where the run has ended, or is another host's.
    """
    if run.state == RunState.ENDED:
        raise Conflict(
            f"Run {run.number} of {run.pipeline_name} has ended.",
            code="run_ended",
            hint="Its dumps are at GET /api/v1/runs/{id}/stacks.",
        )
    if not is_here(run, host=host, state_dir=state_dir):
        raise Conflict(
            f"This run is on the host {run.host_id}; this server runs on {host}.",
            code="run_on_other_host",
            hint=f'On {run.host_id}: echo \'{{"id": "1"}}\' > {run.run_dir}/{DUMP_ORDER}; then see stacks/.',
        )
    order = DumpOrder(id=uuid.uuid4().hex)
    try:
        order.store(Path(run.run_dir) / DUMP_ORDER)
    except OSError as error:
        raise Conflict(
            f"The run's directory cannot be written: {error.strerror}.",
            code="run_directory_unwritable",
            hint="Its process may not have started yet; try again.",
        ) from None
    audit.record(actor=actor, action="run.stacks", pipeline_name=run.pipeline_name, team=run.pipeline.team.name)
    return order.id
