"""`headgate connect import`."""

from __future__ import annotations

import json
from pathlib import Path

from controlplane.cli.base.errors import ExitCode
from pipelines.domain.definitions.checks.validate import validate_text
from tests.unit.cli.test_offline import run
from tests.unit.domain.connect.test_importing import JDBC

TEXT = json.dumps({"name": "orders", "config": JDBC})


def test_a_connector_is_written_as_a_definition(tmp_path: Path) -> None:
    source, target = tmp_path / "orders.json", tmp_path / "orders.yaml"
    source.write_text(TEXT)
    result = run("connect", "import", str(source), "--bootstrap-servers", "broker:9092", "--write", str(target))
    assert result.exit_code == 0, result.stderr
    assert validate_text(target.read_text()).valid
    assert "start_from_chosen" in result.stderr


def test_errors_end_with_their_exit_code(tmp_path: Path) -> None:
    source = tmp_path / "orders.json"
    source.write_text(TEXT)
    result = run("connect", "import", str(source), "-o", "json")
    assert result.exit_code == ExitCode.REFUSED
    assert json.loads(result.stdout)["valid"] is False
    source.write_text("{")
    assert "malformed" in run("connect", "import", str(source)).stderr
