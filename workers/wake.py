"""The bell between a task that says "look now" and the thread that looks. Both live in one worker process."""

import threading

WAKE = threading.Event()
