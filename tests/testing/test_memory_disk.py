from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.testing import MemoryDisk, SimulatedCrash

SEEDS = range(200)


def fresh() -> MemoryDisk:
    return MemoryDisk(folders=["/data"])


def content(disk: MemoryDisk, path: str) -> bytes | None:
    return read_all(disk, path) if disk.exists(path) else None


def outcomes(disk: MemoryDisk, path: str, **options: bool) -> set[bytes | None]:
    """All contents of one file that some crash leaves; None: no such file."""
    return {content(disk.crash(Random(seed), **options), path) for seed in SEEDS}


def test_it_is_a_disk() -> None:
    """The twin satisfies the protocol that production code takes."""
    disk: Disk = MemoryDisk()
    assert disk.list("/") == []


def test_only_synced_bytes_survive() -> None:
    """What was written after the last sync is gone after a crash, cuts included."""
    disk = fresh()
    file = disk.open("/data/log", create=True)
    file.append([b"synced"])
    file.sync()
    disk.sync_folder("/data")
    file.append([b"lost"])
    assert content(disk.crash(), "/data/log") == b"synced"
    file.truncate(2)
    file.write_at(0, b"XX")
    assert content(disk, "/data/log") == b"XX"
    assert content(disk.crash(), "/data/log") == b"synced"
    file.sync()
    assert content(disk.crash(), "/data/log") == b"XX"


def test_the_crashed_disk_is_a_copy() -> None:
    """Work after the crash does not reach back, and the old disk goes on as if nothing was."""
    disk = fresh()
    write_atomically(disk, "/data/a", b"1")
    after = disk.crash()
    write_atomically(after, "/data/a", b"2")
    disk.open("/data/a").append([b"!"])
    assert content(disk, "/data/a") == b"1!"
    assert content(after.crash(), "/data/a") == b"2"


def test_a_created_file_needs_its_folder_synced() -> None:
    """Syncing a new file does not make its name durable."""
    disk = fresh()
    file = disk.open("/data/log", create=True)
    file.append([b"x"])
    file.sync()
    assert not disk.crash().exists("/data/log")
    disk.sync_folder("/data")
    assert content(disk.crash(), "/data/log") == b"x"


def test_a_created_folder_needs_its_parent_synced() -> None:
    """A synced folder that nobody can reach is lost with all that is in it."""
    disk = fresh()
    disk.make_folder("/data/topic-0")
    disk.open("/data/topic-0/log", create=True)
    disk.sync_folder("/data/topic-0")
    assert disk.crash().list("/data") == []
    disk.sync_folder("/data")
    assert disk.crash().list("/data/topic-0") == ["log"]


def test_a_rename_without_sync_gives_the_old_file() -> None:
    """Until the folder is synced, a crash shows the file that was replaced."""
    disk = fresh()
    write_atomically(disk, "/data/a", b"old")
    write_atomically(disk, "/data/a", b"new", sync=False)
    assert content(disk, "/data/a") == b"new"
    assert content(disk.crash(), "/data/a") == b"old"


def test_a_rename_of_unsynced_bytes_gives_an_empty_file() -> None:
    """The classic mistake: the name is durable, the content is not."""
    disk = fresh()
    disk.open("/data/a.tmp", create=True).append([b"new"])
    disk.rename("/data/a.tmp", "/data/a")
    disk.sync_folder("/data")
    assert content(disk.crash(), "/data/a") == b""


@pytest.mark.parametrize("synced", ["/data/from", "/data/to"])
def test_a_move_between_folders_is_atomic(synced: str) -> None:
    """A file is never lost or doubled, whichever of the two folders was synced."""
    disk = MemoryDisk(folders=["/data/from", "/data/to"])
    write_atomically(disk, "/data/from/f", b"x")
    disk.rename("/data/from/f", "/data/to/g")
    assert disk.crash().list("/data/from") == ["f"]
    assert disk.crash().list("/data/to") == []
    disk.sync_folder(synced)
    assert disk.crash().list("/data/from") == []
    assert content(disk.crash(), "/data/to/g") == b"x"


def test_a_sync_takes_along_what_it_builds_on() -> None:
    """A file created in one folder and moved to another is not found twice."""
    disk = MemoryDisk(folders=["/data/from", "/data/to"])
    disk.open("/data/from/f", create=True)
    disk.rename("/data/from/f", "/data/to/f")
    disk.sync_folder("/data/to")
    for seed in SEEDS:
        after = disk.crash(Random(seed))
        assert (after.list("/data/from"), after.list("/data/to")) == ([], ["f"])


