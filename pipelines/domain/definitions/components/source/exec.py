"""What a command prints (Flume's ExecSource)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipelines.domain.base.roles import Role
from pipelines.domain.base.values import Syntax, refuse
from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.sources.push_source import PushSourceSpec

Argument = Annotated[str, Field(max_length=32_768)]
Charset = Annotated[
    str, Syntax("invalid_charset", r"[A-Za-z0-9][A-Za-z0-9._:-]{0,39}", "Use the name of a charset, such as UTF-8.")
]


class ExecSource(PushSourceSpec):
    """Runs a command and takes each line of its output. What the command printed before the ingest buffer had it is
    lost if the agent ends: at most once up to the buffer, at least once from there. Only administrators may publish
    it."""

    title: ClassVar[str] = "Command"
    required_role: ClassVar[Role] = Role.ADMIN
    type: Literal["exec"] = field("Chooses this source.", example="exec")
    command: str | list[Argument] = field(
        "The command: a list of program and arguments, or a text, which is split at white space, or given whole to "
        "`shell`.",
        example=["tail", "-F", "/var/log/shop.log"],
        min_length=1,
    )
    shell: list[Argument] = field(
        "A shell with its arguments; the command is added as one more argument, so that quotes and pipes work.",
        default=[],
        example=["/bin/bash", "-c"],
        max_length=16,
    )
    restart: bool = field("Start the command again when it ends.", default=False, example=True)
    restart_throttle_ms: int = field(
        "The wait before it is started again.", default=10_000, example=1000, unit="ms", ge=0, le=3_600_000
    )
    log_stderr: bool = field(
        "Write the command's standard error to the agent's log. If the command fails, its last line is shown anyway.",
        default=False,
        example=True,
    )
    batch_size: int = field(
        "Lines in one append to the ingest buffer.", default=20, example=500, unit="events", ge=1, le=10_000
    )
    batch_timeout_ms: int = field(
        "The longest that lines wait for their append.", default=3000, example=100, unit="ms", ge=1, le=600_000
    )
    charset: Charset = field("The charset of the output; bodies are UTF-8.", default="UTF-8", example="ISO-8859-1")
    max_line_bytes: int = field(
        "The longest line. A longer one becomes a dead letter that says how long it was; it is never cut silently.",
        default=1 << 20,
        example=65_536,
        unit="bytes",
        ge=1,
        le=64 << 20,
    )

    @model_validator(mode="after")
    def _forms_agree(self) -> Self:
        if self.shell and not isinstance(self.command, str):
            refuse("command_for_shell", "With `shell`, the command is one text.", "Write the command as text.")
        if self.batch_size > self.transaction_capacity:
            refuse(
                "batch_too_large",
                f"batch_size ({self.batch_size}) is higher than transaction_capacity ({self.transaction_capacity}).",
                "Lower batch_size, or raise transaction_capacity.",
            )
        return self

    def argv(self) -> list[str]:
        """The program and its arguments. The types are checked."""
        command = self.command
        if isinstance(command, str):
            return [*self.shell, command] if self.shell else command.split()
        return list(command)
