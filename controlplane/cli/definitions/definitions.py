"""Commands about definitions: validate, apply, list, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.base import inputs
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Format, Limit, Name, OfHost, Session, path
from controlplane.cli.base.testing import check

if TYPE_CHECKING:
    from pipelines.domain.definitions.document.spec import Definition

MAX_BYTES = 1024 * 1024

File = Annotated[str, typer.Option("--file", "-f", help="A definition in YAML or JSON; - for standard input.")]


def validate(session: Session, file: File) -> None:
    """Check a definition without a server, and show all findings. The exit code is 4 where there is an error."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.guarantees import guarantees

    validation = _validated(file)
    findings = [finding.model_dump() for finding in validation.findings]
    digest = validation.definition.digest() if validation.definition else None
    promised = guarantees(validation.definition) if validation.definition else []
    answer = {"guarantees": [each.model_dump(mode="json") for each in promised]}
    if not session.printed({"valid": validation.valid, "findings": findings, "digest": digest, **answer}):
        if findings:
            output.console().print(output.findings_grid(findings))
        errors = sum(finding.is_error for finding in validation.findings)
        output.print_line("Valid." if validation.valid else f"Invalid: {output.counted(errors, 'error', 'errors')}.")
        for each in promised:
            output.print_line(f"{each.source}.{each.channel}: {each.guarantee.words}. {' '.join(each.conditions)}")
    if not validation.valid:
        raise typer.Exit(ExitCode.REFUSED)


def apply(
    session: Session,
    file: File,
    right: Right,
    note: Annotated[str, typer.Option("--note", help="The reason, stored with the revision.")] = "",
    team: Annotated[
        str | None,
        typer.Option("--team", metavar="TEAM", help="The team of a new pipeline: your only one, or default."),
    ] = None,
) -> None:
    """Create a pipeline from a definition, or publish a new revision. The pipeline must be stopped for a revision."""
    from controlplane.cli.base import output

    client = session.client()
    text = read_text(file)
    definition = _definition_in(text)
    name = definition.name
    present = client.find(path(name))
    if present is None or present["definition"] != definition.plain():
        check(session, client, name, text, definition, team)
    if sent(session, name, "publish", {"definition": text, "note": note}, right):
        return
    if present is None:
        _, created = client.post("pipelines", {"definition": text, "note": note, "team": team})
        result, revision = "created", created["revision"]
    elif team not in (None, present["team"]):
        raise CommandError(
            f"{name} is in the team {present['team']}; nothing was published",
            hint=f"headgate teams move {name} --to {team}",
            code="other_team",
            exit_code=ExitCode.REFUSED,
        )
    else:
        status, published = client.post(path(name, "revisions"), {"definition": text, "note": note})
        same = "reworded" if present["definition_yaml"] != text else "unchanged"
        result, revision = "revised" if status == 201 else same, published["number"]
    if not session.printed({"name": name, "result": result, "revision": revision}):
        words = {
            "created": "created",
            "revised": f"revision {revision}",
            "reworded": f"text of revision {revision} changed; the definition is the same",
            "unchanged": f"unchanged (revision {revision})",
        }
        output.print_line(f"{name}: {words[result]}")


def diff(session: Session, file: File) -> None:
    """Show what a definition would change of its pipeline, and what each change means. Nothing is stored."""
    from controlplane.cli.base import output

    text = read_text(file)
    name = _definition_in(text).name
    _, found = session.client().post(path(name, "diff"), {"definition": text})
    if session.printed(found):
        return
    rows = [
        (each["change"]["path"], *_sides(each["change"]), each["consequence"].replace("_", " "), each["reason"])
        for each in found["changes"]
    ]
    empty = f"{name}: the definition is that of revision {found['revision']}."
    output.table(("key", "current", "new", "consequence", "why"), rows, empty=empty)


def _sides(change: dict[str, Any]) -> tuple[str, str]:
    from controlplane.cli.base import output

    old, new = (
        "" if change["op"] == missing else value if isinstance(value, str) else output.yaml_text(value)
        for missing, value in (("add", change["old"]), ("remove", change["new"]))
    )
    return old, new


