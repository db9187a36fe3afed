"""The plugin of pytest that records what each module of tests costs, where `TEST_TIMES` names a directory."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.times import records
from tests.times.processes import MARK, Sampler

INTERVAL = 0.25  # seconds between two looks at the processes


def pytest_configure(config: pytest.Config) -> None:
    directory = records.directory()
    if directory is None:
        return
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SessionTime(directory, _session(config)))
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(ModuleTimes(directory, _session(config)))


def _session(config: pytest.Config) -> str:
    return " ".join(dict.fromkeys(argument.partition("::")[0] for argument in config.args))


class SessionTime:
    """How long the session took, and the CPU seconds of the process that hands out the tests, where there is one."""

    def __init__(self, directory: Path, session: str) -> None:
        self._directory, self._session = directory, session
        self._started = time.perf_counter()

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        cpu = time.process_time() if config.getoption("numprocesses", None) else 0.0
        records.write(self._directory, records.Step(self._session, time.perf_counter() - self._started, cpu))


class ModuleTimes:
    """What happens in this worker belongs to the module of the test that it runs at that moment, or ran last."""

    def __init__(self, directory: Path, session: str) -> None:
        self._directory, self._session = directory, session
        self._modules: dict[str, records.Module] = {}
        self._current = self._module("collection")
        self._cpu = 0.0
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        mark = f"{os.getpid()}-{time.time_ns()}"
        os.environ[MARK] = mark
        os.environ.pop(records.VARIABLE, None)  # a session that a test starts is a part of that test
        self._sampler = Sampler(mark, str(session.config._tmp_path_factory.getbasetemp()))  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._watch, name="test-times", daemon=True)
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, location: tuple[str, int | None, str]) -> None:
        if location[0] != self._current.path:
            self._note()
            self._current = self._module(location[0])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        module = self._module(report.location[0])
        module.seconds += report.duration
        module.tests += report.when == "setup"

    def pytest_sessionfinish(self) -> None:
        self._ended.set()
        self._thread.join()
        self._note()
        records.write(self._directory, *self._modules.values())

    def _module(self, path: str) -> records.Module:
        return self._modules.setdefault(path, records.Module(path, self._session))

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._note()

    def _note(self) -> None:
        """Give what is new since the last look to the current module."""
        with self._lock:
            started, cpu = self._sampler.sample()
            module = self._current
            module.cpu += cpu - self._cpu
            self._cpu = cpu
            for kind, number in started.items():
                module.started[kind] = module.started.get(kind, 0) + number
