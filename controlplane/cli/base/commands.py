"""Groups of commands. What many commands share is declared once and becomes part of their signatures here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

import typer

from controlplane.cli.base.session import Format, Output, Session

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

Function = TypeVar("Function", bound=Callable[..., None])

_CONTEXT = Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)
_OUTPUT = Parameter("output", Parameter.KEYWORD_ONLY, default=Format.TABLE, annotation=Output)


class Group(typer.Typer):
    """A noun, or the program itself. Its commands are functions of a Session."""

    def __init__(self, help: str, **settings: Any) -> None:  # noqa: A002 - Typer's name
        super().__init__(help=help, no_args_is_help=True, context_settings=HELP_OPTIONS, **settings)

    def verb(self, name: str | None = None, *, panel: str | None = None) -> Callable[[Function], Function]:
        """Register a command that prints data, with `--output`."""
        return self._register(name, panel, [_OUTPUT])

    def text_verb(self, name: str | None = None, *, panel: str | None = None) -> Callable[[Function], Function]:
        """Register a command that prints one fixed document, without `--output`."""
        return self._register(name, panel, [])

    def noun(self, group: Group, name: str, *, panel: str | None = None) -> None:
        """Register a group of commands below this one."""
        self.add_typer(group, name=name, rich_help_panel=panel)

    def _register(self, name: str | None, panel: str | None, added: list[Parameter]) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            self.command(name, rich_help_panel=panel)(_command(function, added))
            return function

        return register


def _command(function: Callable[..., None], added: list[Parameter]) -> Callable[..., None]:
    """The function as Typer calls it: a context instead of the session, and the fields of a dataclass instead of it."""
    kinds = get_type_hints(function, include_extras=True)
    parameters = list(signature(function).parameters.values())[1:]
    groups = {each.name: kinds[each.name] for each in parameters if is_dataclass(kinds[each.name])}

    @wraps(function)
    def run(ctx: typer.Context, **given: Any) -> None:
        session: Session = ctx.obj
        session.format = given.pop("output", Format.TABLE)
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        function(session, **given)

    expanded = [each for parameter in parameters for each in _expanded(parameter, kinds[parameter.name])]
    run.__signature__ = Signature([_CONTEXT, *expanded, *added])  # type: ignore[attr-defined]
    return run


def _expanded(parameter: Parameter, kind: Any) -> Iterator[Parameter]:
    if not isinstance(kind, type) or not is_dataclass(kind):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)
        return
    kinds = get_type_hints(kind, include_extras=True)
    options: Callable[..., Any] = kind
    for option in signature(options).parameters.values():
        yield option.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[option.name])
