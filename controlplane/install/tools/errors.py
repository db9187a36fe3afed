"""The one error of set-up: what is wrong, and the command that helps."""

from __future__ import annotations

SETUP_HINT = "Run `headgate setup`, or `make setup` in a checkout."


class SetupError(Exception):
    """Something that set-up needs is missing or wrong; `hint` says what to do next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\n  {hint}")
        self.message = message
        self.hint = hint
