"""What a token may do of what its user may: less, and never more."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role

TOKEN_DAYS = 90
"""How long a token holds unless its maker says otherwise."""


@dataclass(frozen=True)
class Scope:
    """`role_cap`: the highest role that counts, whatever the user's is. `read_only`: nothing is changed. `team`: id of
    the team in which alone the user's role counts. `records`: whether it shows what events hold, where its user may
    see that."""

    role_cap: Role | None = None
    read_only: bool = False
    team: int | None = None
    records: bool = True

    def capped(self, role: Role | None) -> Role | None:
        """The role that counts."""
        if role is None or self.role_cap is None:
            return role
        return min(role, self.role_cap)

    def within(self, other: Scope) -> Scope:
        """This scope as far as the other one reaches."""
        return Scope(
            other.capped(self.role_cap) or other.role_cap,
            self.read_only or other.read_only,
            self.team if other.team is None else other.team,
            self.records and other.records,
        )

    def limit(self, access: Access) -> Access:
        """What is left of what a user may reach."""
        return access.capped(role=self.role_cap, team=self.team, records=self.records)


UNLIMITED = Scope()
