"""Roles of people: a viewer looks, an operator acts, an admin also deletes."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """Each role includes the lower ones."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        """The name of the role, and of its group."""
        return self.name.lower()

    @classmethod
    def named(cls, word: str) -> Role:
        """The role of that name; raises KeyError where there is none."""
        return cls[word.upper()]


ROLE_NAMES = [role.word for role in Role]