def test_a_sync_leaves_other_folders_alone() -> None:
    """Syncing one folder says nothing about another."""
    disk = MemoryDisk(folders=["/data/a", "/data/b"])
    disk.open("/data/a/f", create=True)
    disk.open("/data/b/f", create=True)
    disk.sync_folder("/data/a")
    after = disk.crash()
    assert (after.list("/data/a"), after.list("/data/b")) == (["f"], [])


def test_a_removal_without_sync_is_undone() -> None:
    """Removed files and folders come back after a crash unless the folder was synced."""
    disk = fresh()
    disk.make_folder("/data/topic-0")
    disk.sync_folder("/data")
    write_atomically(disk, "/data/topic-0/log", b"x")
    disk.remove_folder("/data/topic-0")
    assert content(disk.crash(), "/data/topic-0/log") == b"x"
    disk.sync_folder("/data")
    assert disk.crash().list("/data") == []


def test_chance_keeps_any_part_of_unsynced_appends() -> None:
    """With a generator a crash keeps a prefix of the unsynced bytes, also inside a write."""
    disk = fresh()
    file = disk.open("/data/log", create=True)
    file.append([b"ab"])
    file.sync()
    disk.sync_folder("/data")
    file.append([b"cd"])
    file.append([b"ef"])
    prefixes = {b"ab", b"abc", b"abcd", b"abcde", b"abcdef"}
    assert outcomes(disk, "/data/log") == prefixes


def test_chance_keeps_or_loses_unsynced_renames_each_for_itself() -> None:
    """Two unsynced renames in one folder survive independently of each other."""
    disk = fresh()
    for name in ("a", "b"):
        write_atomically(disk, f"/data/{name}", b"old")
        write_atomically(disk, f"/data/{name}.new", b"new")
    disk.rename("/data/a.new", "/data/a")
    disk.rename("/data/b.new", "/data/b")
    seen = set()
    for seed in SEEDS:
        after = disk.crash(Random(seed))
        seen.add((content(after, "/data/a"), content(after, "/data/b")))
    assert seen == {(a, b) for a in (b"old", b"new") for b in (b"old", b"new")}


def test_chance_keeps_no_change_without_its_ground() -> None:
    """A second rename of the same file never survives where the first is lost."""
    disk = fresh()
    write_atomically(disk, "/data/a", b"x")
    disk.rename("/data/a", "/data/b")
    disk.rename("/data/b", "/data/c")
    names = {tuple(disk.crash(Random(seed)).list("/data")) for seed in SEEDS}
    assert names == {("a",), ("b",), ("c",)}


def test_torn_pages_never_touch_synced_bytes() -> None:
    """Pages of unsynced writes may turn to zeros or garbage; durable bytes stay."""
    disk = fresh()
    file = disk.open("/data/log", create=True)
    file.append([b"S" * 5000])
    file.sync()
    disk.sync_folder("/data")
    file.append([b"U" * 20_000])
    kinds = set()
    for outcome in outcomes(disk, "/data/log", torn_pages=True):
        assert outcome is not None
        assert outcome[:5000] == b"S" * 5000
        tail = outcome[5000:]
        kinds.add((b"\0" * 100 in tail, bool(tail.strip(b"U\0"))))
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}


def test_the_same_seed_gives_the_same_disk() -> None:
    """A failure that a seed found can be found again."""
    disk = fresh()
    for index in range(20):
        disk.open(f"/data/{index}", create=True).append([bytes(100)])
    for seed in range(20):
        one, two = (disk.crash(Random(seed), torn_pages=True) for _ in range(2))
        assert one.list("/data") == two.list("/data")
        for name in one.list("/data"):
            assert content(one, f"/data/{name}") == content(two, f"/data/{name}")


def count_crashes(work: Callable[[MemoryDisk], None], look: Callable[[MemoryDisk], None]) -> int:
    """Crash during each operation of `work` in turn; `look` sees every disk that is left."""
    for n in range(1, 1000):
        disk = fresh()
        disk.crash_at(n)
        with contextlib.suppress(SimulatedCrash):
            work(disk)
        look(disk.crash())
        for seed in range(20):
            look(disk.crash(Random(seed), torn_pages=True))
        if disk.operations < n:
            return n - 1
    raise AssertionError("the work never ends")


