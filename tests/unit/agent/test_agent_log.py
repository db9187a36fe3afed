"""What libraries log in the driver: lines like its own, without those of the connection to its JVM."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from workers.agent.base.log import take_in_logging


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before = list(logger.handlers)
    take_in_logging()
    yield logger
    logger.handlers = before


def test_a_warning_of_a_library_is_a_line_and_py4j_says_nothing(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("library").warning("%d things are odd", 2)
    logging.getLogger("library").info("fine")
    place = "/lib/python3/site-packages/py4j/java_gateway.py"
    root.handle(logging.LogRecord("root", logging.ERROR, place, 1059, "Exception while sending command.", (), None))
    (line,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\S+Z WARNING driver \S+: 2 things are odd", line)
