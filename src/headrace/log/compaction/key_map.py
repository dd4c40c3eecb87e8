"""The newest record of each key, in a table whose size is bounded before the first key is put in.

Compaction walks through the part of a log that was written since the last time and shows every
batch's keys to this map, in the order of the log. The map gives each record a number and keeps, in
one byte for each, whether it is still the newest of its key: a later record of the same key makes
it superseded on the spot. So that part of the log need not be searched again to be rewritten; only
the older part is, with `find`.

    TABLE, two 64-bit integers for each place
    0   the key's hash, -1 in a free place: no hash has this value
    1   the number of the newest record with this key, counted from 1

    FATES, one byte for each record, by its number
    0   it stays      1   it is superseded      2   it is a tombstone that stays

Keys themselves are not kept, so that 16 bytes do for a key of any length, a tenth of what a Python
dictionary needs. A key is recognised by 64 bits of SipHash, which the interpreter computes with a
secret of its own in each process, and it is only looked for along one path through the table, which
begins at a place that also depends on its CRC. Two keys are taken for one if all of that agrees:
with three million different keys that happens in one of 10^12 compactions.

What a number means for an offset, and what becomes of a record, is decided in `retained`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from headrace.errors import ConfigError
from headrace.log.compaction.record_keys import Keys
from headrace.records.checksum import crc32c

STAYS: Final = 0
SUPERSEDED: Final = 1
TOMBSTONE: Final = 2

_FREE: Final = -1
_PLACE_BYTES: Final = 16
_MIN_PLACES: Final = 1024
_TABLE_SHARE: Final = 0.75
"""Of the memory, what the table may take at most; the rest is for the fates."""


class KeyMap:
    """See the module. Whoever puts a batch in has asked before whether there is room for it."""

    __slots__ = ("_fates", "_mask", "_max_keys", "_table", "key_count", "record_count")

    def __init__(self, max_bytes: int, load_factor: float, expected_records: int) -> None:
        """A map of at most `max_bytes`, and not larger than so many records can need."""
        places = _MIN_PLACES
        while (
            places < 2 * expected_records and 2 * places * _PLACE_BYTES <= max_bytes * _TABLE_SHARE
        ):
            places *= 2
        fates = min(max_bytes - places * _PLACE_BYTES, expected_records + 1)
        if fates < 1:
            raise ConfigError(
                f"log.cleaner.dedupe.buffer.size leaves {max_bytes} bytes for a thread, which "
                f"needs more than {places * _PLACE_BYTES}: raise it, or lower log.cleaner.threads"
            )
        self._table = array("q", [_FREE]) * (2 * places)
        self._mask = 2 * places - 2
        self._fates = bytearray(fates)  # the first of them belongs to no record
        self._max_keys = int(places * load_factor)
        self.key_count = 0
        self.record_count = 0

    @property
    def memory_bytes(self) -> int:
        return len(self._table) * self._table.itemsize + len(self._fates)

    def has_room_for(self, count: int) -> bool:
        """Whether a batch of so many records fits, whatever its keys are."""
        return (
            self.record_count + count < len(self._fates)
            and self.key_count + count <= self._max_keys
        )

    def skip(self, count: int) -> None:
        """Give numbers to records that supersede nothing: those of aborted transactions."""
        self.record_count += count

    def put(self, batch: Keys) -> None:
        """Take the next batch into account. Records without a key are superseded from the start:
        there is nothing to keep them for.
        """
        keys, tombstones, keyless = batch
        first = self.record_count + 1
        numbers: Sequence[int] = range(first, first + len(keys))
        self.record_count += len(keys)
        fates = self._fates
        if keyless:
            for index in keyless:
                fates[first + index] = SUPERSEDED
            numbers = [number for number in numbers if fates[number] != SUPERSEDED]
            keys = [keys[number - first] for number in numbers]
        self._put(keys, numbers)
        for index in tombstones:
            if fates[first + index] == STAYS:
                fates[first + index] = TOMBSTONE

    def _put(self, keys: Sequence[bytes], numbers: Sequence[int]) -> None:
        table, fates = self._table, self._fates
        hashes = list(map(hash, keys))
        free = _FREE
        for place, hashed, number in zip(self._places(keys, hashes), hashes, numbers, strict=True):
            found = table[place]
            if found != hashed:
                if found != free:
                    place = self._look_on(place, hashed)
                if table[place] == free:
                    table[place] = hashed
                    table[place + 1] = number
                    self.key_count += 1
                    continue
            fates[table[place + 1]] = SUPERSEDED
            table[place + 1] = number

    def find(self, keys: Sequence[bytes]) -> list[int]:
        """Which of these keys are in the map."""
        table = self._table
        hashes = list(map(hash, keys))
        known = []
        for index, place in enumerate(self._places(keys, hashes)):
            found = table[place]
            if found != hashes[index] and found != _FREE:
                found = table[self._look_on(place, hashes[index])]
            if found != _FREE:
                known.append(index)
        return known

    def _places(self, keys: Iterable[bytes], hashes: Iterable[int]) -> list[int]:
        """Where the search for each key begins."""
        mask = self._mask
        crcs = map(crc32c, keys)
        return [(hashed ^ crc) & mask for hashed, crc in zip(hashes, crcs, strict=True)]

    def _look_on(self, place: int, hashed: int) -> int:
        """The place of a key, or a free one for it, behind one that another key has taken.

        The steps are odd numbers of places, so they lead through the whole table, and differ from
        key to key, so that keys which meet once go apart again.
        """
        table, mask = self._table, self._mask
        step = (hashed >> 31 | 2) & mask
        while True:
            place = (place + step) & mask
            found = table[place]
            if found in (hashed, _FREE):
                return place

    def fates(self, first: int, count: int) -> bytes:
        """What becomes of `count` records, before which `first` were put in or skipped."""
        return bytes(self._fates[first + 1 : first + 1 + count])
