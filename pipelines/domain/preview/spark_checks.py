"""What of a definition Spark alone can check: the expressions of its `sql` interceptors."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.domain.base.findings import Finding, dotted
from pipelines.domain.definitions.document.spec import Definition

NOT_CHECKED = "SQL_NOT_CHECKED"


def sql_interceptors(definition: Definition) -> dict[str, list[str]]:
    """Paths of the interceptors whose expressions Spark checks, by source; without sources that have none."""
    found = {
        name: [
            dotted(("sources", name, "interceptors", number))
            for number, each in enumerate(source.interceptors)
            if each.type == "sql"
        ]
        for name, source in definition.sources.items()
    }
    return {name: paths for name, paths in found.items() if paths}


def about_sql(findings: Iterable[Finding], definition: Definition) -> list[Finding]:
    """Those that lie in an interceptor whose expressions Spark checks. They follow from the definition alone."""
    paths = tuple(path for each in sql_interceptors(definition).values() for path in each)
    return [
        each for each in findings if each.path in paths or each.path.startswith(tuple(f"{path}." for path in paths))
    ]


def not_checked(definition: Definition) -> list[Finding]:
    """A warning for each such interceptor."""
    return [
        Finding(
            path=path,
            code=NOT_CHECKED,
            message="Spark has not checked these expressions yet.",
            suggestion="Run tests in the editor or headgate test to check them now; the preflight check of every start "
            "does.",
            severity="warning",
        )
        for paths in sql_interceptors(definition).values()
        for path in paths
    ]
