"""`headgate installation`: whether the parts of the installation work, and how it is set up."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Session


def installation(
    session: Session,
    settings: Annotated[
        bool, typer.Option("--settings", help="List the settings instead, for administrators of all teams.")
    ] = False,
    interceptors: Annotated[
        bool, typer.Option("--interceptors", help="List the classes of Python interceptors instead.")
    ] = False,
) -> None:
    """Show the version, and whether the database, Redis, queues, workers and disks work.

    Exit code 1 where a part has failed.
    """
    from controlplane.cli.base import output

    if interceptors:
        classes = session.client().get("installation/interceptors")
        if not session.printed(classes):
            heads = ("class", "registered", "package", "used by")
            output.table(heads, map(_class, classes), empty="No classes. See HEADGATE_INTERCEPTORS.")
        return
    if settings:
        found = session.client().get("installation/settings")
        if not session.printed(found):
            output.table(("variable", "value", "from"), map(_setting, found), empty="No settings.")
        return
    overview = session.client().get("installation")
    if not session.printed(overview):
        output.print_line(f"Headgate {overview['version']}, answered by {overview['host']}")
        columns = ("part", "of", "state", "detail", "answer", "checked")
        output.table(columns, map(_check, overview["checks"]), empty="Nothing is checked.")
    if failed := [_name(each) for each in overview["checks"] if each["state"] == "FAILED"]:
        hint = next((each["hint"] for each in overview["checks"] if each["state"] == "FAILED"), "")
        raise CommandError("A part of the installation does not work", ", ".join(failed), hint, "part_failed")


def _check(check: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    took = None if check["milliseconds"] is None else f"{check['milliseconds']:g} ms"
    detail = " ".join(filter(None, (check["detail"], check["hint"])))
    return check["kind"].replace("_", " "), check["subject"], check["state"], detail, took, ago(check["checked_at"])


def _name(check: dict[str, Any]) -> str:
    return " ".join(filter(None, (check["kind"].replace("_", " "), check["subject"])))


def _setting(setting: dict[str, Any]) -> tuple[object, ...]:
    return setting["variable"], setting["value"], setting["source"]


def _class(each: dict[str, Any]) -> tuple[object, ...]:
    package = f"{each['package']} {each['version']}" if each["package"] else None
    return each["name"], each["registered"], package, ", ".join(each["used_by"])
