"""`python -m workers.agent.evaluation.previewer`: previews, traces, tests and peeks, one by one, in a warm JVM.

Each line of standard input is a request, each line of standard output its answer: the protocols of
`pipelines.domain.preview`, `pipelines.domain.trace` and `pipelines.domain.peek`.
It ends with the worker, when it has been idle, after a number of previews, and when it has grown; a preview
that takes longer than it may ends it, too. It has a directory of its own and no other, and commits and writes nothing.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from workers.agent.spark import jvm

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import SparkSession

    from pipelines.domain.peek.protocol import PeekRequest
    from pipelines.domain.preview.protocol import CasesRequest, PreviewRequest
    from pipelines.domain.preview.shadowing import ShadowRequest
    from pipelines.domain.trace.protocol import FollowRequest, SearchRequest

    Asked = PreviewRequest | CasesRequest | FollowRequest | SearchRequest | ShadowRequest | PeekRequest

IDLE_SECONDS = 600.0
MOST_PREVIEWS = 50
MOST_RESIDENT = 1536 * 1024 * 1024
_HEAP = "768m"
_CORES = 2
_NICENESS = 10
"""Of a shadow: it yields to an agent that is busy, and does not starve on a host that is."""
_STOP = 3.0
READ_ONCE = {
    f"spark.kafka.consumer.{cache}.{setting}": "1s"
    for cache in ("cache", "fetchedData.cache")
    for setting in ("timeout", "evictorThreadRunInterval")
}
"""Settings of a session in which nothing is read twice. Spark keeps what a consumer has fetched beyond a read for five
minutes, without a limit, since a next batch may need it: some dozen reads would fill the heap."""
_PREFIX = "headgate-preview-"


class Previewer:
    """Starts its JVM with the first request that needs one, whose settings it keeps."""

    def __init__(self, tmp: Path) -> None:
        self._tmp = tmp
        self._jvm: jvm.Jvm | None = None
        self._session: SparkSession | None = None
        self.done = 0

    def answer(self, line: bytes) -> bytes:
        """Answer one request; what a failed one leaves behind ends with the process."""
        asked = json.loads(line)
        if self._jvm is None and asked["kind"] != "peek":
            spark = asked["spark"]
            if asked["kind"] == "shadow":
                _give_way()
            argv = jvm.command(
                spark["classpath"], java_home=spark.get("java_home"), heap=_HEAP, archive=spark.get("archive")
            )
            self._jvm = jvm.Jvm(argv, self._tmp)
        request = _request(line)
        signal.setitimer(signal.ITIMER_REAL, request.seconds)  # SIGALRM ends the process
        answer = self._answered(request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.done += 1
        return answer.model_dump_json().encode() + b"\n"

    def _answered(self, request: Asked) -> BaseModel:
        from workers.agent.base import masking
        from workers.agent.base.findings import Refused, blocked_by

        masking.hide(request.masked)
        directory = Path(tempfile.mkdtemp(prefix="preview-", dir=self._tmp))
        try:
            return self._made(request, directory)
        except Refused as refused:
            findings = [finding.model_dump() for finding in refused.findings]
        except Exception as error:
            if not (blocked := blocked_by(str(error))):
                raise
            findings = [blocked.finding.model_dump()]
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return request.refused(masking.prose(findings))

    def _made(self, request: Asked, directory: Path) -> BaseModel:
        """Records of a topic as they are need no Spark."""
        from pipelines.domain.peek.protocol import PeekAnswer
        from workers.agent.evaluation import peek

        if request.kind == "peek":
            return PeekAnswer(result=peek.peek(request, directory))
        return _made(request, self._connected(), directory)

    def _connected(self) -> SparkSession:
        from workers.agent.spark import session

        if self._session is None and self._jvm is not None:
            # A Python worker that stays would keep the code of an interceptor that has changed since.
            differing = {**READ_ONCE, "spark.python.worker.reuse": "false"}
            self._session = session.connect(self._jvm, name="preview", cores=_CORES, tmp=self._tmp, differing=differing)
        if self._session is None:
            raise RuntimeError("there is no JVM")
        return self._session

    @property
    def is_worn(self) -> bool:
        """Whether the next preview should have a process of its own."""
        gc.collect()  # the JVM lets go of what Python has let go of
        return self.done >= MOST_PREVIEWS or self._resident() > MOST_RESIDENT

    def _resident(self) -> int:
        pids = [os.getpid(), *([self._jvm.process.pid] if self._jvm else [])]
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End the JVM."""
        if self._jvm is not None:
            self._jvm.stop(_STOP, idle=True)


