"""Writes anew what is expected of each file: `python -m tests.unit.flume.write_expected`. Read the difference."""

from __future__ import annotations

import yaml

from tests.unit.flume.files import FILES, reported

if __name__ == "__main__":
    for file in FILES:
        imported = file.imported()
        file.definition.write_text(yaml.safe_dump(imported.definition, sort_keys=False, allow_unicode=True))
        file.findings.write_text(reported(imported))