def list_pipelines(
    session: Session,
    phase: Annotated[str | None, typer.Option("--phase", help="Only this phase, such as RUNNING.")] = None,
    team: Annotated[str | None, typer.Option("--team", help="Only those of this team.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="Only this label, NAME:VALUE.")] = None,
    host: OfHost = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Part of the name or description.")] = None,
    limit: Limit = 1000,
) -> None:
    """List pipelines."""
    from controlplane.cli.base import output

    filters = {"phase": phase and phase.upper(), "team": team, "label": label, "host": host, "q": query}
    found = session.client().pages("pipelines", limit=limit, **filters)
    if session.printed(found):
        return
    columns = ("name", "team", "phase", "desired state", "records/s", "lag", "host", "revision", "since")
    output.table(columns, map(_row, found), empty=output.no_pipelines(filters.values()))


def _row(pipeline: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    live = pipeline["live"]
    return (
        pipeline["name"],
        pipeline["team"],
        pipeline["phase"],
        pipeline["desired_state"],
        live["records_per_second"],
        live["lag_records"],
        pipeline["host"],
        pipeline["revision"],
        ago(pipeline["phase_since"]),
    )


def show(
    session: Session,
    name: Name,
    definition: Annotated[
        bool, typer.Option("--definition", help="Print only the definition, as it was written, comments included.")
    ] = False,
    revision: Annotated[
        int | None, typer.Option("--revision", min=1, metavar="N", help="With --definition: that of an older revision.")
    ] = None,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="With --definition: every key, without comments; -o json has all, too.")
    ] = False,
) -> None:
    """Show a pipeline, or its definition."""
    from controlplane.cli.base import output

    if (defaults or revision is not None) and not definition:
        raise CommandError.of_usage("--revision and --defaults need --definition.")
    where = path(name) if revision is None else path(name, "revisions", str(revision))
    found = session.client().get(where)
    if definition:
        _print_definition(session, found, defaults=defaults)
    elif not session.printed(found):
        output.table(("", ""), _facts(found), empty="")


def _print_definition(session: Session, found: dict[str, Any], *, defaults: bool) -> None:
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.text import dump

    if session.format is Format.JSON:
        session.printed(found["definition"])
    else:
        text = dump(found["definition"]) if defaults else found["definition_yaml"]
        output.write_text(text if text.endswith("\n") else f"{text}\n")


def _facts(pipeline: dict[str, Any]) -> list[tuple[str, object]]:
    possible = [action["name"] for action in pipeline["allowed_actions"] if action["allowed"]]
    labels = ", ".join(f"{key}:{value}" for key, value in pipeline["labels"].items())
    names = (
        "name",
        "team",
        "description",
        "phase",
        "phase_message",
        "desired_state",
        "stop_reason",
        "revision",
        "host",
    )
    facts = [(name.replace("_", " "), pipeline[name]) for name in names]
    return [
        *facts,
        ("labels", labels),
        ("restarts", pipeline["restart_count"]),
        ("allowed actions", ", ".join(possible)),
    ]


def _validated(file: str) -> Any:
    from pipelines.domain.definitions.checks.validate import validate_text

    return validate_text(read_text(file))


def read_text(file: str) -> str:
    """The text of a file, or of standard input; CommandError where it is too large, not text, or missing."""
    return inputs.read_text(file, most=MAX_BYTES, what="a definition", encoding="utf-8-sig")


def valid(file: str) -> Definition:
    """The definition in a file. Raises CommandError where it has findings."""
    return _definition_in(read_text(file))


def _definition_in(text: str) -> Definition:
    """The definition, valid as far as this program knows."""
    from pipelines.domain.definitions.checks.validate import validate_text

    validation = validate_text(text)
    if validation.definition is None:
        findings = [finding.model_dump() for finding in validation.findings]
        raise CommandError(
            "The definition has findings", code="definition_invalid", exit_code=ExitCode.REFUSED, findings=findings
        )
    return validation.definition
