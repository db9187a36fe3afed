"""`python -m tests.words [--by-directory] [PATH...]`: terms in public texts that the glossary replaces by others."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.words.terms import ALLOWED, PATTERNS, TERMS
from tests.words.texts import texts

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = (
    "controlplane/**/*.py",
    "pipelines/**/*.py",
    "workers/**/*.py",
    "frontend/src/**/*.ts",
    "frontend/src/**/*.tsx",
    "docs/**/*.md",
    "README.md",
    "CHANGELOG.md",
)
_TESTS = (".test.ts", ".test.tsx", ".d.ts")


class Found(NamedTuple):
    path: Path
    line: int
    word: str
    instead: str
    text: str

    def __str__(self) -> str:
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f'{place}:{self.line}: "{self.word}": write {self.instead}\n    {self.text}'


def public(root: Path = ROOT) -> list[Path]:
    """The files whose texts users read; migrations of the database are history, tests are not read."""
    files = {path for pattern in PUBLIC for path in root.glob(pattern)}
    return sorted(path for path in files if not path.name.endswith(_TESTS) and "pipelines/migrations" not in str(path))


def findings(paths: Iterable[Path]) -> Iterator[Found]:
    """Every term of the table in these files, apart from the allowed places."""
    for path in paths:
        for line, text in texts(path):
            words = [(word, line + number) for number, part in enumerate(text.split("\n")) for word in part.split()]
            low = " ".join(word for word, _ in words).lower()
            for term, pattern in zip(TERMS, PATTERNS, strict=True):
                for found in pattern.finditer(low):
                    if not _allowed(path, low):
                        yield Found(path, words[low.count(" ", 0, found.start())][1], found[0], term.instead, low)


def _allowed(path: Path, text: str) -> bool:
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
    return any(name.startswith(each.path) and each.text in text for each in ALLOWED)


def main(arguments: Sequence[str]) -> int:
    places = [Path(argument).resolve() for argument in arguments if argument != "--by-directory"]
    files = [path for path in public() if not places or any(path.is_relative_to(place) for place in places)]
    found = list(findings(files))
    if "--by-directory" in arguments:
        counts = Counter(str(each.path.relative_to(ROOT).parent) for each in found)
        print("\n".join(f"{count:5d} {directory}" for directory, count in sorted(counts.items())))
    else:
        print("\n".join(str(each) for each in found))
    if found:
        print(f"{len(found)} terms that docs/concepts/glossary.md replaces; see tests/words/terms.py.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