def _give_way() -> None:
    """Have what is left of the processors alone, for good: a shadow is in no hurry, and the agent beside it is."""
    os.nice(_NICENESS)
    with suppress(OSError):  # where sessions share the processors, the niceness is that of the session
        Path("/proc/self/autogroup").write_text(f"{_NICENESS}\n", encoding="ascii")


def _request(line: bytes) -> Asked:
    from pipelines.domain.peek.protocol import PeekRequest
    from pipelines.domain.preview.protocol import CasesRequest, PreviewRequest
    from pipelines.domain.preview.shadowing import ShadowRequest
    from pipelines.domain.trace.protocol import FollowRequest, SearchRequest

    kinds: dict[str, type[Asked]] = {
        "preview": PreviewRequest,
        "tests": CasesRequest,
        "follow": FollowRequest,
        "search": SearchRequest,
        "shadow": ShadowRequest,
        "peek": PeekRequest,
        "sample": PeekRequest,
    }
    return kinds[json.loads(line)["kind"]].model_validate_json(line)


def _made(request: Asked, spark: SparkSession, directory: Path) -> BaseModel:
    from pipelines.domain.peek.protocol import PeekAnswer, PeekRequest
    from pipelines.domain.preview.protocol import CasesAnswer, CasesRequest, PreviewAnswer, PreviewRequest
    from pipelines.domain.preview.shadowing import ShadowAnswer, ShadowRequest
    from pipelines.domain.trace.protocol import SearchRequest
    from workers.agent.evaluation import preview, sample, search, shadow, testing, trace

    if isinstance(request, PreviewRequest):
        return PreviewAnswer(result=preview.preview(spark, request, directory))
    if isinstance(request, CasesRequest):
        return CasesAnswer(result=testing.run_tests(spark, request, directory))
    if isinstance(request, ShadowRequest):
        return ShadowAnswer(result=shadow.shadow(spark, request, directory))
    if isinstance(request, SearchRequest):
        return search.search(spark, request, directory)
    if isinstance(request, PeekRequest):
        return PeekAnswer(result=sample.sample(spark, request, directory))
    return trace.follow(spark, request, directory)


def serve(requests: BinaryIO, answers: BinaryIO, previewer: Previewer, idle: float) -> None:
    """Answer until there is a reason to end."""
    while select.select([requests], [], [], idle)[0] and (line := requests.readline()):
        answers.write(previewer.answer(line))
        answers.flush()
        if previewer.is_worn:
            return


def end_with(descriptor: int) -> None:
    """End this process soon after the other end of a pipe was closed, also in the midst of a preview, whose answer
    nobody would read. What it leaves in its directory the next one removes."""

    def wait() -> None:
        hung_up = select.poll()
        hung_up.register(descriptor, 0)
        hung_up.poll()
        time.sleep(_STOP + 1)  # what is idle ends by itself
        os._exit(1)

    threading.Thread(target=wait, name="end", daemon=True).start()


def _directory() -> Path:
    """A directory of this process. Those of earlier ones of this user, which were killed, are removed."""
    for each in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = each.name.removeprefix(_PREFIX).partition("-")[0]
        if each.lstat().st_uid == os.geteuid() and pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(each, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def main() -> int:
    """What interceptors and Spark print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tmp = _directory()
    previewer = Previewer(tmp)
    end_with(sys.stdin.fileno())
    try:
        serve(sys.stdin.buffer, answers, previewer, float(sys.argv[1]) if sys.argv[1:] else IDLE_SECONDS)
        return 0
    except Exception:
        sys.stderr.write(traceback.format_exc(limit=5))
        return 1
    finally:
        previewer.close()
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # threads that an interceptor has left behind must not keep the process
