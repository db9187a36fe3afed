"""Groups of commands that are commands themselves: `positions NAME` is `positions show NAME`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def falling_to(command: str) -> type[TyperGroup]:
    """A group that puts `command` before anything that is no command of it; a pipeline that is called like one of them
    needs the long form."""

    class Falling(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
                args = [command, *args]
            return super().parse_args(ctx, args)

    return Falling
