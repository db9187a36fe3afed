"""The alert of the disk that holds a host's runs and checkpoints."""

from __future__ import annotations

from pipelines.domain.hosts.disk import ADVICE, DiskState
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.services.base.fencing import fenced
from pipelines.services.monitoring import alerts

_WORDS = {
    DiskState.LOW: "The disk of {path} on {host} is nearly full. When it is full, no batch starts there. {advice}",
    DiskState.FULL: "The disk of {path} on {host} is full: no batch starts there. {advice}",
}


@fenced
def report(*, host: str, path: str, state: DiskState, lasting: float) -> None:
    """Keep one alert for as long as there is less room than the margin. `lasting`: seconds in this state."""
    if state is DiskState.OK:
        alerts.clear_alert(rule=AlertRule.DISK_LOW, key=host)
        return
    message = _WORDS[state].format(path=path, host=host, advice=ADVICE)
    data = {"host": host, "path": path, "state": state.value}
    alerts.raise_alert(rule=AlertRule.DISK_LOW, key=host, message=message, data=data, lasting=lasting)
