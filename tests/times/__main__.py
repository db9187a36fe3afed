"""`python -m tests.times DIRECTORY`: what the last `make test` recorded there, as tables of Markdown."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.times import records
from tests.times.processes import KINDS
from tests.times.records import Module, Step

SHORT = 5.0
"""Modules that took fewer seconds, of tests and of CPU alike, share a row."""
COLUMNS = ("tests", "seconds", "CPU seconds", *KINDS)


def main(arguments: Sequence[str]) -> int:
    found = list(records.read(Path(arguments[0])))
    if not found:
        print("Nothing is recorded. Run `make test` first.", file=sys.stderr)
        return 1
    print("\n".join(tables(found)))
    return 0


def tables(found: Sequence[Module | Step]) -> Iterator[str]:
    """The steps with what their tests started, the tiers, and the modules. Seconds of a step are those on the clock,
    all others those of the tests, of which several run at a time."""
    modules = [record for record in found if isinstance(record, Module)]
    yield from _head("step")
    for step in (record for record in found if isinstance(record, Step)):
        total = _sum(step.name, (module for module in modules if module.session == step.name))
        total.seconds, total.cpu = step.wall, step.cpu + total.cpu
        yield _row(total)
    yield ""
    yield from _head("tier")
    for tier in dict.fromkeys(_tier(module) for module in modules):
        yield _row(_sum(tier, (module for module in modules if _tier(module) == tier)))
    yield ""
    yield from _head("module")
    for session in dict.fromkeys(module.session for module in modules):
        yield from _modules(session, [module for module in modules if module.session == session])


def _tier(module: Module) -> str:
    """Its directory below tests/; what went before the first test is of none."""
    return "/".join(module.path.split("/")[:2])


def _modules(session: str, parts: Sequence[Module]) -> Iterator[str]:
    """The costly ones of a session, dearest first, and the others together."""
    paths = dict.fromkeys(part.path for part in parts)
    whole = [_sum(path, (part for part in parts if part.path == path)) for path in paths]
    short = [module for module in whole if max(module.seconds, module.cpu) < SHORT and not module.started]
    for module in sorted(whole, key=lambda module: -module.seconds):
        if module not in short:
            yield _row(module)
    if short:
        yield _row(_sum(f"{len(short)} more of {session}", short))


def _sum(name: str, parts: Iterable[Module]) -> Module:
    total, started = Module(name, ""), Counter[str]()
    for part in parts:
        total.tests += part.tests
        total.seconds += part.seconds
        total.cpu += part.cpu
        started.update(part.started)
    total.started = dict(started)
    return total


def _head(first: str) -> Iterator[str]:
    yield f"| {' | '.join([first, *COLUMNS])} |"
    yield f"|---|{'---:|' * len(COLUMNS)}"


def _row(module: Module) -> str:
    numbers = [module.tests, round(module.seconds), round(module.cpu), *(module.started.get(kind, 0) for kind in KINDS)]
    return f"| {' | '.join([module.path, *(str(number) if number else '' for number in numbers)])} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
