"""The sweep over a running installation, against the web server as `headgate web` runs it."""

from __future__ import annotations

from tests.attacks.conftest import Web
from tests.attacks.sweep import run
from tests.figures import RecordProperty

EVERY = 17
"""Of so many questions one is asked: the whole takes minutes, and asks the same as `test_two_teams`."""


def test_two_teams_with_two_users_each_see_nothing_of_each_other(web: Web, record_property: RecordProperty) -> None:
    asked, frames, wrong = run(web.url, web.admin, seconds=5, every=EVERY)
    record_property("tries", asked.total())
    assert not wrong, "\n".join(wrong)
    assert len(asked) == len(frames) == 4
    assert min(frames.values()) > 1
    assert asked.total() > 300
