"""Files and folders that remember how they differ from what a power cut would leave.

The building blocks of `MemoryDisk`. A file has content that is read and content that is durable,
with the writes between them; a folder has names likewise, and the changes of names that are not
durable yet stand in a journal. The module decides what a crash leaves of all that. It knows no
paths and no errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final, NamedTuple, TypeAlias

PAGE_BYTES: Final = 4096


class Write(NamedTuple):
    """Bytes put at a position; without data: the file was cut or lengthened to that position."""

    position: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data == b"":
            return  # Not even a write behind the end makes the file longer.
        missing = self.position - len(content)
        if missing > 0:
            content += bytes(missing)
        if self.data is None:
            del content[self.position :]
        else:
            content[self.position : self.position + len(self.data)] = self.data

    def torn(self, rng: Random) -> Write:
        """The write as far as it came before the power went."""
        if self.data is None:
            return self
        return self._replace(data=self.data[: rng.randint(0, len(self.data))])


class Data:
    """A file without its name."""

    __slots__ = ("current", "durable", "unsynced")

    def __init__(self, content: bytes = b"") -> None:
        self.current = bytearray(content)
        self.durable = bytearray(content)
        self.unsynced: list[Write] = []

    def write(self, write: Write) -> None:
        write.apply(self.current)
        self.unsynced.append(write)

    def sync(self) -> None:
        for write in self.unsynced:
            write.apply(self.durable)
        self.unsynced.clear()

    def survivor(self, rng: Random | None, torn_pages: bool) -> Data:
        """What a crash leaves: the durable content and, by chance, some of the writes after it."""
        content = bytearray(self.durable)
        if rng is not None:
            kept = self.unsynced[: rng.randint(0, len(self.unsynced))]
            if len(kept) < len(self.unsynced):
                kept.append(self.unsynced[len(kept)].torn(rng))
            for write in kept:
                write.apply(content)
            if torn_pages:
                _damage_pages(content, kept, rng)
        return Data(bytes(content))


def _damage_pages(content: bytearray, writes: Iterable[Write], rng: Random) -> None:
    """Replace some pages of unsynced writes by zeros or garbage; synced bytes are never touched."""
    for position, data in writes:
        end = min(position + len(data or b""), len(content))
        while position < end:
            stop = min(end, position - position % PAGE_BYTES + PAGE_BYTES)
            fate = rng.random()
            if fate < 0.15:
                content[position:stop] = bytes(stop - position)
            elif fate < 0.25:
                content[position:stop] = rng.randbytes(stop - position)
            position = stop


class Folder:
    """Names and what they stand for, as a program sees them and as a crash would leave them."""

    __slots__ = ("durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}

    def bytes_inside(self) -> int:
        return sum(
            node.bytes_inside() if isinstance(node, Folder) else len(node.current)
            for node in self.entries.values()
        )


Node: TypeAlias = Data | Folder
Slot: TypeAlias = tuple[Folder, str]


class UnsyncedChange(NamedTuple):
    """One atomic change of names: what each slot holds after it."""

    edits: Sequence[tuple[Folder, str, Node | None]]

    @property
    def slots(self) -> set[Slot]:
        return {(folder, name) for folder, name, _ in self.edits}


class Journal:
    """The changes of names that are not durable yet, in their order."""

    def __init__(self) -> None:
        self._changes: list[UnsyncedChange] = []

    def add(self, change: UnsyncedChange) -> None:
        for folder, name, node in change.edits:
            _set(folder.entries, name, node)
        self._changes.append(change)

    def commit(self, folder: Folder) -> None:
        """Make durable what touches the folder, and before it what that builds on."""
        needed: set[Slot] = set()
        due: list[UnsyncedChange] = []
        later: list[UnsyncedChange] = []
        for change in reversed(self._changes):
            slots = change.slots
            if slots & needed or any(touched is folder for touched, _ in slots):
                needed |= slots
                due.append(change)
            else:
                later.append(change)
        for change in reversed(due):
            for touched, name, node in change.edits:
                _set(touched.durable, name, node)
        self._changes = later[::-1]

    def survivors(self, rng: Random) -> dict[Node, dict[str, Node]]:
        """The names in those folders where, by chance, unsynced changes survive a crash.

        Each change lives or dies on its own, but none outlives one that it builds on.
        """
        names: dict[Node, dict[str, Node]] = {}
        lost: set[Slot] = set()
        for change in self._changes:
            if rng.random() < 0.5 or change.slots & lost:
                lost |= change.slots
                continue
            for folder, name, node in change.edits:
                _set(names.setdefault(folder, dict(folder.durable)), name, node)
        return names


def surviving_tree(
    root: Folder, journal: Journal, rng: Random | None, *, torn_pages: bool
) -> Folder:
    """A copy of the tree as a power cut at this moment leaves it."""
    names = {} if rng is None else journal.survivors(rng)
    files: dict[Data, Data] = {}

    def copy(folder: Folder) -> Folder:
        survivor = Folder()
        # In the order of names, so that a seed means the same disk every time.
        for name, node in sorted(names.get(folder, folder.durable).items()):
            if isinstance(node, Folder):
                survivor.entries[name] = copy(node)
                continue
            if node not in files:
                files[node] = node.survivor(rng, torn_pages)
            survivor.entries[name] = files[node]
        survivor.durable = dict(survivor.entries)
        return survivor

    return copy(root)


def _set(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node
