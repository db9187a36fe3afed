"""Frames that carry the name of a component, so that a dump of the stacks says by itself who is at work.

The dump is made by faulthandler, in C, without the interpreter's lock: it can show nothing but names of functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def _call(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return action(*args, **kwargs)


@cache
def _named(component: str) -> Callable[..., Any]:
    code = _call.__code__.replace(co_name=component, co_qualname=component)
    return FunctionType(code, {}, component)


def within(component: str, action: Callable[P, R]) -> Callable[P, R]:
    """`action`, called from a frame with the path of a component as its name, for example `sinks.lake`."""
    call = _named(component)
    return cast(Callable[P, R], lambda *args, **kwargs: call(action, *args, **kwargs))
