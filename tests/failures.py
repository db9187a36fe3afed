"""The plugin of pytest that names each failure when it happens: a run may be cut off before its end."""

from __future__ import annotations

import pytest
from _pytest.terminal import TerminalReporter


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):  # processes of xdist have none
        config.pluginmanager.register(AtOnce(reporter))


class AtOnce:
    """A line for each failure, with what it says first."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        first = (crash.message if crash else report.longreprtext).strip().partition("\n")[0]
        self._reporter.write_line(f"\nFAILED {report.nodeid} in {report.duration:.0f} s: {first[:200]}", red=True)
