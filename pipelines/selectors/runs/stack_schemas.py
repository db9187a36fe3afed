"""Shapes of dumps of stacks, as the API shows them."""

from __future__ import annotations

from datetime import datetime

from pipelines.selectors.base.schemas import Schema


class StackFileSchema(Schema):
    """One text of a dump. `process`: driver, workers or jvm; `text` is empty where it cannot be read here, or where
    newer ones have filled the answer."""

    name: str
    process: str
    text: str


class DumpSchema(Schema):
    """All stacks of a run at one moment. `stop_stage`: sigterm or sigkill where a stop took it (`number` counts its
    interrupts), live where a user asked (`asked`), else why. `stuck`: paths of the components that were at work;
    `silent`: processes that did not answer."""

    stop_stage: str
    number: int
    asked: str
    at: datetime
    stuck: list[str]
    silent: list[int]
    files: list[StackFileSchema]


class StacksSchema(Schema):
    """Dumps of a run's stacks, newest first. `elsewhere`: where the texts lie, if that is not this server's host."""

    run: int
    dumps: list[DumpSchema]
    elsewhere: str


class AskedDumpSchema(Schema):
    """A dump was asked for; it is listed with this id as soon as it is there."""

    asked: str
