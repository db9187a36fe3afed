"""Roles of people: a viewer looks, an operator acts, an approver also approves, an administrator also deletes and
grants."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, cast

RoleWord = Literal["viewer", "operator", "approver", "admin"]


class Role(IntEnum):
    """Each role includes the lower ones."""

    VIEWER = 1
    OPERATOR = 2
    APPROVER = 3
    ADMIN = 4

    @property
    def word(self) -> RoleWord:
        """The name of the role."""
        return cast("RoleWord", self.name.lower())

    @classmethod
    def named(cls, word: str) -> Role:
        """The role of that name; raises KeyError where there is none."""
        return cls[word.upper()]


ROLE_NAMES = [role.word for role in Role]
