"""Our operations as ZooKeeper's requests, and its refusals as our errors.

Pure functions: paths here already have the chroot in front of them, `Paths` puts it there. Two
requests that kazoo lacks are declared here, both of ZooKeeper 3.6: `AddWatch` and `MultiRead`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kazoo import exceptions
from kazoo.protocol import serialization
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from headrace.coordination.tree import (
    ANY_VERSION,
    MAX_DATA_BYTES,
    BadVersion,
    Check,
    Create,
    Delete,
    InvalidNode,
    NoChildrenForEphemerals,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    Set,
    TreeError,
    check_path,
    parent_of,
)
from headrace.coordination.zookeeper.session import Request

_PERSISTENT_RECURSIVE: Final = 1
_INT: Final = serialization.int_struct
_STAT: Final = serialization.stat_struct
_MULTI_HEADER: Final = serialization.multiheader_struct
_EPHEMERAL: Final = 1
_SEQUENTIAL: Final = 2


class Paths:
    """Paths as callers see them and as the server sees them."""

    def __init__(self, chroot: str) -> None:
        self.chroot = chroot

    def outer(self, path: str) -> str:
        if path == "/":
            return self.chroot or "/"
        return self.chroot + path

    def inner(self, path: str) -> str:
        return path[len(self.chroot) :] or "/"


def check_op(op: Op) -> None:
    """Refuse what the server would refuse less clearly, or by closing the connection."""
    check_path(op.path)
    if isinstance(op, Create | Set) and len(op.data) > MAX_DATA_BYTES:
        raise InvalidNode(op.path, f"{len(op.data)} bytes of data; a node holds {MAX_DATA_BYTES}")
    if op.path == "/":
        if isinstance(op, Create):
            raise NodeExists("/", "the root always exists")
        if isinstance(op, Delete):
            raise InvalidNode("/", "the root cannot be deleted")


def request_for(op: Op, path: str) -> Any:
    """kazoo's request for one operation."""
    match op:
        case Create(data=data, ephemeral=ephemeral, sequential=sequential):
            flags = _EPHEMERAL * ephemeral + _SEQUENTIAL * sequential
            return serialization.Create(path, data, OPEN_ACL_UNSAFE, flags)
        case Set(data=data, version=version):
            return serialization.SetData(path, data, version)
        case Delete(version=version):
            return serialization.Delete(path, version)
        case Check(version=version):
            return serialization.CheckVersion(path, version)


class AddWatch:
    """Hear of everything at and below a path, for as long as the connection lasts."""

    type = 106

    def __init__(self, path: str) -> None:
        self.path = path

    def serialize(self) -> bytes:
        mode: bytes = _INT.pack(_PERSISTENT_RECURSIVE)
        path: bytes = serialization.write_string(self.path)
        return path + mode

    @staticmethod
    def deserialize(_data: bytes, _offset: int) -> bool:
        return True


class MultiRead:
    """Ask for many nodes in one request; each has an answer of its own.

    A server spends less on one request for five hundred nodes than on fifty for one.
    """

    type = 22

    def __init__(self, kind: Any, paths: Sequence[str]) -> None:
        """`kind` is kazoo's GetData or GetChildren."""
        self.kind = kind
        self.paths = paths

    def serialize(self) -> bytes:
        header = _MULTI_HEADER.pack(self.kind.type, False, -1)
        parts: list[bytes] = []
        for path in self.paths:
            parts += (header, serialization.write_string(path), b"\0")
        return b"".join([*parts, _MULTI_HEADER.pack(-1, True, -1)])

    def deserialize(self, data: bytes, offset: int) -> list[Any]:
        """For each path the answer, or the error as kazoo names it."""
        answers: list[Any] = []
        while True:
            kind, done, _ = _MULTI_HEADER.unpack_from(data, offset)
            offset += _MULTI_HEADER.size
            if done:
                return answers
            if kind == serialization.GetData.type:
                content, offset = serialization.read_buffer(data, offset)
                stat = ZnodeStat._make(_STAT.unpack_from(data, offset))
                offset += _STAT.size
                answers.append((content, stat))
            elif kind == serialization.GetChildren.type:
                names, offset = _read_names(data, offset)
                answers.append(names)
            else:
                (code,) = _INT.unpack_from(data, offset)
                offset += _INT.size
                answers.append(exceptions.EXCEPTIONS[code]())


def _read_names(data: bytes, offset: int) -> tuple[list[str], int]:
    (count,) = _INT.unpack_from(data, offset)
    offset += _INT.size
    names = []
    for _ in range(count):
        name, offset = serialization.read_string(data, offset)
        names.append(name)
    return names, offset


def get_data(path: str) -> Request:
    return Request(serialization.GetData(path, None))


def get_children(path: str) -> Request:
    return Request(serialization.GetChildren(path, None))


def exists(path: str) -> Request:
    return Request(serialization.Exists(path, None))


def node_from(answer: tuple[bytes | None, Any]) -> Node:
    data, stat = answer
    return Node(data or b"", stat.version, stat.ephemeralOwner != 0)


def failed_at(results: list[Any]) -> int | None:
    """Which operation of a transaction was refused; the others say only that it was."""
    for index, result in enumerate(results):
        if isinstance(result, Exception) and not isinstance(
            result, exceptions.RolledBackError | exceptions.RuntimeInconsistency
        ):
            return index
    return None


def error_for(error: Exception, op: Op | None, path: str) -> TreeError:
    """What a refusal of the server means for the caller."""
    match error:
        case exceptions.NoNodeError():
            if isinstance(op, Create):
                return NoNode(path, f"the parent {parent_of(path)} does not exist")
            return NoNode(path, "there is no such node")
        case exceptions.NodeExistsError():
            return NodeExists(path, "the node is already there")
        case exceptions.BadVersionError():
            expected = ANY_VERSION if op is None or isinstance(op, Create) else op.version
            return BadVersion(path, f"the version is not {expected}")
        case exceptions.NotEmptyError():
            return NotEmpty(path, "the node has children")
        case exceptions.NoChildrenForEphemeralsError():
            return NoChildrenForEphemerals(path, f"the parent {parent_of(path)} is ephemeral")
        case exceptions.BadArgumentsError():
            return InvalidNode(path, "the server refuses this path")
        case exceptions.UnimplementedError():
            return TreeError(path, "this ZooKeeper is too old; 3.6 has the watches that are needed")
        case exceptions.NoAuthError():
            return TreeError(path, "the server does not allow it: its access list names others")
        case _:
            return TreeError(path, f"the server refused with {type(error).__name__} {error}")
