"""Files that an earlier process was about to delete, write or exchange when it stopped.

Compaction writes its results as `.cleaned`, names them `.swap` once all are complete (the highest
base offset first), deletes the segments that they replace and takes the suffix away. So:

    what is found                    what it means                       what is done
    ….deleted                        the segment is gone                 removed
    ….cleaned                        compaction was not finished         removed
    ….swap at or above a ….cleaned   not all results were complete       removed
    any other ….swap                 the results are complete            old segments go, it stays
    ….tmp                            a small file was being replaced     removed
"""

from __future__ import annotations

from headrace.log import names
from headrace.log.scan import walk
from headrace.runtime.disk import Disk

_TEMPORARY = ".tmp"


def finish_interrupted_work(disk: Disk, folder: str) -> list[str]:
    """Bring the folder into a state without such files; returns the names that are left."""
    files = disk.list(folder)
    abandoned = [name for name in files if name.endswith(names.CLEANED)]
    for name in files:
        if name.endswith((names.DELETED, names.CLEANED, _TEMPORARY)):
            disk.remove(f"{folder}/{name}")
    swaps = [name for name in files if name.endswith(names.SWAP)]
    if not swaps:
        return [name for name in files if not name.endswith((*_GONE, _TEMPORARY))]
    lowest_abandoned = min((_base_offset(name) for name in abandoned), default=None)
    complete = []
    for name in swaps:
        if lowest_abandoned is not None and _base_offset(name) >= lowest_abandoned:
            disk.remove(f"{folder}/{name}")
        else:
            complete.append(name)
    _complete(disk, folder, complete)
    return disk.list(folder)


_GONE = (names.DELETED, names.CLEANED)


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
    for name in swaps:
        disk.rename(f"{folder}/{name}", f"{folder}/{name.removesuffix(names.SWAP)}")
    if swaps:
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