def test_crash_at_every_operation() -> None:
    """Replacing a file atomically really is atomic: old or new at each of its boundaries."""
    seen = set()

    def work(disk: MemoryDisk) -> None:
        write_atomically(disk, "/data/a", b"old")
        write_atomically(disk, "/data/a", b"new!")

    def look(disk: MemoryDisk) -> None:
        seen.add(content(disk, "/data/a"))

    # Each write: create, truncate, append, sync, rename, sync the folder.
    assert count_crashes(work, look) == 12
    assert seen == {None, b"old", b"new!"}


def test_a_careless_replacement_is_found_out() -> None:
    """Without the syncs the same search finds torn and empty files."""
    seen = set()

    def work(disk: MemoryDisk) -> None:
        write_atomically(disk, "/data/a", b"old")
        disk.open("/data/a.tmp", create=True).append([b"new!"])
        disk.rename("/data/a.tmp", "/data/a")
        disk.sync_folder("/data")

    count_crashes(work, lambda disk: seen.add(content(disk, "/data/a")))
    assert b"" in seen
    assert seen & {b"n", b"ne", b"new"}


def test_after_the_crash_nothing_works() -> None:
    """Clean-up code that runs while the crash unwinds cannot touch the disk."""
    disk = fresh()
    file = disk.open("/data/a", create=True)
    disk.crash_at(2)
    file.append([b"1"])
    with pytest.raises(SimulatedCrash):
        file.append([b"2"])
    for attempt in (
        lambda: file.read(0, 1),
        lambda: file.sync(),
        lambda: disk.list("/data"),
        lambda: disk.exists("/data/a"),
        lambda: disk.remove("/data/a"),
    ):
        with pytest.raises(SimulatedCrash):
            attempt()
    assert not isinstance(SimulatedCrash(), Exception)
    assert disk.crash().list("/data") == []


def test_a_crash_during_a_sync_syncs_nothing() -> None:
    """The sync that was interrupted has not promised anything."""
    disk = fresh()
    file = disk.open("/data/a", create=True)
    disk.sync_folder("/data")
    file.append([b"x"])
    disk.crash_at(1)
    with pytest.raises(SimulatedCrash):
        file.sync()
    assert content(disk.crash(), "/data/a") == b""
    assert outcomes(disk, "/data/a") == {b"", b"x"}

    disk = fresh()
    disk.open("/data/a", create=True)
    disk.crash_at(1)
    with pytest.raises(SimulatedCrash):
        disk.sync_folder("/data")
    assert not disk.crash().exists("/data/a")
    assert outcomes(disk, "/data/a") == {None, b""}


def test_a_crash_wins_over_an_error() -> None:
    """An operation that would have failed anyway crashes all the same."""
    disk = fresh()
    disk.crash_at(1)
    with pytest.raises(SimulatedCrash):
        disk.remove("/data/missing")


def test_operations_are_counted() -> None:
    """Everything that changes the disk counts, reads do not."""
    disk = fresh()
    file = disk.open("/data/a", create=True)
    file.append([b"x"])
    file.write_at(0, b"y")
    file.truncate(0)
    file.sync()
    file.rename("/data/b")
    disk.sync_folder("/data")
    assert disk.operations == 7
    disk.make_folder("/data/x/y")
    disk.open("/data/x/y/f", create=True)
    disk.remove_folder("/data/x")
    assert disk.operations == 13
    disk.list("/data")
    disk.open("/data/b", create=True).read(0, 1)
    disk.exists("/data/b")
    disk.make_folder("/data")
    assert disk.operations == 13


def test_fail_at() -> None:
    """One chosen operation fails, changes nothing, and the next one works."""
    disk = fresh()
    file = disk.open("/data/a", create=True)
    disk.fail_at(2, OSError(errno.ENOSPC, "full"))
    file.append([b"1"])
    with pytest.raises(OSError, match="full"):
        file.append([b"2"])
    assert file.append([b"3"]) == 1
    assert content(disk, "/data/a") == b"13"


@pytest.mark.parametrize("n", [0, -1])
def test_faults_lie_in_the_future(n: int) -> None:
    """Operations are counted from now, beginning with 1."""
    with pytest.raises(ValueError, match="the next one is 1"):
        fresh().crash_at(n)
    with pytest.raises(ValueError, match="the next one is 1"):
        fresh().fail_at(n, OSError())


