"""The garbage collector of processes that live long."""

from __future__ import annotations

import gc


def spare_what_stays() -> None:
    """Call it when everything is loaded. Whatever is there then is never looked at again by the collector, which would
    otherwise walk through hundreds of thousands of modules, classes and functions in the middle of a tick or a request.
    """
    gc.collect()
    gc.freeze()
