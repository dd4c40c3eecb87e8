"""The tree in ZooKeeper: what several brokers share.

`tree` maps our protocol to ZooKeeper's requests, `session` is kazoo's client with the few things
that a broker needs otherwise, `server` runs real ZooKeeper servers for those who have none. Only
`connect` needs kazoo, and imports it when it is called: one broker never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.tree import ZooKeeperTree

__all__ = ["connect"]


def connect(
    hosts: str, *, session_timeout_ms: int = 18000, connection_timeout_ms: int = 18000
) -> ZooKeeperTree:
    """Open a session on "host:port,host:port/chroot"; the chroot is made if it is not there.

    Raises ConfigError if the text is wrong or kazoo is missing, Unreachable if no server answers.
    """
    try:
        from headrace.coordination.zookeeper.tree import open_tree
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("kazoo"):
            raise
        raise ConfigError(
            "zookeeper.connect needs the package kazoo: pip install headrace[cluster]"
        ) from None
    return open_tree(
        hosts,
        session_timeout_ms=session_timeout_ms,
        connection_timeout_ms=connection_timeout_ms,
    )
