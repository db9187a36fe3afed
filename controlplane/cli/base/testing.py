"""Runs of the tests of a definition: made on a host, waited for, and printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from controlplane.cli.base import host_tasks
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session

if TYPE_CHECKING:
    from controlplane.cli.base.client import Client
    from pipelines.domain.definitions.document.spec import Definition

_UNASKED = frozenset(
    {
        "host_silent",
        "not_provisioned",
        "test_failed",
        "test_interrupted",
        "test_timed_out",
        "tests_waiting",
        "timed_out",
    }
)
"""Codes of runs that say nothing about the definition."""
SECONDS = 120.0
"""For which a run of tests is waited for."""


def run_tests(
    session: Session, client: Client, name: str, definition: Any, team: str | None, timeout: float = SECONDS
) -> dict[str, Any]:
    """The run of the tests, once it has ended. CommandError where they could not be run in time."""
    body, words = {"definition": definition, "team": team}, "Running the tests."
    return host_tasks.made(session, client, "test", name, body, running=words, timeout=timeout, at="test-runs")


def print_tests(done: dict[str, Any]) -> None:
    """Each test with its result, and what is not as expected."""
    from controlplane.cli.base import output

    for each in done["tests"]:
        passed = not each["failures"]
        output.print_line(f"{'passed' if passed else 'FAILED'}  {each['name']}", style="green" if passed else "red")
        for failure in each["failures"]:
            by = f" by {failure['component']}" if failure["component"] else ""
            output.print_line(f"  {failure['path']}: {failure['message']}")
            output.print_line(f"    expected: {_shown(failure['expected'])}")
            output.print_line(f"    got{by}: {_shown(failure['got'])}")
    failed = sum(bool(each["failures"]) for each in done["tests"])
    counted = output.counted(len(done["tests"]), "test", "tests")
    output.print_line(f"{counted}, {failed} failed." if failed else f"{counted} passed.")


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value


def require_tests(session: Session, client: Client, name: str, definition: Any, team: str | None) -> None:
    """Run the tests. CommandError with what is not as expected where one fails."""
    from controlplane.cli.base import output

    done = run_tests(session, client, name, definition, team)
    if not done["passed"]:
        raise CommandError(
            f"The tests of {name} failed; nothing was published",
            hint="Correct the definition or the tests.",
            code="tests_not_passed",
            findings=list(_findings(done)),
            exit_code=ExitCode.REFUSED,
        )
    if not session.for_programs:
        output.note(f"{output.counted(len(done['tests']), 'test', 'tests')} passed.")


def check(session: Session, client: Client, name: str, text: Any, definition: Definition, team: str | None) -> None:
    """Run the tests of a definition; without tests, have Spark check its SQL. CommandError with what is wrong; where
    Spark cannot be asked, a note says so and nothing is refused."""
    from controlplane.cli.base import output
    from pipelines.domain.preview.spark_checks import sql_interceptors

    if definition.tests:
        require_tests(session, client, name, text, team)
    elif sql_interceptors(definition):
        try:
            run_tests(session, client, name, text, team)
        except CommandError as error:
            if error.findings or error.code not in _UNASKED:
                raise
            why = error.detail or error.title
            output.note(f"Spark has not checked the SQL; the preflight check of the start does. {why}")


def _findings(done: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in done["tests"]:
        for failure in each["failures"]:
            values = f"Expected {_shown(failure['expected'])}, got {_shown(failure['got'])}."
            message = f"{each['name']}: {failure['message']} {values}"
            suggestion = f"Decided by {failure['component']}." if failure["component"] else ""
            yield {"path": failure["path"], "code": "TESTS_FAILED", "message": message, "suggestion": suggestion}
