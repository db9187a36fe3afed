"""Interceptors written in Python, out of the administrator's registry."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict

from pipelines.domain.base.values import Duration, Syntax, refuse
from pipelines.domain.definitions.parts.component import InterceptorSpec, field

ClassName = Annotated[
    str,
    Syntax(
        "invalid_class",
        r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*",
        'Write "module:Class", such as "acme.orders:Enrich".',
    ),
]


def _not_zero(seconds: float) -> float:
    if seconds == 0:
        refuse("out_of_range", "An interceptor cannot initialise in no time.", "Use more than 0 seconds.")
    return seconds


class PythonInterceptor(InterceptorSpec):
    """Gives events to a Python class, in Arrow batches. It may change, drop, split and refuse them.

    Only classes of the administrator's registry run (HEADGATE_INTERCEPTORS, or entry points of the group
    headgate.interceptors). All channels of the source share one read.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    title: ClassVar[str] = "Python"
    type: Literal["python"] = field("Chooses this interceptor.", example="python")
    class_name: ClassName = field("The class, as module:Class.", example="acme.orders:Enrich", alias="class")
    config: dict[str, Any] = field(
        "What the class gets as its configuration; references are resolved.",
        default={},
        example={"country": "CZ"},
        secret=True,
    )
    on_error: Literal["dead_letter", "fail", "drop"] = field(
        "What becomes of an event for which the class raises an exception: `dead_letter`; `fail` fails the batch; "
        "`drop` counts it as filtered. An initialisation that fails, whenever it happens, always fails the batch.",
        default="dead_letter",
        example="fail",
    )
    init_timeout: Annotated[Duration, AfterValidator(_not_zero)] = field(
        "How long `initialize` may take, in each process.", default=60.0, example="30s", unit="seconds"
    )
    batch_timeout: Duration = field(
        "How long the class may work on one Arrow batch. A loop without end is interrupted then; the batch fails "
        "and is tried again, and at the third time its records are named. A call into C is not "
        "interrupted. 0: no limit.",
        default=600.0,
        example="30s",
        unit="seconds",
    )

    @property
    def repeatable(self) -> bool:
        """Nobody knows what the class does."""
        return False
