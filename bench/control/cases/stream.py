"""How soon two hundred open pages hear of what happens."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import urlsplit

from bench.control.fleet import Plan
from bench.control.server import viewers, web
from bench.control.stage import Fleet, Stage, Values
from bench.figures import percentile
from pipelines.services.base import events

PLAN = Plan(1_000, busy=200)
CLIENTS = 200
USERS = 20
SECONDS = 20
EVENTS_PER_SECOND = 5


class Pages:
    """Open pages: how long each event took to each of them, and how many frames came in all."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.frames = 0
        self.open = 0

    async def listen(self, address: str, token: str) -> None:
        """One page."""
        where = urlsplit(address)
        reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=2**24)
        writer.write(
            f"GET /api/v1/events HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Token {token}\r\n"
            "Accept: text/event-stream\r\n\r\n".encode()
        )
        kind = b""
        try:
            while line := await reader.readline():
                if line.startswith(b"event: "):
                    kind = line[7:].strip()
                    self.frames += 1
                    self.open += kind == b"hello"
                elif kind == b"event" and line.startswith(b"data: "):
                    self._heard(line[6:])
        finally:
            writer.close()

    def _heard(self, data: bytes) -> None:
        sent = json.loads(data)["data"].get("sent")
        if sent is not None:
            self.latencies.append((time.monotonic() - sent) * 1000)


def measure(stage: Stage) -> Values:
    """Events and figures of a fleet at work, told to all pages at once."""
    found: dict[str, list[float]] = {}
    with stage.fleet(PLAN) as fleet:
        for _ in range(3):
            fleet.live()
            fleet.tick()
        tokens = viewers(USERS)
        with web(stage.state / "web.log") as (address, process):
            for _ in range(stage.runs):
                before, start = sum(process.cpu_times()[:2]), time.monotonic()
                pages = asyncio.run(_listen(fleet, address, tokens))
                spent = time.monotonic() - start
                for name, value in _figures(pages, sum(process.cpu_times()[:2]) - before, spent).items():
                    found.setdefault(name, []).append(value)
    return found


def _figures(pages: Pages, cpu: float, seconds: float) -> dict[str, float]:
    expected = CLIENTS * SECONDS * EVENTS_PER_SECOND
    if len(pages.latencies) != expected:
        raise RuntimeError(f"{len(pages.latencies)} of {expected} events reached the pages")
    return {
        "event_p50_ms": percentile(pages.latencies, 0.5),
        "event_p99_ms": percentile(pages.latencies, 0.99),
        "frames_per_second": pages.frames / seconds,
        "web_cpu_percent": cpu / seconds * 100,
    }


async def _listen(fleet: Fleet, address: str, tokens: list[str]) -> Pages:
    pages = Pages()
    listeners = [asyncio.create_task(pages.listen(address, tokens[n % USERS])) for n in range(CLIENTS)]
    try:
        async with asyncio.timeout(60):
            while pages.open < CLIENTS:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(_happen, fleet)
        async with asyncio.timeout(60):
            while len(pages.latencies) < CLIENTS * SECONDS * EVENTS_PER_SECOND:
                await asyncio.sleep(0.05)
    finally:
        for listener in listeners:
            listener.cancel()
        await asyncio.gather(*listeners, return_exceptions=True)
    return pages


def _happen(fleet: Fleet) -> None:
    """Every second the agents work, the supervisor looks, and some events are recorded."""
    for _ in range(SECONDS):
        following = time.monotonic() + 1.0
        fleet.live()
        fleet.tick()
        for _ in range(EVENTS_PER_SECOND):
            events.record(kind="bench.told", message="Something happened.", data={"sent": time.monotonic()})
        time.sleep(max(0.0, following - time.monotonic()))


CASES = {"stream": measure}
