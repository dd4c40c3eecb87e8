"""A tree in one SQLite file: the cluster state of a broker that needs nothing but Python.

The nodes are held in memory and read from there; every transaction is one SQLite transaction that
is synced before the caller or any watch hears of it. The file belongs to one process at a time,
which is the one session: a lock file beside it refuses a second one, and ephemeral nodes found at
opening are those of a process that died. Reading the file with the `sqlite3` tool while a broker
runs is safe.

A full disk must not keep a broker from starting, nor an operator from deleting a topic to make
room. So space is taken beforehand: the write-ahead log always has a mebibyte, which SQLite uses
over and over, and the file some free pages.

    TABLE nodes     TYPE      MEANING
    path            TEXT      absolute path, primary key; the root is a row too
    data            BLOB      what the node holds
    version         INTEGER   0 at creation, +1 with every set
    ephemeral       INTEGER   1 if the node goes with the session that made it
    next_sequence   INTEGER   number for the next sequential child

`PRAGMA application_id` is 0x48524354 ("HRCT") and `PRAGMA user_version` the version of this schema.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from headrace.coordination.local import LocalStore, LocalTree
from headrace.coordination.state import PERSISTENT, Applied, Entry
from headrace.coordination.tree import StoreFailed, parent_of
from headrace.errors import CorruptData, HeadraceError
from headrace.runtime.os_disk import FILE_MODE, OsLock, make_private

APPLICATION_ID = 0x48524354
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE nodes (
    path TEXT PRIMARY KEY,
    data BLOB NOT NULL,
    version INTEGER NOT NULL,
    ephemeral INTEGER NOT NULL,
    next_sequence INTEGER NOT NULL
) WITHOUT ROWID
"""

_ONLY_SESSION = 1
_LOG, _LOG_INDEX = "-wal", "-shm"
_LOG_RESERVE_BYTES = 1 << 20
_LOG_INDEX_BYTES = 32 << 10
# Pages of 4 KiB after which the log is copied into the file, and its space used again.
_LOG_PAGES = 64
_FREE_PAGES = 64
_REMEDY = "restore it from a backup, or move it away to start with a new one"


class StoreInUse(HeadraceError):
    """Another process has the file."""


class SqliteTree(LocalTree):
    """The one session on a file. See `Tree` for the methods."""

    def __init__(self, path: str) -> None:
        store = _SqliteStore(path)
        super().__init__(store, _ONLY_SESSION)
        self.path = path
        self._file = store

    def close(self) -> None:
        with suppress(StoreFailed):  # What is left of the session counts for nothing: see `_load`.
            super().close()
        self._file.close()


class _SqliteStore(LocalStore):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._closed = False
        try:
            self._process_lock = OsLock(path + ".lock")
        except BlockingIOError:
            raise StoreInUse(
                f"{path} is in use by another process: stop that broker, or choose another folder"
            ) from None
        try:
            _keep_private(path)
            self._db = _open(path)
            try:
                self._load()
            except BaseException:
                self._db.close()
                raise
        except BaseException as error:
            self._process_lock.release()
            if isinstance(error, sqlite3.OperationalError):
                raise StoreFailed(
                    path, f"{error}; check the folder, its permissions and that the disk has room"
                ) from error
            # A damaged schema can even make the error message undecodable.
            if isinstance(error, (sqlite3.DatabaseError, UnicodeDecodeError)):
                raise CorruptData(f"{path} is damaged ({error}): {_REMEDY}") from error
            raise

    def persist(self, applied: Applied) -> None:
        rows: list[tuple[str, bytes, int, bool, int]] = []
        gone: list[tuple[str]] = []
        for path in applied.changed:
            entry = self.state.entries.get(path)
            if entry is None:
                gone.append((path,))
            else:
                rows.append(_row(path, entry))
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("DELETE FROM nodes WHERE path = ?", gone)
            self._db.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise StoreFailed(
                self._path, f"cannot write ({error}); check that the disk has room"
            ) from error

    def close(self) -> None:
        with self.lock:
            if not self._closed:
                self._closed = True
                self._db.close()
                # Closing has removed them. SQLite takes zeros for an empty log.
                _allocate(self._path + _LOG, _LOG_RESERVE_BYTES)
                _allocate(self._path + _LOG_INDEX, _LOG_INDEX_BYTES)
                self._process_lock.release()

    def _load(self) -> None:
        entries = self.state.entries
        for path, data, version, ephemeral, next_sequence in self._db.execute(
            "SELECT path, data, version, ephemeral, next_sequence FROM nodes ORDER BY path"
        ):
            if ephemeral:
                continue
            entry = Entry(data, version, PERSISTENT, next_sequence)
            if not _plausible(path, entry):
                raise CorruptData(
                    f"{self._path} has a row that is not a node ({path!a}): {_REMEDY}"
                )
            entries[path] = entry
        for path in entries:
            if path == "/":
                continue
            parent = entries.get(parent_of(path))
            if parent is None:
                raise CorruptData(f"{self._path} has {path!r} without a parent: {_REMEDY}")
            parent.children.add(path[path.rindex("/") + 1 :])
        try:
            self._db.execute("DELETE FROM nodes WHERE ephemeral")
        except sqlite3.OperationalError:
            pass  # The disk is full. Such a row counts for nothing, and is replaced or goes later.


def _keep_private(path: str) -> None:
    """Let only the broker's user read the file; SQLite gives its companions the same mode."""
    with suppress(OSError):  # SQLite says what is wrong.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
    for each in (path, path + _LOG, path + _LOG_INDEX, path + ".lock"):
        make_private(each)


def _open(path: str) -> sqlite3.Connection:
    """Connect, create the schema in a new file, and refuse a file that is not ours."""
    fresh = not Path(path).exists() or Path(path).stat().st_size == 0
    # The store's own lock serialises the threads that share this connection.
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if fresh:
            db.execute("BEGIN IMMEDIATE")
            db.execute(_SCHEMA)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("COMMIT")
        application_id = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if application_id != APPLICATION_ID:
            raise CorruptData(f"{path} is not a coordination file: {_REMEDY}")
        if version > SCHEMA_VERSION:
            raise CorruptData(
                f"{path} has schema version {version}, this release knows {SCHEMA_VERSION}: "
                "start the newer release that wrote it"
            )
        _reserve(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _reserve(db: sqlite3.Connection, path: str) -> None:
    """Take the space that a full disk will not give; without it the tree still works."""
    db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    _allocate(path + _LOG, _LOG_RESERVE_BYTES)
    missing = _FREE_PAGES - int(db.execute("PRAGMA freelist_count").fetchone()[0])
    if missing <= 0:
        return
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE reserve (pages BLOB)")
        db.execute("INSERT INTO reserve VALUES (zeroblob(?))", (missing * 4096,))
        db.execute("DROP TABLE reserve")
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    except sqlite3.OperationalError:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _allocate(path: str, size: int) -> None:
    """Let a file have its space."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            os.posix_fallocate(fd, 0, size)
        finally:
            os.close(fd)
    except OSError:
        pass  # There is no room, or the file system cannot reserve any.


def _plausible(path: object, entry: Entry) -> bool:
    """SQLite columns hold any type; a damaged file may say that a path is a number."""
    return (
        isinstance(path, str)
        and path.startswith("/")
        and isinstance(entry.data, bytes)
        and isinstance(entry.version, int)
        and isinstance(entry.next_sequence, int)
    )


def _row(path: str, entry: Entry) -> tuple[str, bytes, int, bool, int]:
    return path, entry.data, entry.version, entry.owner != PERSISTENT, entry.next_sequence
