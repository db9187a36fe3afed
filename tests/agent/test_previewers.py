"""Previewers: one warm process for a pipeline, which ends when it should, and leaves the next preview unharmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer

from pipelines.domain.preview.protocol import HostRequest, PreviewRequest, Side
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.domain.trace.protocol import FollowRequest, RevisionLook, SearchRequest
from pipelines.domain.trace.question import Place, TraceQuestion
from tests.agent.harness import REACH, alive
from tests.agent.test_previews import FILTER, definition
from tests.agent.topics import Topics
from tests.figures import RecordProperty
from tests.waiting import wait_for
from workers.adapters.previewers import ChildPreviews
from workers.ports import PreviewFailed, PreviewInterrupted

ENDLESS = "tests.agent.interceptors:Endless"


@pytest.fixture
def previews() -> Iterator[ChildPreviews]:
    made = ChildPreviews()
    yield made
    made.close()


def request(
    topics: Topics, spark: SparkSettings, *interceptors: dict[str, Any], seconds: float = 240, last: int = 1000
) -> PreviewRequest:
    return PreviewRequest.model_validate(
        {
            "base": {"definition": definition(topics)},
            "candidate": {"definition": definition(topics, *interceptors)},
            "selection": {"last": last},
            "spark": spark.model_dump(),
            "interceptors": [ENDLESS],
            "masked": ["hunter22"],
            "reach": REACH.model_dump(mode="json"),
            "seconds": seconds,
        }
    )


def previewers() -> list[psutil.Process]:
    """Children of this process that make previews."""
    found = [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in found if "workers.agent.evaluation.previewer" in " ".join(each.cmdline())]


def test_the_second_preview_of_a_pipeline_is_warm(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings, record_property: RecordProperty
) -> None:
    topics.produce(1000)
    asked = request(topics, spark_settings, FILTER | {"regex": "."})
    took = []
    for _ in range(3):
        began = time.monotonic()
        result = previews.make("orders", None, asked).result
        took.append(time.monotonic() - began)
        assert result
        assert (result.records, result.differing) == (1000, 1000)
    record_property("seconds", [round(each, 1) for each in took])
    print(f"cold {took[0]:.1f} s, then {took[1]:.1f} s and {took[2]:.1f} s")
    assert len(previewers()) == 1
    previews.make("payments", None, asked)
    assert len(previewers()) == 2
    previews.make("returns", None, asked)
    assert len(previewers()) == 2, "no more than two are kept"


def test_traces_are_answered_by_the_same_warm_process(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings, record_property: RecordProperty
) -> None:
    topics.produce(40)
    previewed = request(topics, spark_settings, FILTER)
    host = previewed.model_dump(include=set(HostRequest.model_fields))
    side = previewed.candidate
    place = Place(topic=topics.source, partition=1, offset=3)
    follow = FollowRequest(place=place, sides={2: side}, looks=[RevisionLook(revision=2, source="shop")], **host)
    assert previews.make("orders", None, previewed).result
    began = time.monotonic()
    (evaluated,) = previews.make("orders", None, follow).evaluated
    took = time.monotonic() - began
    assert [step.effect for step in evaluated.events[0].steps] == ["unchanged"]
    search = SearchRequest(side=side, question=TraceQuestion(contains=f"{13:010}"), **host)
    assert previews.make("orders", None, search).place == place
    refused = search.model_copy(update={"question": TraceQuestion(contains="x", source="no")})
    assert previews.make("orders", None, refused).findings[0]["code"] == "UNKNOWN_SOURCE"
    assert len(previewers()) == 1
    record_property("seconds", round(took, 1))


@pytest.mark.parametrize("victim", ["previewer", "JVM"])
def test_a_previewer_that_is_killed_fails_its_preview_alone(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings, victim: str
) -> None:
    topics.produce(100)
    jvms: list[psutil.Process] = []

    def kill() -> None:
        wait_for(lambda: any(each.children() for each in previewers()), "a JVM of a previewer")
        jvms.extend(previewers()[0].children())
        killed = previewers()[0] if victim == "previewer" else jvms[0]
        os.kill(killed.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(PreviewFailed) as failure:
        previews.make("orders", None, request(topics, spark_settings, FILTER))
    assert (failure.value.code, bool(failure.value.hint)) == ("preview_failed", True)
    assert previews.make("orders", None, request(topics, spark_settings, FILTER)).result
    wait_for(lambda: not any(each.is_running() for each in jvms), "the JVM to end with its previewer", 10)


def test_a_definition_that_never_ends_is_ended(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings
) -> None:
    topics.produce(10)
    previews.make("orders", None, request(topics, spark_settings))
    (child,) = previewers()
    jvms = child.children()
    endless = request(topics, spark_settings, {"type": "python", "class": ENDLESS}, seconds=10)
    with pytest.raises(PreviewFailed) as failure:
        previews.make("orders", None, endless)
    assert failure.value.code == "preview_timed_out"
    wait_for(lambda: not any(each.is_running() for each in jvms), "the JVM to end with its previewer")
    assert not previewers()


def test_a_worker_that_stops_leaves_previews_to_the_next(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings
) -> None:
    topics.produce(10)

    def close() -> None:
        wait_for(lambda: bool(previewers()), "a previewer")
        previews.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(PreviewInterrupted):
        previews.make("orders", None, request(topics, spark_settings))
    closing.join()
    with pytest.raises(PreviewInterrupted):
        previews.make("orders", None, request(topics, spark_settings))


def test_an_idle_previewer_ends_by_itself(topics: Topics, spark_settings: SparkSettings, tmp_path: Path) -> None:

    from workers.adapters import previewers as adapter

    argv = (sys.executable, "-m", "workers.keeper.lowered", adapter._MODULE, "0.5")
    made = ChildPreviews(argv)
    topics.produce(10)
    try:
        assert made.make("orders", None, request(topics, spark_settings)).result
        wait_for(lambda: not previewers(), "its end")
        made.tidy()
    finally:
        made.close()


WORKER = """
import sys
from pipelines.domain.preview.protocol import PreviewRequest
from workers.adapters.previewers import ChildPreviews
ChildPreviews().make("orders", None, PreviewRequest.model_validate_json(sys.stdin.readline()))
"""


def test_a_previewer_ends_with_a_worker_that_is_killed_in_its_midst(
    topics: Topics, spark_settings: SparkSettings
) -> None:
    topics.produce(10)
    endless = request(topics, spark_settings, {"type": "python", "class": ENDLESS}, seconds=200)
    worker = psutil.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE)
    assert worker.stdin
    worker.stdin.write(endless.model_dump_json().encode() + b"\n")
    worker.stdin.flush()
    wait_for(lambda: len(_below(worker)) >= 3, "the previewer, its JVM, and the interceptor that never ends", 120)
    processes = _below(worker)
    worker.kill()
    worker.wait()
    wait_for(lambda: not any(alive(each.pid) for each in processes), "all of them to end", 30)


def _below(process: psutil.Process) -> list[psutil.Process]:
    return [each for each in process.children(recursive=True) if alive(each.pid)]


def of_bytes(topics: Topics, size: int) -> None:
    """A record of this size, and a small one."""
    topics.configure(topics.source, {"max.message.bytes": "100000000"})
    producer = Producer({"bootstrap.servers": topics.servers, "message.max.bytes": 100_000_000})
    for body in (b"x" * size, b"small"):
        producer.produce(topics.source, body, partition=0)
    assert producer.flush(120) == 0


def test_a_large_record_is_compared_and_one_that_takes_all_memory_is_said(
    previews: ChildPreviews, topics: Topics, spark_settings: SparkSettings
) -> None:
    everything = FILTER | {"regex": "."}
    of_bytes(topics, 40_000_000)
    result = previews.make("orders", None, request(topics, spark_settings, everything)).result
    assert result
    assert (result.records, result.differing, result.size) == (2, 2, 40_000_007)
    of_bytes(topics, 90_000_000)
    tenfold = {"type": "sql", "set": {"body": f"concat({', '.join(['body'] * 10)})"}}
    with pytest.raises(PreviewFailed, match="does not fit into the memory") as failure:
        previews.make("orders", None, request(topics, spark_settings, tenfold))
    assert "very large" in failure.value.hint
    assert previews.make("orders", None, request(topics, spark_settings, everything, last=1)).result


TALKER = """
import os, sys
sys.stdin.readline()
for _ in range(256):
    os.write(2, b"x" * 65536)
