"""Putting a compacted segment in the place of old ones, so that no crash can lose a record.

Compaction writes its results as `.cleaned`, names them `.swap` once they are complete, deletes the
segments that they replace and takes the suffix away; each step is on disk before the next begins.
Kafka may name several results at once, the highest base offset first. After a crash:

    what is found                    what it means                       what is done
    ….deleted                        the segment is gone                 removed
    ….cleaned                        compaction was not finished         removed
    ….swap at or above a ….cleaned   not all results were complete       removed
    any other ….swap                 the results are complete            old segments go, it stays
    ….tmp                            a small file was being replaced     removed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.log import names
from headrace.log.retention import doom
from headrace.log.scan import walk
from headrace.log.segment import LogSegment
from headrace.runtime.disk import Disk

if TYPE_CHECKING:
    from headrace.log.compaction.cleaning import CleanedSegment
    from headrace.log.compaction.plan import CleaningPlan
    from headrace.log.log import PartitionLog

_GONE = (names.DELETED, names.CLEANED, ".tmp")


def exchange(log: PartitionLog, plan: CleaningPlan, cleaned: CleanedSegment, now_ms: int) -> bool:
    """Let a compacted segment take its place. Who reads an old one can finish.

    False if the log was cut or lost an old segment since the plan was made: what was compacted is
    not what is there now, and nothing is changed. An OSError leaves the folder in the middle of the
    exchange, which only a start can finish.
    """
    segments = log.segments
    index, count = segments.index_of(cleaned.base_offset), len(cleaned.replaces)
    bases = segments.base_offsets[index:-1]  # never the active one
    if log.truncations != plan.truncations or bases[:count] != cleaned.replaces:
        return False
    fresh = LogSegment(
        log.disk,
        log.folder,
        cleaned.base_offset,
        index_interval_bytes=log.config.index_interval_bytes,
        now_ms=segments[index + count - 1].created_ms,
        has_txn_index=cleaned.has_txn_index,
        suffix=names.CLEANED,
    )
    fresh.rename(log.folder, names.SWAP)
    log.folder_changes += 1
    log.sync_folder()
    old = segments.replace(index, count, fresh)
    doom(log, old, now_ms)
    # Before the new segment loses its suffix the old ones must be gone for good: if a power cut
    # brought one back, it would hold the same offsets.
    log.sync_folder()
    fresh.rename(log.folder)
    log.folder_changes += 1
    for base_offset in cleaned.replaces[1:]:
        if base_offset in log.snapshots.offsets:
            log.snapshots.remove(base_offset)
    return True


def finish_interrupted_work(disk: Disk, folder: str) -> list[str]:
    """Bring the folder into a state without such files; returns the names that are left."""
    files = disk.list(folder)
    abandoned = [_base_offset(name) for name in files if name.endswith(names.CLEANED)]
    swaps = [name for name in files if name.endswith(names.SWAP)]
    incomplete = [name for name in swaps if abandoned and _base_offset(name) >= min(abandoned)]
    for name in incomplete:
        disk.remove(f"{folder}/{name}")
    if incomplete:
        # Without the `.cleaned` beside it, one that came back would seem complete.
        disk.sync_folder(folder)
    for name in files:
        if name.endswith(_GONE):
            disk.remove(f"{folder}/{name}")
    if not swaps:
        return [name for name in files if not name.endswith(_GONE)]
    _complete(disk, folder, [name for name in swaps if name not in incomplete])
    return disk.list(folder)


def _complete(disk: Disk, folder: str, swaps: list[str]) -> None:
    """Remove the segments that the results replace, then give the results their names."""
    for name in swaps:
        if name.endswith(names.LOG + names.SWAP):
            start, end = _range(disk, folder, name)
            for other in disk.list(folder):
                parsed = names.parse(other)
                if (
                    parsed is not None
                    and parsed[1] in names.SEGMENT_FILES
                    and start <= parsed[0] < end
                ):
                    disk.remove(f"{folder}/{other}")
    # As in `exchange`: no old segment may come back beside the new one.
    disk.sync_folder(folder)
    for name in swaps:
        disk.rename(f"{folder}/{name}", f"{folder}/{name.removesuffix(names.SWAP)}")
    disk.sync_folder(folder)


def _range(disk: Disk, folder: str, name: str) -> tuple[int, int]:
    """The offsets from the segment's base to the end of its last batch."""
    start = _base_offset(name)
    end = start + 1
    file = disk.open(f"{folder}/{name}")
    for _, header in walk(file, 0, file.size()):
        end = header.last_offset + 1
    file.close()
    return start, end


def _base_offset(name: str) -> int:
    parsed = names.parse(name)
    return -1 if parsed is None else parsed[0]
