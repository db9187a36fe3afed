"""The journal survives torn writes and notices damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.ledger.journal import (
    PAYLOADS,
    Done,
    Entry,
    EntryKind,
    JournalCorrupt,
    Planned,
    decode,
    encode,
    read_entries,
    read_sound_entries,
)
from pipelines.domain.ledger.ledger import Counts


def entry(n: int, batch: int = 0) -> Entry:
    done = Done(
        source="shop",
        channel="lake",
        batch=batch,
        ranges=[PartitionRange(topic="orders", partition=0, start=batch * 10, end=batch * 10 + 10)],
        counts=Counts(read=10, delivered=9, filtered=1),
        sink="lake",
    )
    return Entry(n=n, epoch=3, at=1_700_000_000.25, kind=EntryKind.DONE, data=done.model_dump(mode="json"))


def lines(count: int) -> bytes:
    return b"".join(encode(entry(n, n - 1)) for n in range(1, count + 1))


def test_an_entry_comes_back_as_it_was_written() -> None:
    assert decode(encode(entry(1))) == entry(1)
    payload = decode(encode(entry(1))).payload()
    assert isinstance(payload, Done)
    assert payload.counts.balanced


def test_every_kind_has_a_payload() -> None:
    assert set(PAYLOADS) == set(EntryKind)


@given(cut=st.integers(min_value=0))
def test_a_journal_cut_anywhere_gives_its_whole_entries_and_never_half_of_one(cut: int) -> None:
    whole = lines(5)
    part = whole[: cut % (len(whole) + 1)]
    entries, consumed = read_entries(part)
    assert [e.n for e in entries] == list(range(1, part.count(b"\n") + 1))
    assert consumed == part.rfind(b"\n") + 1


@given(position=st.integers(min_value=0), flip=st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_never_taken_for_another_entry(position: int, flip: int) -> None:
    whole = bytearray(lines(3))
    at = position % (len(whole) - 1)
    whole[at] ^= flip
    with pytest.raises(JournalCorrupt):
        read_entries(bytes(whole))


def test_reading_goes_on_after_the_last_number_taken_in() -> None:
    entries, consumed = read_entries(lines(4), after=2)
    assert [e.n for e in entries] == [3, 4]
    assert consumed == len(lines(4))
    assert read_entries(lines(4), after=4)[0] == []


def test_a_missing_number_is_corruption() -> None:
    with pytest.raises(JournalCorrupt, match="entry 2 is missing"):
        read_entries(encode(entry(1)) + encode(entry(3)))


def test_what_is_sound_before_a_damage_is_read_and_the_damage_is_found_next() -> None:
    sound, rest = lines(2), b"damaged\n" + encode(entry(4))
    entries, consumed = read_sound_entries(sound + rest)
    assert ([e.n for e in entries], consumed) == ([1, 2], len(sound))
    with pytest.raises(JournalCorrupt, match="damaged line"):
        read_sound_entries(rest, after=2)
    with pytest.raises(JournalCorrupt, match="entry 3 is missing"):
        read_sound_entries(encode(entry(4)), after=2)


def test_a_negative_offset_cannot_be_journalled() -> None:
    for offset in (-1, -2, -1001):
        with pytest.raises(ValueError, match="greater than or equal to 0"):
            Planned.model_validate(
                {
                    "source": "s",
                    "channel": "c",
                    "batch": 0,
                    "ranges": [{"topic": "t", "partition": 0, "start": offset, "end": 5}],
                }
            )
