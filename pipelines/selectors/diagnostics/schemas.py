"""What the API answers about the installation."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import RootModel

from pipelines.domain.diagnostics.health import CheckKind, CheckState
from pipelines.selectors.base.schemas import Schema


class CheckSchema(Schema):
    """One part of the installation. `subject`: the queue or the host, empty for the database and Redis. `checked_at`:
    when it was checked, by the web server or by a worker. `milliseconds`: of the answer, the last tick or the last
    message."""

    kind: CheckKind
    subject: str
    state: CheckState
    detail: str
    hint: str
    checked_at: datetime | None
    milliseconds: float | None


class InstallationSchema(Schema):
    """The installation as the web server on `host` finds it, which has `version`."""

    version: str
    host: str
    checked_at: datetime
    checks: list[CheckSchema]


class SettingSchema(Schema):
    """One setting of the web server that answers. `value` is null where it is not set, and asterisks where it is
    `secret`; URLs are shown without log-ins. `docs`: the page of the documentation about it, empty without one."""

    name: str
    variable: str
    section: str
    description: str
    docs: str
    value: str | None
    default: str | None
    source: Literal["environment", "default"]
    secret: bool


class SettingsSchema(RootModel[list[SettingSchema]]):
    """Every setting."""


class InterceptorClassSchema(Schema):
    """A class that `python` interceptors name, as module:Class. `registered`: whether the web server's registry has it;
    workers have registries of their own, which count for runs. `listed`: by HEADGATE_INTERCEPTORS; `package` and
    `version`: the installed package whose entry point names it."""

    name: str
    registered: bool
    listed: bool
    package: str | None
    version: str | None
    used_by: list[str]


class InterceptorClassesSchema(RootModel[list[InterceptorClassSchema]]):
    """Every class."""
