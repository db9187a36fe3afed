"""What a user may reach: a role in every team, or roles in some of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipelines.domain.base.roles import Role


@dataclass(frozen=True)
class Access:
    """Roles of one user. `everywhere` counts in every team and for the installation itself, `teams` by id of a team.
    `records`: ids of the teams whose records the user may see, None for all teams; who is no operator sees none."""

    everywhere: Role | None = None
    teams: Mapping[int, Role] = field(default_factory=dict)
    records: frozenset[int] | None = None

    @property
    def highest(self) -> Role | None:
        """The highest role in any team; None for a user without a role."""
        return max([*self.teams.values(), *([self.everywhere] if self.everywhere else [])], default=None)

    @property
    def visible(self) -> frozenset[int] | None:
        """Ids of the teams whose pipelines exist for this user; None for all teams."""
        return None if self.everywhere else frozenset(self.teams)

    def role_in(self, team: int | None) -> Role | None:
        """The role in a team; in the installation itself for None."""
        own = self.teams.get(team) if team is not None else None
        return max((role for role in (own, self.everywhere) if role), default=None)

    def sees(self, team: int | None) -> bool:
        """Whether what this team owns exists for this user; what the installation owns exists for everybody."""
        return team is None or self.everywhere is not None or team in self.teams

    def owns(self, team: int | None) -> bool:
        """Whether what a team does exists for this user; what the installation does exists for a role in every team."""
        return self.everywhere is not None or team in self.teams

    def sees_records(self, team: int) -> bool:
        """Whether the user may see what events of this team's pipelines hold."""
        role = self.role_in(team)
        return role is not None and role >= Role.OPERATOR and (self.records is None or team in self.records)

    def teams_with(self, role: Role) -> frozenset[int] | None:
        """Ids of the teams in which the user has this role or a higher one; None for all teams."""
        if self.everywhere is not None and self.everywhere >= role:
            return None
        return frozenset(team for team, own in self.teams.items() if own >= role)

    def capped(self, *, role: Role | None = None, team: int | None = None, records: bool = True) -> Access:
        """The same with no role above `role`, in no other team than `team`, and without `records` where they are not to
        be seen."""
        everywhere, teams = self.everywhere, dict(self.teams)
        if team is not None:
            own = self.role_in(team)
            everywhere, teams = None, {team: own} if own else {}
        if role is not None:
            everywhere = min(everywhere, role) if everywhere else None
            teams = {each: min(own, role) for each, own in teams.items()}
        return Access(everywhere, teams, self.records if records else frozenset())


EVERYTHING = Access(Role.ADMIN)
"""What Headgate itself reaches."""


def access_from(bindings: Iterable[tuple[int | None, int, bool]]) -> Access:
    """The access that rows of (id of a team or None for all, value of a role, whether it shows records) add up to."""
    everywhere: Role | None = None
    teams: dict[int, Role] = {}
    records: set[int | None] = set()
    withheld = False
    for team, value, shows_records in bindings:
        role = Role(value)
        if role >= Role.OPERATOR:
            records.update({team} if shows_records else ())
            withheld = withheld or not shows_records
        if team is None:
            everywhere = max(role, everywhere or role)
        else:
            teams[team] = max(role, teams.get(team, role))
    of_all = None in records or not withheld
    return Access(everywhere, teams, None if of_all else frozenset(each for each in records if each is not None))
