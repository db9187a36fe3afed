"""Rows that exist for a user, by the team that owns them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from pipelines.domain.access.teams import Access
from pipelines.models import Pipeline

Row = TypeVar("Row", bound=Model)


def of_teams(rows: QuerySet[Row], access: Access) -> QuerySet[Row]:
    """What pipelines, or teams themselves, have that exist for a user: rows with both, of which one is empty."""
    teams = access.visible
    return rows if teams is None else rows.filter(Q(pipeline__team__in=teams) | Q(pipeline=None, team__in=teams))


def named_rows(rows: QuerySet[Row], access: Access) -> QuerySet[Row]:
    """Rules about everything, about a label, or about a pipeline (`pipeline_name`) that exists for a user."""
    if access.visible is None:
        return rows
    names = visible(Pipeline.objects.filter(archived_at=None), access).values("name")
    return rows.filter(Q(pipeline_name="") | Q(pipeline_name__in=names))


def team_named(pipeline: str) -> int | None:
    """Id of the team of the pipeline with this name; None where there is none."""
    found = Pipeline.objects.filter(archived_at=None, name=pipeline)
    return found.values_list("team", flat=True).first() if pipeline else None


def seen_names(names: Iterable[str], access: Access) -> set[str]:
    """Of these names, those of pipelines that a user may see; of a role in every team all, with those that were
    deleted."""
    wanted = set(names)
    if access.visible is None or not wanted:
        return wanted
    rows = visible(Pipeline.objects.filter(archived_at=None, name__in=wanted), access)
    return set(rows.values_list("name", flat=True))


def usable(rows: QuerySet[Row], teams: Collection[int] | None) -> QuerySet[Row]:
    """The rows that pipelines of any of these teams may use: theirs, and those of the installation; None for all."""
    return rows if teams is None else rows.filter(Q(team=None) | Q(team__in=teams))


def visible(rows: QuerySet[Row], access: Access, path: str = "team", *, shared: bool = False) -> QuerySet[Row]:
    """The rows whose team exists for a user; `shared`: those of the installation, which have no team, as well."""
    teams = access.visible
    if teams is None:
        return rows
    own = Q(**{f"{path}__in": teams})
    return rows.filter(own | Q(**{f"{path}__isnull": True}) if shared else own)
