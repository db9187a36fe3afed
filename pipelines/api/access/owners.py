"""Who owns what a request makes."""

from __future__ import annotations

from pipelines.api.http.base import View
from pipelines.api.http.permissions import needed_role
from pipelines.domain.base.findings import Finding, listed
from pipelines.foundation.errors import Invalid
from pipelines.models import Team
from pipelines.selectors.access.teams import get_team, teams_with


def owner_of_new(view: View, name: str | None, *, path: str = "team") -> Team | None:
    """The team that a request names; without a name the caller's only one, or None for the installation where the
    caller has the role in every team. Raises NotFound, Forbidden below the role, and Invalid where a name is needed."""
    of_all, needed = view.access.everywhere, needed_role(view, view.request.method)
    if name is None and of_all is not None and of_all >= needed:
        return None
    possible = teams_with(view.access, needed) if name is None else [get_team(name, view.access)]
    if len(possible) != 1:
        words = f"You are {needed.word} in several teams: {listed(each.name for each in possible)}."
        finding = Finding(path=path, code="team_missing", message=words, suggestion="Name the one that owns it.")
        raise Invalid("It needs a team.", code="team_missing", findings=[finding])
    (team,) = possible
    view.role = view.require(team.pk)
    return team
