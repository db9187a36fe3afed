"""Sets of characters as sorted, disjoint ranges of code points."""

from __future__ import annotations

from collections.abc import Iterable

CharSet = tuple[tuple[int, int], ...]

HIGHEST = 0x10FFFF
EMPTY: CharSet = ()
ANY: CharSet = ((0, HIGHEST),)


def normal(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """Sort and join ranges."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def of(characters: str) -> CharSet:
    """The set of some characters."""
    return normal((ord(character), ord(character)) for character in characters)


def union(*sets: CharSet) -> CharSet:
    """Characters in any of the sets."""
    return normal(pair for charset in sets for pair in charset)


def complement(charset: CharSet) -> CharSet:
    """All other characters."""
    gaps, start = [], 0
    for low, high in charset:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, HIGHEST)) if start <= HIGHEST else tuple(gaps)


def intersect(a: CharSet, b: CharSet) -> CharSet:
    """Characters in both sets."""
    overlaps, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            overlaps.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(overlaps)


def fold_case(charset: CharSet) -> CharSet:
    """Add the other case of ASCII letters, and every character beyond ASCII where there is one already."""
    ranges = list(charset)
    for low, high in charset:
        for first, last, shift in ((65, 90, 32), (97, 122, -32)):
            if max(low, first) <= min(high, last):
                ranges.append((max(low, first) + shift, min(high, last) + shift))
        if high > 127:
            ranges.append((128, HIGHEST))
    return normal(ranges)


DIGIT = of("0123456789")
WORD = normal([(48, 57), (65, 90), (95, 95), (97, 122)])
SPACE = of(" \t\n\x0b\f\r")
HORIZONTAL = normal(
    [
        (9, 9),
        (32, 32),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x180E, 0x180E),
        (0x2000, 0x200A),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
    ]
)
VERTICAL = normal([(10, 13), (0x85, 0x85), (0x2028, 0x2029)])
LINE_ENDS = normal([(10, 10), (13, 13), (0x85, 0x85), (0x2028, 0x2029)])
BEYOND_ASCII: CharSet = ((128, HIGHEST),)
POSIX = {
    "Lower": ((97, 122),),
    "Upper": ((65, 90),),
    "ASCII": ((0, 127),),
    "Alpha": ((65, 90), (97, 122)),
    "Digit": DIGIT,
    "Alnum": ((48, 57), (65, 90), (97, 122)),
    "Punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "Graph": ((33, 126),),
    "Print": ((32, 126),),
    "Blank": ((9, 9), (32, 32)),
    "Cntrl": ((0, 31), (127, 127)),
    "XDigit": ((48, 57), (65, 70), (97, 102)),
    "Space": SPACE,
}