os.write(2, b" last words, hunter22, and %d bytes on disk" % os.fstat(2).st_size)
os._exit(3)
"""


def test_what_a_previewer_says_takes_no_room_and_its_last_words_are_told() -> None:
    made = ChildPreviews((sys.executable, "-c", TALKER))
    asked = PreviewRequest.model_validate(
        {
            "base": {"definition": {}},
            "candidate": {"definition": {}},
            "selection": {"last": 1},
            "spark": {},
            "masked": ["hunter22"],
            "seconds": 60,
        }
    )
    with pytest.raises(PreviewFailed, match=r"ended with 3: x+ last words, \[redacted\], and 0 bytes on disk$"):
        made.make("orders", None, asked)
    made.close()


def pipes() -> set[str]:
    """Those that this process has open."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the directory itself
            found.add(str(each.readlink()))
    return {name for name in found if name.startswith("pipe:")}


def test_nothing_is_left_open_of_a_previewer_that_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[str] = []

    def pipe(real: Callable[[], tuple[int, int]] = os.pipe) -> tuple[int, int]:
        both = real()
        ends.extend(str(Path(f"/proc/self/fd/{end}").readlink()) for end in both)
        return both

    made = ChildPreviews((str(tmp_path / "none"),))
    asked = PreviewRequest(
        base=Side(definition={}),
        candidate=Side(definition={}),
        selection=PreviewSelection(last=1),
        spark={},
        seconds=60,
    )
    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(FileNotFoundError):
        made.make("orders", None, asked)
    assert ends
    wait_for(lambda: pipes().isdisjoint(ends), "its pipes to be closed", 10)
    made.close()
