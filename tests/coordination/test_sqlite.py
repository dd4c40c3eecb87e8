"""The tree in a file: what survives, what does not, and what a damaged file says."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.coordination.sqlite import SCHEMA_VERSION, SqliteTree, StoreInUse
from headrace.coordination.tree import Create, Event, Node, Op, Set, StoreFailed
from headrace.errors import CorruptData


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "__coordination.sqlite")


def test_nodes_survive_and_ephemeral_ones_do_not(path: str) -> None:
    """A clean stop keeps data, versions and sequence numbers, and ends the session's nodes."""
    tree = SqliteTree(path)
    tree.create("/a", b"")
    tree.create("/a/e", b"", ephemeral=True)
    tree.create("/a/n-", b"x", sequential=True)
    tree.set("/a", b"1")
    tree.close()
    tree = SqliteTree(path)
    assert tree.subtree("/a") == {"/a": Node(b"1", 1), "/a/n-0000000001": Node(b"x", 0)}
    assert tree.create("/a/n-", b"", sequential=True) == "/a/n-0000000002"
    tree.close()


def test_ephemeral_nodes_of_a_dead_process_are_gone(path: str) -> None:
    """After kill -9 nobody removed the ephemeral nodes; the next opening does."""
    script = (
        "import os, signal, sys\n"
        "from headrace.coordination.sqlite import SqliteTree\n"
        "tree = SqliteTree(sys.argv[1])\n"
        "tree.create('/controller', b'1', ephemeral=True)\n"
        "tree.create('/kept', b'')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=False, timeout=60)
    tree = SqliteTree(path)
    assert tree.children("/") == ["kept"]
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM nodes WHERE ephemeral").fetchone() == (0,)
    db.close()
    tree.create("/controller", b"2", ephemeral=True)
    tree.close()


def test_a_killed_writer_leaves_whole_transactions_only(path: str) -> None:
    """kill -9 in a stream of multis: every node shows the same transaction, none acknowledged lost.

    The writer sets 40 nodes to one number per transaction and prints each number after the commit.
    """
    script = (
        "import sys\n"
        "from headrace.coordination.sqlite import SqliteTree\n"
        "from headrace.coordination.tree import Create, Set\n"
        "tree = SqliteTree(sys.argv[1])\n"
        "paths = [f'/n{i}' for i in range(40)]\n"
        "tree.multi([Create(path, b'0') for path in paths])\n"
        "for number in range(1, 1_000_000):\n"
        "    tree.multi([Set(path, str(number).encode() * 50) for path in paths])\n"
        "    print(number, flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True
    )
    with writer:
        assert writer.stdout is not None
        for _ in range(25):
            assert writer.stdout.readline()
        writer.kill()
        acknowledged = 25 + len(writer.stdout.read().split("\n")) - 1
    tree = SqliteTree(path)
    nodes = [tree.get(f"/n{i}") for i in range(40)]
    tree.close()
    assert len(set(nodes)) == 1
    assert nodes[0].version in (acknowledged, acknowledged + 1)


def test_a_second_process_is_refused(path: str) -> None:
    """The file belongs to one process: the other is told in one line what to do."""
    tree = SqliteTree(path)
    script = (
        "import sys\n"
        "from headrace.coordination.sqlite import SqliteTree, StoreInUse\n"
        "try:\n"
        "    SqliteTree(sys.argv[1])\n"
        "except StoreInUse as error:\n"
        "    sys.exit(str(error))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert other.returncode == 1
    assert "is in use by another process" in other.stderr
    with pytest.raises(StoreInUse):
        SqliteTree(path)
    tree.close()
    SqliteTree(path).close()


@pytest.mark.parametrize("damage", [b"garbage", b"SQLite format 3\x00" + b"\xff" * 84])
def test_a_damaged_file_names_itself_and_the_remedy(path: str, damage: bytes) -> None:
    """Bytes that are no database give one line: which file, what is wrong, what helps."""
    tree = SqliteTree(path)
    tree.create("/a", b"")
    tree.close()
    with open(path, "r+b") as file:
        file.write(damage)
    with pytest.raises(CorruptData, match="restore it from a backup") as caught:
        SqliteTree(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_flipped_byte_gives_a_tree_or_a_clear_error(path: str) -> None:
    """No damage to the file escapes as anything but CorruptData or StoreFailed."""
    tree = SqliteTree(path)
    tree.multi([Create("/a", b"x" * 100), Create("/a/b", b"y" * 100)])
    tree.close()
    original = Path(path).read_bytes()
    refused = 0
    for position in range(0, 5 * 4096, 23):  # what follows are free pages
        damaged = bytearray(original)
        damaged[position] ^= 0xFF
        Path(path).write_bytes(damaged)
        try:
            SqliteTree(path).close()
        except (CorruptData, StoreFailed):
            refused += 1
    assert refused > 3


def test_a_strange_database_is_not_touched(path: str) -> None:
    """A SQLite file of somebody else is refused before anything is written to it."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE other (x)")
    db.commit()
    db.close()
    with pytest.raises(CorruptData, match="not a coordination file"):
        SqliteTree(path)


def test_a_newer_schema_is_refused(path: str) -> None:
    """A file that a later release wrote is left alone."""
    SqliteTree(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    with pytest.raises(CorruptData, match="newer release"):
        SqliteTree(path)


def test_a_node_without_a_parent_is_damage(path: str) -> None:
    """The shape of the tree is checked, not only the file format."""
    SqliteTree(path).close()
    db = sqlite3.connect(path)
    db.execute("INSERT INTO nodes VALUES ('/x/y', x'', 0, 0, 0)")
    db.commit()
    db.close()
    with pytest.raises(CorruptData, match="'/x/y' without a parent"):
        SqliteTree(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """Nothing is created where no folder is."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        SqliteTree(str(tmp_path / "nowhere" / "tree.sqlite"))


def test_a_transaction_that_cannot_be_written_did_not_happen(path: str) -> None:
    """A full disk (here: a capped file) fails the write; memory and file still agree."""
    tree = SqliteTree(path)
    tree.create("/a", b"0")
    pages = sqlite3.connect(path)
    tree._file._db.execute("PRAGMA max_page_count = 1")
    heard: list[Event] = []
    tree.watch("/", heard.append)
    ops: list[Op] = [Create(f"/b{i}", b"x" * 4000) for i in range(200)]
    with pytest.raises(StoreFailed, match="check that the disk has room"):
        tree.multi([Set("/a", b"1"), *ops])
    assert tree.get("/a") == Node(b"0", 0)
    assert tree.children("/") == ["a"]
    assert heard == []
    tree.set("/a", b"2")
    assert pages.execute("SELECT data FROM nodes WHERE path = '/a'").fetchone() == (b"2",)
    pages.close()
    tree.close()


def test_threads_may_share_the_tree(path: str) -> None:
    """Calls from several threads are serialised: no write is lost, versions count all of them."""
    tree = SqliteTree(path)
    tree.create("/n", b"")

    def write() -> None:
        for _ in range(25):
            tree.set("/n", b"x")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tree.get("/n").version == 100
    tree.close()
