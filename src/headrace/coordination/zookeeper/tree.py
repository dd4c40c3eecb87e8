"""Our protocol of the tree on a ZooKeeper session: what is asked, what is asked again, what is not.

    A CALL MEETS                  A READ                        A WRITE
    no connection yet             waits for one, and raises Unreachable after a session's length
    a connection that breaks      is asked again                raises OutcomeUnknown
    the end of the session        raises SessionLost            raises SessionLost: it was not sent

Branches are read level by level: the nodes of a level are asked for by the hundreds, and those that
have children for their children. The nodes of a branch are not read at one instant; a change in
between is heard as an event.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kazoo import exceptions
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol import serialization

from headrace.coordination.tree import (
    ANY_VERSION,
    Callback,
    Cancel,
    Create,
    Delete,
    InvalidNode,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    Op,
    OutcomeUnknown,
    SessionEvent,
    SessionLost,
    Set,
    TreeError,
    Unreachable,
    check_path,
    parent_of,
)
from headrace.coordination.watches import Watches
from headrace.coordination.zookeeper.addresses import parse_connect
from headrace.coordination.zookeeper.requests import (
    AddWatch,
    MultiRead,
    Paths,
    check_op,
    error_for,
    exists,
    failed_at,
    get_children,
    get_data,
    node_from,
    request_for,
)
from headrace.coordination.zookeeper.session import Answer, Request, Session

MAX_REQUEST_BYTES: Final = 0xFFFFF
"""What a server takes by default (jute.maxbuffer); it hangs up on anything larger."""
_TOGETHER: Final = 250
"""How many nodes one request asks for: few enough that the longest paths fit into it."""
_AHEAD: Final = 4
"""How many such requests are in flight."""
_LOOK_AGAIN_S: Final = 1.0
_CHANGES: Final = {
    1: NodeChange.CREATED,
    2: NodeChange.DELETED,
    3: NodeChange.CHANGED,
    4: NodeChange.CHILDREN_CHANGED,
}
_GONE: Final = "the session has ended; open a new one"
_BROKEN: Final = (
    exceptions.ConnectionLoss,
    exceptions.OperationTimeoutError,
    exceptions.SessionMovedError,
)


def open_tree(hosts: str, *, session_timeout_ms: int, connection_timeout_ms: int) -> ZooKeeperTree:
    """Connect, and make the chroot if it is not there."""
    servers, chroot = parse_connect(hosts)
    tree = ZooKeeperTree(servers, chroot, session_timeout_ms=session_timeout_ms)
    try:
        tree.open(connection_timeout_ms)
    except BaseException:
        tree.close()
        raise
    return tree


class ZooKeeperTree:
    """One session on a ZooKeeper ensemble; see `Tree` for what the methods promise."""

    def __init__(self, servers: str, chroot: str, *, session_timeout_ms: int) -> None:
        self._servers = servers
        self._paths = Paths(chroot)
        self._bound_s = session_timeout_ms / 1000
        self._watches = Watches()
        self._closed = False
        self._session = Session(
            servers,
            timeout_ms=session_timeout_ms,
            watching=lambda: [self._add_watch(path) for path in self._watches.prefixes()],
            on_change=self._on_change,
            on_session=self._on_session,
        )

    def open(self, timeout_ms: int) -> None:
        self._session.start_async()
        if not self._session.await_connected(timeout_ms / 1000):
            raise Unreachable(
                self._servers,
                f"no ZooKeeper answered within {timeout_ms} ms; start one with "
                "`headrace zookeeper`, or correct zookeeper.connect",
            )
        if self._paths.chroot:
            self._make_chroot()

    @property
    def session_id(self) -> int:
        return self._session.id

    # -- reading ----------------------------------------------------------------------------------

    def get(self, path: str) -> Node:
        check_path(path)
        return node_from(self._read(get_data(self._paths.outer(path)), path))

    def exists(self, path: str) -> bool:
        check_path(path)
        return self._read(exists(self._paths.outer(path)), path) is not None

    def children(self, path: str) -> list[str]:
        check_path(path)
        return sorted(self._read(get_children(self._paths.outer(path)), path))

    def subtree(self, path: str) -> dict[str, Node]:
        return self.subtrees([path])[0]

    def subtrees(self, paths: Sequence[str]) -> list[dict[str, Node]]:
        for path in paths:
            check_path(path)
        nodes: dict[str, Node] = {}
        names: dict[str, list[str]] = {}
        level = list(dict.fromkeys(paths))
        while level:
            parents = []
            for path, answer in self._read_all(serialization.GetData, level):
                nodes[path] = node_from(answer)
                if answer[1].numChildren:
                    parents.append(path)
            level = []
            for path, answer in self._read_all(serialization.GetChildren, parents):
                names[path] = sorted(answer)
                base = "/" if path == "/" else path + "/"
                level += [base + name for name in names[path] if base + name not in nodes]
        return [_branch(path, nodes, names) for path in paths]

    # -- writing ----------------------------------------------------------------------------------

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        return self._paths.inner(self._write(Create(path, data, ephemeral, sequential)))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        return int(self._write(Set(path, data, version)).version)

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        self._write(Delete(path, version))

    def multi(self, ops: Sequence[Op]) -> None:
        if not ops:
            self._check_open("/")
            return
        for index, op in enumerate(ops):
            try:
                check_op(op)
            except TreeError as error:
                raise error.at(index, len(ops)) from None
        parts = [request_for(op, self._paths.outer(op.path)) for op in ops]
        results = self._send(Request(serialization.Transaction(parts)), ops[0].path)
        index_of_failed = failed_at(results)
        if index_of_failed is not None:
            op = ops[index_of_failed]
            refusal = error_for(results[index_of_failed], op, op.path)
            raise refusal.at(index_of_failed, len(ops))

    # -- hearing ----------------------------------------------------------------------------------

    def watch(self, prefix: str, callback: Callback) -> Cancel:
        check_path(prefix)
        self._check_open(prefix)
        cancel = self._watches.add(prefix, callback)
        try:
            self._read(self._add_watch(prefix), prefix)
        except BaseException:
            cancel()
            raise
        return cancel

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._session.end()

    def _add_watch(self, prefix: str) -> Request:
        return Request(AddWatch(self._paths.outer(prefix)))

    def _on_change(self, kind: int, path: str) -> None:
        path = self._paths.inner(path)
        change = _CHANGES.get(kind)
        if change is None:
            return  # the end of a watch, which nobody asks for
        events = [NodeEvent(change, path)]
        if change in (NodeChange.CREATED, NodeChange.DELETED) and path != "/":
            # A recursive watch leaves out what follows from this.
            events.append(NodeEvent(NodeChange.CHILDREN_CHANGED, parent_of(path)))
        self._watches.enqueue(events)
        self._session.deliver_later(self._watches.deliver)

    def _on_session(self, event: SessionEvent) -> None:
        self._watches.enqueue([event])
        self._session.deliver_later(self._watches.deliver)

    # -- asking -----------------------------------------------------------------------------------

    def _read(self, request: Request, path: str) -> Any:
        """Ask until there is an answer or nobody to ask."""
        deadline = time.monotonic() + self._bound_s
        while True:
            self._await_connection(path, deadline)
            try:
                return self._ask(request, path, deadline)
            except _BROKEN:
                continue
            except KazooTimeoutError:
                raise Unreachable(path, self._silent()) from None
            except exceptions.KazooException as error:
                raise error_for(error, None, path) from None

    def _read_all(self, kind: Any, paths: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Ask for many nodes; those that are not there are left out."""
        outer = [self._paths.outer(path) for path in paths]
        ahead: deque[tuple[int, Request, Answer]] = deque()
        for begin in range(0, len(paths), _TOGETHER):
            request = Request(MultiRead(kind, outer[begin : begin + _TOGETHER]))
            ahead.append((begin, request, self._session.ask(request)))
            if len(ahead) == _AHEAD:
                yield from self._read_some(paths, *ahead.popleft())
        for asked in ahead:
            yield from self._read_some(paths, *asked)

    def _read_some(
        self, paths: Sequence[str], begin: int, request: Request, answer: Answer
    ) -> Iterator[tuple[str, Any]]:
        """The nodes of one request that is on its way; it is asked again if it got lost."""
        path = paths[begin]
        try:
            found = self._answer(answer, path, time.monotonic() + self._bound_s)
        except (*_BROKEN, KazooTimeoutError):
            found = self._read(request, path)
        for index, each in enumerate(found, begin):
            if isinstance(each, exceptions.NoNodeError):
                continue
            if isinstance(each, Exception):
                raise error_for(each, None, paths[index])
            yield paths[index], each

    def _write(self, op: Op) -> Any:
        check_op(op)
        try:
            return self._send(Request(request_for(op, self._paths.outer(op.path))), op.path)
        except exceptions.KazooException as error:
            raise error_for(error, op, op.path) from None

    def _send(self, request: Request, path: str) -> Any:
        """Ask once: whoever repeats a write does not know what the first one did."""
        if len(request.payload) + 8 > MAX_REQUEST_BYTES:
            raise InvalidNode(
                path,
                f"a request of {len(request.payload)} bytes; ZooKeeper takes {MAX_REQUEST_BYTES} "
                "at once: change less in one transaction",
            )
        deadline = time.monotonic() + self._bound_s
        self._await_connection(path, deadline)
        try:
            return self._ask(request, path, deadline)
        except (*_BROKEN, KazooTimeoutError):
            raise OutcomeUnknown(
                path, "the connection broke before the answer; read again to see if it happened"
            ) from None

    def _ask(self, request: Request, path: str, deadline: float) -> Any:
        return self._answer(self._session.ask(request), path, deadline)

    def _answer(self, answer: Answer, path: str, deadline: float) -> Any:
        while not answer.wait(min(_LOOK_AGAIN_S, max(0.0, deadline - time.monotonic()))):
            # The end of the session may overtake a request that was just being queued.
            self._check_open(path)
            if time.monotonic() >= deadline:
                raise KazooTimeoutError
        try:
            return answer.get()
        except (exceptions.SessionExpiredError, exceptions.AuthFailedError):
            raise SessionLost(path, _GONE) from None

    def _await_connection(self, path: str, deadline: float) -> None:
        if not self._session.await_connected(max(0.0, deadline - time.monotonic())):
            self._check_open(path)
            raise Unreachable(path, self._silent())

    def _check_open(self, path: str) -> None:
        if self._session.is_over:
            raise SessionLost(path, _GONE)

    def _silent(self) -> str:
        return (
            f"no ZooKeeper of {self._servers} has answered for {self._bound_s:g} s; "
            "is the ensemble up?"
        )

    def _make_chroot(self) -> None:
        names = self._paths.chroot[1:].split("/")
        chroot, self._paths = self._paths, Paths("")
        try:
            for depth in range(1, len(names) + 1):
                self._make_if_missing("/" + "/".join(names[:depth]))
        finally:
            self._paths = chroot

    def _make_if_missing(self, path: str) -> None:
        while not self.exists(path):
            try:
                self.create(path, b"")
            except (NodeExists, OutcomeUnknown):
                continue


def _branch(root: str, nodes: dict[str, Node], names: dict[str, list[str]]) -> dict[str, Node]:
    """The nodes at and below a path, parents first."""
    found: dict[str, Node] = {}
    waiting = [root]
    while waiting:
        path = waiting.pop()
        if path in nodes:
            found[path] = nodes[path]
            base = "/" if path == "/" else path + "/"
            waiting += [base + name for name in reversed(names.get(path, []))]
    return found
