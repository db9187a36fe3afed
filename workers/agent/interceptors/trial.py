"""`python -m workers.agent.interceptors.trial`: initialise and close one interceptor in a process of its own.

Whatever its class does there, end the process, hang or kill, the driver lives on. Settings come as JSON on standard
input; an empty JSON object, or the text of the failure, goes to standard output, where nothing else is written.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

_GRACE = 3.0
"""Seconds that the process may take beside the initialisation: its start, and `close`."""


def attempt(settings: dict[str, object], timeout: float) -> str:
    """Try it in a child process; returns what was wrong, or nothing."""
    child = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        answer, _ = child.communicate(json.dumps(settings).encode(), timeout + _GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return f"it did not initialize within {timeout:g} s"
    try:
        return str(json.loads(answer).get("failure", ""))
    except ValueError:
        return f"it ended the process with {child.returncode} while it was initialized"


def main() -> None:
    """Answer on what was standard output; what the class prints goes to the log."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from workers.agent.interceptors.worker import InterceptorFailed, Settings, _running, close_all, running

    failure = ""
    try:
        running(Settings(**json.load(sys.stdin)))
    except InterceptorFailed as error:
        failure = str(error)
    close_all()
    _running.clear()
    json.dump({"failure": failure} if failure else {}, answer)
    answer.flush()
    os._exit(0)  # threads that the class has left behind must not keep the process


if __name__ == "__main__":
    main()