def test_full_disk() -> None:
    """ENOSPC when all files together would outgrow the capacity; nothing of the append remains."""
    disk = MemoryDisk(folders=["/data"], capacity_bytes=10)
    file = disk.open("/data/a", create=True)
    file.append([b"123456"])
    assert disk.room("/data") == (10, 4)
    for attempt in (
        lambda: file.append([b"78", b"9ab"]),
        lambda: file.write_at(8, b"xyz"),
        lambda: file.truncate(11),
    ):
        with pytest.raises(OSError, match="No space left") as caught:
            attempt()
        assert caught.value.errno == errno.ENOSPC
    assert content(disk, "/data/a") == b"123456"
    file.append([b"789a"])
    with pytest.raises(OSError, match="No space left"):
        disk.open("/data/b", create=True)
    file.truncate(0)
    disk.open("/data/b", create=True).append([b"0123456789"])
    disk.capacity_bytes = 20
    file.append([b"0123456789"])
    assert disk.room("/data") == (20, 0)
    assert disk.crash().capacity_bytes == 20


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_read_only_folder(code: int) -> None:
    """Every change under the folder is refused, reads and other folders go on."""
    disk = MemoryDisk(folders=["/data", "/other", "/data2"])
    write_atomically(disk, "/data/a", b"x")
    file = disk.open("/data/a")
    disk.make_read_only("/data", code)
    for attempt in (
        lambda: file.append([b"y"]),
        lambda: file.sync(),
        lambda: disk.open("/data/b", create=True),
        lambda: disk.rename("/data/a", "/other/a"),
        lambda: disk.rename("/other", "/data/other"),
        lambda: disk.remove("/data/a"),
        lambda: disk.remove_folder("/data"),
        lambda: disk.make_folder("/data/x"),
        lambda: disk.sync_folder("/data"),
        lambda: disk.lock("/data/.lock"),
    ):
        with pytest.raises(OSError, match=os.strerror(code)):
            attempt()
    assert file.read(0, 9) == b"x"
    disk.make_folder("/data")
    write_atomically(disk, "/data2/a", b"y")
    disk.mend("/data")
    assert file.append([b"y"]) == 1


def test_broken_drive() -> None:
    """Reads fail too, and a question about a path is not answered with `missing`."""
    disk = MemoryDisk(folders=["/one", "/two"])
    write_atomically(disk, "/one/a", b"x")
    file = disk.open("/one/a")
    disk.break_path("/one")
    for attempt in (
        lambda: file.read(0, 1),
        lambda: file.size(),
        lambda: file.append([b"y"]),
        lambda: disk.open("/one/a"),
        lambda: disk.open("/one/b"),
        lambda: disk.list("/one"),
        lambda: disk.exists("/one/a"),
        lambda: disk.is_folder("/one"),
        lambda: disk.room("/one"),
    ):
        with pytest.raises(OSError, match="Input/output error"):
            attempt()
    write_atomically(disk, "/two/a", b"y")
    disk.mend("/one")
    assert file.read(0, 9) == b"x"


def test_a_crash_releases_locks() -> None:
    """The next process finds the lock file, but nobody who holds it."""
    disk = fresh()
    disk.lock("/data/.lock")
    disk.sync_folder("/data")
    disk.crash().lock("/data/.lock")


def test_no_descriptor() -> None:
    """A file in memory cannot be given to sendfile and says so."""
    file = fresh().open("/data/a", create=True)
    with pytest.raises(io.UnsupportedOperation, match="use read"):
        file.descriptor()


def test_paths_are_absolute() -> None:
    """A relative path is a mistake of the caller."""
    with pytest.raises(ValueError, match="not an absolute path"):
        fresh().exists("data")


steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "sync", "rename", "remove", "sync_folder"]),
        st.sampled_from("abc"),
        st.sampled_from("abc"),
    ),
    max_size=20,
)


@settings(deadline=None)
@given(steps=steps, seed=st.integers(0, 2**32))
def test_what_was_synced_always_survives(steps: list[tuple[str, str, str]], seed: int) -> None:
    """After everything was synced, every crash leaves exactly what the program saw."""
    disk = fresh()
    for what, name, other in steps:
        path = f"/data/{name}"
        if what == "write":
            disk.open(path, create=True).append([name.encode()])
        elif what == "sync_folder":
            disk.sync_folder("/data")
        elif disk.exists(path):
            if what == "sync":
                disk.open(path).sync()
            elif what == "rename":
                disk.rename(path, f"/data/{other}")
            else:
                disk.remove(path)
    for name in disk.list("/data"):
        disk.open(f"/data/{name}").sync()
    disk.sync_folder("/data")
    for after in (disk.crash(), disk.crash(Random(seed), torn_pages=True)):
        assert after.list("/data") == disk.list("/data")
        for name in after.list("/data"):
            assert content(after, f"/data/{name}") == content(disk, f"/data/{name}")
