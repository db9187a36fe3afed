"""The first bytes of files, kept in order, so that those that begin alike are found without opening every file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

SIZE = 1024
"""Bytes of a file that are kept."""


class Heads:
    """First bytes by inode."""

    def __init__(self) -> None:
        self._by_inode: dict[int, bytes] = {}
        self._inodes: dict[bytes, set[int]] = {}
        self._order: list[bytes] = []

    def __contains__(self, inode: int) -> bool:
        return inode in self._by_inode

    def __bool__(self) -> bool:
        return bool(self._order)

    def put(self, inode: int, head: bytes) -> None:
        """Keep the first bytes of a file in place of what was kept of it before."""
        if self._by_inode.get(inode) == head:
            return
        self.drop(inode)
        if not head:
            return
        self._by_inode[inode] = head
        if head not in self._inodes:
            insort(self._order, head)
        self._inodes.setdefault(head, set()).add(inode)

    def drop(self, inode: int) -> None:
        """Forget a file."""
        head = self._by_inode.pop(inode, None)
        if head is None:
            return
        self._inodes[head].discard(inode)
        if not self._inodes[head]:
            del self._inodes[head]
            del self._order[bisect_left(self._order, head)]

    def alike(self, head: bytes) -> Iterator[int]:
        """Files that begin with `head`, and files with all of whose kept bytes `head` begins."""
        at = bisect_left(self._order, head)
        while at < len(self._order) and self._order[at].startswith(head):
            yield from sorted(self._inodes[self._order[at]])
            at += 1
        yield from self._inside(head)

    def _inside(self, head: bytes) -> Iterator[int]:
        """Those whose bytes are a shorter beginning of `head`.

        What the one before it in order shares with it is the longest that any of them can be.
        """
        at = bisect_left(self._order, head)
        while at:
            kept = self._order[at - 1]
            shared = _shared(kept, head)
            if shared == kept:
                yield from sorted(self._inodes[kept])
                at -= 1
            else:
                at = bisect_right(self._order, shared, hi=at)


def _shared(one: bytes, other: bytes) -> bytes:
    """What both begin with."""
    differ = (at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return one[: next(differ, min(len(one), len(other)))]
