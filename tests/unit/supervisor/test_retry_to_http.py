"""Replayed letters reach an HTTP source as its producers do: by its port, with its token, over its TLS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from controlplane.install.services.ports import free_port
from pipelines.domain.reprocessing.dead_letters import HttpTarget
from tests.certificates import issue
from tests.unit.agent.test_push_sources import pushing
from tests.waiting import wait_for
from workers.adapters.push_sources import PushSourceOutlet
from workers.agent.push.event import Event
from workers.agent.push.log import end
from workers.agent.push.reader import events
from workers.ports import Away, Closed, Outgoing


def dead_letter(body: bytes, **headers: bytes) -> Outgoing:
    return Outgoing("orders", 0, None, list(headers.items()), body)


def certificate(directory: Path) -> dict[str, str]:
    """The keys of a source for a certificate of its own."""
    issued = issue()
    directory.mkdir()
    (directory / "chain.pem").write_text(issued.certificate)
    (directory / "key.pem").write_text(issued.key)
    return {"tls_certificate": str(directory / "chain.pem"), "tls_key": str(directory / "key.pem")}


def taken(tmp: Path) -> list[Event]:
    return list(events(tmp / "log", 0, end(tmp / "log")))


def up(to: HttpTarget) -> Callable[[], bool]:
    """Whether the port answers at all."""

    def answers() -> bool:
        try:
            httpx2.get(to.url, verify=False, timeout=5)
        except httpx2.HTTPError:
            return False
        return True

    return answers


def test_letters_are_posted_with_the_token_over_the_sources_own_tls(tmp_path: Path) -> None:
    tls, port = certificate(tmp_path / "own"), free_port()
    to = HttpTarget("0.0.0.0", port, "/events", "s3cret", tls["tls_certificate"])  # noqa: S104 - how a source may listen
    with pushing(tmp_path, "http", {"port": port, "path": "/events", "token": "s3cret", **tls}):
        wait_for(up(to), "the port to answer")
        outlet = PushSourceOutlet(to)
        answers = outlet.send([dead_letter(b"one", h="é".encode()), dead_letter(b"\xff"), dead_letter(b"two")])
        assert answers[::2] == [None, None]
        assert "UTF-8" in str(answers[1])
        with pytest.raises(Closed, match="401"):
            PushSourceOutlet(HttpTarget("127.0.0.1", port, "/events", "wrong", to.certificate)).send(
                [dead_letter(b"x")]
            )
        with pytest.raises(Closed, match="404"):
            PushSourceOutlet(HttpTarget("127.0.0.1", port, "/", "s3cret", to.certificate)).send([dead_letter(b"x")])
        other = certificate(tmp_path / "other")["tls_certificate"]
        with pytest.raises(Away, match=r"(?i)certificate"):
            PushSourceOutlet(HttpTarget("127.0.0.1", port, "/events", "s3cret", other)).send([dead_letter(b"x")])
        outlet.close()
    assert [(event.body, dict(event.headers)) for event in taken(tmp_path)] == [(b"one", {"h": "é"}), (b"two", {})]
    with pytest.raises(Away):
        PushSourceOutlet(to).send([dead_letter(b"x")])


def test_a_full_log_is_waited_for_and_what_was_taken_before_is_known(tmp_path: Path) -> None:
    port = free_port()
    limits: dict[str, Any] = {"capacity": 2, "transaction_capacity": 2, "keep_alive": 0.0}
    to = HttpTarget("127.0.0.1", port, "/", blob=True)
    with pushing(tmp_path, "http", {"port": port, "handler": "blob", **limits}):
        wait_for(up(to), "the port to answer")
        with pytest.raises(Away, match="503") as away:
            PushSourceOutlet(to).send([dead_letter(b"\xff\x00", a=b"b c"), dead_letter(b""), dead_letter(b"late")])
    assert away.value.acknowledged == (0, 1)
    assert [(event.body, dict(event.headers)) for event in taken(tmp_path)] == [(b"\xff\x00", {"a": "b c"}), (b"", {})]


def test_a_chain_that_cannot_be_read_is_said() -> None:
    with pytest.raises(Closed, match="cannot be read on this host"):
        PushSourceOutlet(HttpTarget("127.0.0.1", 1, "/", None, "/nowhere.pem"))
