"""The reports of migrations that are committed as examples: they verify, nobody can change them, their pages agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from controlplane.cli.app import app
from controlplane.cli.base.errors import ExitCode
from controlplane.cli.migration.files import cluster_move_of, migration_of
from controlplane.management.commands.render_migration_examples import index
from pipelines.domain.migration import evidence, report
from tests.chaos.examples import FOLDER, keep_example, problems
from tests.unit.domain.migration.test_report import content

EXAMPLES = sorted(FOLDER.glob("*.json"))
ALL = pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)


def verified(file: Path) -> int:
    return CliRunner().invoke(app, ["migrations", "verify", str(file)]).exit_code


@ALL
def test_an_example_verifies(file: Path) -> None:
    assert verified(file) == ExitCode.OK


@ALL
def test_an_example_in_which_one_digit_was_changed_does_not_verify(file: Path, tmp_path: Path) -> None:
    text = file.read_text()
    forged = tmp_path / "forged.json"
    places = [found.start(1) for found in re.finditer(r"(?<=[ :\[,])(\d)(?=[\d,\n\]}])", text)]
    assert places
    for place in (places[0], places[len(places) // 2], places[-1]):
        forged.write_text(f"{text[:place]}{(int(text[place]) + 1) % 9 + 1}{text[place + 1 :]}")
        if json.loads(forged.read_text()) != json.loads(text):
            assert verified(forged) == ExitCode.REFUSED, place


@ALL
def test_the_page_of_an_example_is_that_of_its_document_and_names_no_machine(file: Path) -> None:
    page = file.with_suffix(".html").read_text()
    assert page == report.html(json.loads(file.read_text())), "manage.py render_migration_examples"
    assert problems(file.read_text(), page) == []


def test_nothing_else_lies_there() -> None:
    names = {file.stem for file in EXAMPLES}
    others = {file.name for file in FOLDER.iterdir() if file.suffix not in {".json", ".html"}}
    assert others == {"README.md"}
    assert {file.stem for file in FOLDER.glob("*.html")} == names


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_EXAMPLES", "1")


def document(**more: Any) -> dict[str, Any]:
    return evidence.sealed(content(**more))


def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADGATE_EXAMPLES", raising=False)
    assert keep_example("revision", document(), folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("wanted")
@pytest.mark.parametrize("form", ["object", "text", "bytes"])
def test_a_document_and_its_page_are_kept(tmp_path: Path, form: str) -> None:
    found = document(reason="Zürich \x85")
    sent: Any = {"object": found, "text": json.dumps(found), "bytes": json.dumps(found).encode()}[form]
    written, page = keep_example("revision-committed", sent, folder=tmp_path)
    assert verified(written) == ExitCode.OK
    assert found["sha256"] in page.read_text()
    written.write_text(written.read_text().replace("1234", "1235", 1))
    assert verified(written) == ExitCode.REFUSED


@pytest.mark.usefixtures("wanted")
@pytest.mark.parametrize(
    ("name", "found", "html", "words"),
    [
        ("Revision", document(), None, "no name"),
        ("revision", {**document(), "sha256": "0" * 64}, None, "was changed"),
        ("revision", document(), report.html(document(reason="another")), "of another document"),
        ("revision", document(reason="see /home/ana/x"), None, "/home/ana/x"),
    ],
)
def test_what_is_no_example_is_refused(tmp_path: Path, name: str, found: Any, html: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        keep_example(name, found, html, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_index_lists_what_there_is() -> None:
    move = document(kind="cluster", spec={"source": "shop", "positions": {"by": "mapping"}})
    row = next(line for line in index({"cluster-by-mapping": move}).splitlines() if "cluster-by-mapping.json)" in line)
    assert "| cluster, by mapping | COMMITTED | 2.6 | 0 | 0 | 1 of 2 | 39.0 |" in row
    assert "None is here yet" in index({})


DOCS = FOLDER.parents[1]


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_lines_of_python_in_the_docs_verify_a_document(tmp_path: Path) -> None:
    (lines,) = blocks("python", "reference/migrations.md")
    file = tmp_path / "evidence.json"
    for text, code in ((evidence.text(document(reason="Zürich")), 0), (json.dumps({**document(), "sha256": "0"}), 1)):
        file.write_text(text)
        assert subprocess.run([sys.executable, "-c", lines, str(file)], check=False).returncode == code


def test_the_files_in_the_docs_are_migrations() -> None:
    (whole,) = blocks("yaml", "guides/migrate-from-ci.md")
    (move,) = blocks("yaml", "guides/move-to-another-cluster.md")
    assert migration_of(whole, "release.yaml")["kind"] == "revision"
    assert cluster_move_of(move, "move.yaml")["source"] == "shop"
